"""Spans of a text that must not stay, and how overlapping ones become one. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """`text[start:end]` is of `kind`: an entity, or a kind of secret. `score`: how sure, 0 to 1."""

    start: int
    end: int
    kind: str
    score: float = 1.0


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """In order and apart: what overlaps becomes one span, named after its surest, then longest part."""
    out: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if not out or span.start >= out[-1].end:
            out.append(span)
            continue
        held = out[-1]
        best = max(held, span, key=lambda s: (s.score, s.end - s.start))
        out[-1] = Span(held.start, max(held.end, span.end), best.kind, best.score)
    return tuple(out)
