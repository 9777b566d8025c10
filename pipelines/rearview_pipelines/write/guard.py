"""Secrets and personal data: refused, or taken out, before anything else sees the words."""

import asyncio
import re
from collections import Counter

from rearview_pipelines.errors import PatternTooSlow
from rearview_pipelines.write.item import Item, Tools, Work

_STAND_IN = re.compile(r"<[A-Z][A-Z0-9_]{1,39}>")
_AT_A_TIME = 8
"""Items scrubbed before other requests get their turn: about ten milliseconds."""


async def guard(work: Work, tools: Tools) -> None:
    """Scrub every field; reject what holds a secret, what the policy rejects, and what is nothing else."""
    if tools.scrubber is None:
        return
    for number, item in enumerate(work.open):
        _guard(item, tools)
        if number % _AT_A_TIME == _AT_A_TIME - 1:
            await asyncio.sleep(0)


def _guard(item: Item, tools: Tools) -> None:
    assert tools.scrubber is not None
    try:
        item.draft, found = tools.scrubber.draft(item.draft, item.tenant)
    except PatternTooSlow:
        item.reject("pii:unchecked")
        return
    for value in (item.draft.session, item.agent, item.user):  # names are kept as they are given
        found.secrets += Counter(tools.scrubber.secrets(value))
    item.redactions = dict(Counter(item.redactions) + found.redactions)
    secrets = tuple(f"secret:{kind}" for kind in sorted(found.secrets))
    if tools.scrubber.refuses(found):
        item.reject(*secrets)
    elif found.rejected:
        item.reject(*(f"pii:{entity}" for entity in sorted(found.rejected)))
    elif (found.redactions or found.secrets) and not says_anything(item.draft.text):
        item.reject("pii:nothing_left", *secrets)
    else:
        item.reasons += secrets


def says_anything(text: str) -> bool:
    """Whether a scrubbed text still has words of its own."""
    return any(c.isalnum() for c in _STAND_IN.sub("", text))
