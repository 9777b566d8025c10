"""Edits as data: an existing record and the caller's changes, merged into what shall be written."""

from collections.abc import Mapping
from typing import Any

from rearview_pipelines.errors import InvalidInput
from rearview_pipelines.memory import Draft, Memory
from rearview_pipelines.requests import parse
from rearview_pipelines.write.embed import draft_of


def merged(memory: Memory, changes: Mapping[str, Any]) -> Draft:
    """The record's draft with the changes in it; null takes a field back to its default.

    Raises InvalidInput for an unknown field, a wrong value, or nothing to change.
    """
    if not changes:
        raise InvalidInput.one("body", "changes nothing", "send at least one field to change")
    fields = {k: v for k, v in draft_of(memory).model_dump().items() if v is not None}
    for name, value in changes.items():
        if value is None and name in Draft.model_fields and name != "text":
            fields.pop(name, None)
        else:
            fields[name] = value
    return parse(Draft, fields)
