"""From ordered hits to what the caller sees: budget, then floor, then the fields of a hit. Pure.

The floor comes last, so that raising it drops hits and never makes room for others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rearview_pipelines.memory import Memory
from rearview_pipelines.ports import Part
from rearview_pipelines.recall.actionable import actionable
from rearview_pipelines.recall.answers import Excerpt, Hidden, Hit
from rearview_pipelines.recall.boosts import age_days
from rearview_pipelines.recall.budget import fit
from rearview_pipelines.recall.ranking import Candidate
from rearview_pipelines.requests import RecallRequest
from rearview_pipelines.text.tokens import count_tokens


@dataclass
class Seen:
    """A candidate with its record, its evidence (0 to 1), its place in the order, and the part that matched."""

    candidate: Candidate
    memory: Memory
    score: float
    order: float
    part: int = 0
    boosts: Mapping[str, float] = field(default_factory=dict)

    @property
    def when(self) -> datetime:
        return self.memory.occurred_at or self.memory.created_at

    @property
    def found_part(self) -> tuple[str, int]:
        return (self.memory.id, self.part)


def fits_whole(hits: Sequence[Seen], budget: int | None) -> bool:
    """Whether every text can be shown whole, so that no part's span is needed."""
    return budget is None or sum(count_tokens(s.memory.text) for s in hits) <= budget


def too_long(hits: Sequence[Seen], characters: int) -> list[tuple[str, int]]:
    return [s.found_part for s in hits if len(s.memory.text) > characters]


def part_text(seen: Seen, spans: Mapping[tuple[str, int], Part]) -> str:
    """The part that matched if its span is known, else the whole text."""
    part = spans.get(seen.found_part)
    return seen.memory.text[part.start : part.end] if part else seen.memory.text


def fitted(
    hits: Sequence[Seen],
    spans: Mapping[tuple[str, int], Part],
    request: RecallRequest,
    floor: float,
    now: datetime,
) -> tuple[tuple[Hit, ...], Hidden]:
    """The hits to show, best first, and how many the budget and the floor hide."""
    texts = [(seen.memory.text, part_text(seen, spans)) for seen in hits]
    chosen = fit(texts, request.token_budget)
    shown = [f for f in chosen if hits[f.index].score >= floor]
    memories = tuple(
        _hit(hits[f.index], f.text, spans.get(hits[f.index].found_part) if f.cut else None, request, now) for f in shown
    )
    return memories, Hidden(floor=len(chosen) - len(shown), budget=len(hits) - len(chosen))


def _hit(seen: Seen, text: str, cut: Part | None, request: RecallRequest, now: datetime) -> Hit:
    reasons = None
    if request.explain:
        routes = {
            name: {"rank": rank, "score": round(score, 4)} for name, (rank, score) in seen.candidate.routes.items()
        }
        reasons = {
            "routes": routes,
            "shares": {name: round(share, 4) for name, share in seen.candidate.shares.items()},
            "fused": round(seen.candidate.total, 4),
            "boosts": {name: round(boost, 4) for name, boost in seen.boosts.items()},
            "order": round(seen.order, 4),
            "part": seen.part,
            "beside": list(seen.candidate.near),
        }
    return Hit.model_construct(
        **(dict(seen.memory) | {"text": text}),
        score=round(seen.score, 4),
        actionable=actionable(seen.memory),
        age_days=round(age_days(seen.when, now), 2),
        excerpt=Excerpt(start=cut.start, end=cut.end, of=len(seen.memory.text)) if cut else None,
        explain=reasons,
    )
