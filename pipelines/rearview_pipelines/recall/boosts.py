"""What a record adds to its place in the order, where the query or the caller asks for it. Pure.

All in standard deviations of the fused order. Nothing is added unasked: constant recency costs quality (measured).
"""

from dataclasses import dataclass
from datetime import datetime

from rearview_pipelines.fields import millis
from rearview_pipelines.memory import Memory
from rearview_pipelines.recall.understand import Understood
from rearview_pipelines.text.analyse import fold

RECENCY_HALF_LIFE_DAYS = 30.0


@dataclass(frozen=True)
class Boosts:
    """exact: every quoted phrase and identifier stands in the text. when: it happened in the time that the query
    names. recent: newest of all, where the query asks for what is recent. outcome, kind: what the query asks for.
    importance, confidence: from 0 to 1, off unless set. helpful: it was called helpful more often than not.
    popular: it is handed out often, where the query asks for what is. related: it stands beside, comes from, or
    replaced one of the best, where the query asks for what came before or after.
    """

    exact: float = 1.5
    when: float = 1.0
    recent: float = 0.5
    outcome: float = 0.5
    kind: float = 0.3
    importance: float = 0.0
    confidence: float = 0.0
    helpful: float = 0.3
    popular: float = 0.5
    related: float = 0.5


@dataclass(frozen=True)
class Standing:
    """How a memory was used. hits: recalls that handed it out. helpful: times it was called so, less times not."""

    hits: int = 0
    helpful: int = 0


def age_days(moment: datetime, now: datetime) -> float:
    """Days since `moment`; the future counts as now."""
    return max((now - moment).total_seconds() / 86_400, 0.0)


def recency(age: float) -> float:
    """2^(-age / half-life): 1 for now, ½ after 30 days."""
    return float(2 ** (-age / RECENCY_HALF_LIFE_DAYS))


def asks_more(asked: Understood, recency_weight: float) -> bool:
    """Whether a boost may lift what stands far down."""
    intents = asked.phrases or asked.span or asked.recent or asked.related or asked.popular
    return bool(intents or asked.outcome or asked.kinds or recency_weight)


def boosts_of(
    memory: Memory, asked: Understood, recency_weight: float, now: datetime, standing: Standing, weights: Boosts
) -> dict[str, float]:
    """What is added, by reason; only reasons that add anything."""
    found: dict[str, float] = {}
    when = memory.occurred_at or memory.created_at
    if asked.phrases:
        text = fold(memory.text)
        held = sum(phrase in text for phrase in asked.phrases) / len(asked.phrases)
        found["exact"] = weights.exact * held
    if asked.span and asked.span[0] <= millis(when) < asked.span[1]:
        found["when"] = weights.when
    if weight := max(recency_weight, weights.recent if asked.recent else 0.0):
        found["recent"] = weight * recency(age_days(when, now))
    if asked.outcome is not None and memory.outcome is asked.outcome:
        found["outcome"] = weights.outcome
    if memory.kind in asked.kinds:
        found["kind"] = weights.kind
    if weights.importance or weights.confidence:
        found["importance"] = weights.importance * memory.importance
        found["confidence"] = weights.confidence * memory.confidence
    if standing.helpful:
        found["helpful"] = weights.helpful * standing.helpful / (abs(standing.helpful) + 2)
    if asked.popular and standing.hits:
        found["popular"] = weights.popular * standing.hits / (standing.hits + 10)
    return {reason: added for reason, added in found.items() if added}
