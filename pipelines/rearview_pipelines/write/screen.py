"""Screening: what looks like an attack on the memory is quarantined, whoever wrote it."""

from collections.abc import Iterator
from typing import Any

from rearview_pipelines.memory import Draft, SourceKind
from rearview_pipelines.write.embed import draft_of
from rearview_pipelines.write.item import Item, Tools, Work
from rearview_pipelines.write.scopes import scope_of_item
from rearview_pipelines.write.screening.judge import Verdict, judge

MAX_REASONS = 3
_SHORTEST = 12
"""Characters from which a string beside the text can hold an order."""
LOW_TRUST = frozenset({SourceKind.TOOL, SourceKind.DOCUMENT, SourceKind.IMPORT})
OUTLIER_DISCOUNT = 0.75
"""From a source nobody answers for, and far from everything known, less suspicion suffices."""


async def screen(work: Work, tools: Tools) -> None:
    """Judge the words of each item; `suspected` says why one is to be quarantined."""
    for item in work.open:
        # What stood in the record that an edit changes in place was judged, or released by an admin.
        in_place = item.previous if item.edits and not item.supersedes else None
        known = frozenset(_all(draft_of(in_place))) if in_place is not None else frozenset()
        verdict = max(
            (judge(text) for text in _strings(item.draft, known)), key=lambda v: v.score, default=Verdict(0.0)
        )
        threshold = tools.poison_threshold
        if item.draft.source.kind in LOW_TRUST:
            threshold *= OUTLIER_DISCOUNT if await _is_outlier(item, tools) else 1.0
        if verdict.score >= threshold:
            item.suspected = _codes(verdict)


def _codes(verdict: Verdict) -> tuple[str, ...]:
    return tuple(f"poison:{kind}" for kind in verdict.kinds[:MAX_REASONS])


def _strings(draft: Draft, known: frozenset[str]) -> Iterator[str]:
    """The text, and what else is given back to an agent and is long enough to say something; nothing `known`."""
    text, *rest = _all(draft)
    if text not in known:
        yield text
    beside = [
        piece for piece in dict.fromkeys(rest) if len(piece) >= _SHORTEST and piece != text and piece not in known
    ]
    if beside:
        yield "\n".join(beside)


def _all(draft: Draft) -> Iterator[str]:
    yield draft.text
    names = (draft.key, draft.namespace, draft.task, draft.task_type, draft.ref, draft.session, draft.user)
    source = (draft.source.speaker, draft.source.tool)
    yield from (text for text in (*draft.tags, *names, *source) if text)
    yield from _walk(draft.metadata)
    yield from _walk(draft.data)


def _walk(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _walk(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item)


async def _is_outlier(item: Item, tools: Tools) -> bool:
    """Far from everything that its scope holds: a scope of some size, and nothing in it that is near."""
    if not item.parts:
        return False
    mine = scope_of_item(item)
    nearest = await tools.index.dense(item.tenant, mine, item.parts[0].vector, OUTLIER_SAMPLE)
    return len(nearest) == OUTLIER_SAMPLE and nearest[0].score < OUTLIER_COSINE


OUTLIER_SAMPLE = 20
OUTLIER_COSINE = 0.15
"""Cosine below which a text has nothing to do with another (MiniLM; unrelated sentences are near 0)."""
