"""Secrets and personal data: refused, or taken out, before anything else sees the words."""

import asyncio
import re
from collections import Counter

from rearview_pipelines.errors import PatternTooSlow
from rearview_pipelines.privacy.scrub import Found, Scrubber
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
    refused = refusals(found, item.draft.text, tools.scrubber)
    if refused:
        item.reject(*refused)
    else:
        item.reasons += secret_codes(found)


def refusals(found: Found, text: str, scrubber: Scrubber) -> tuple[str, ...]:
    """Why nothing may be kept of what scrubbing left of a text; empty if it may. Of memories and turns alike."""
    secrets = secret_codes(found) if scrubber.refuses(found) else ()
    codes = (*secrets, *(f"pii:{entity}" for entity in sorted(found.rejected)))
    if not codes and (found.redactions or found.secrets) and not _says_anything(text):
        codes = ("pii:nothing_left", *secret_codes(found))
    return codes


def secret_codes(found: Found) -> tuple[str, ...]:
    return tuple(f"secret:{kind}" for kind in sorted(found.secrets))


def _says_anything(text: str) -> bool:
    """Whether a scrubbed text still has words of its own."""
    return any(c.isalnum() for c in _STAND_IN.sub("", text))
