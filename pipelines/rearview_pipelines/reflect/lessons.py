"""Lessons as drafts: what was distilled, in the scope that it was distilled from. Pure."""

import hashlib
from dataclasses import dataclass
from typing import Any

from rearview_pipelines.memory import Draft, Kind, Layer, Memory, Source, SourceKind
from rearview_pipelines.reflect.distil import Lesson
from rearview_pipelines.reflect.episodes import Scope

IMPORTANCE = 0.6


@dataclass(frozen=True)
class Reinforcement:
    """What a lesson that was found again rests on now."""

    id: str
    sources: tuple[str, ...]
    confidence: float
    data: dict[str, Any]


def draft_of(lesson: Lesson, scope: Scope, mode: str) -> Draft:
    """Found again in other words, a lesson replaces itself: its key names what it is about."""
    return Draft(
        text=lesson.text,
        layer=Layer.SEMANTIC,
        kind=Kind.RULE,
        key=_key(lesson, scope),
        tags=lesson.tags,
        data=told(lesson, mode),
        namespace=scope.namespace,
        task_type=scope.task_type,
        importance=IMPORTANCE,
        confidence=lesson.confidence,
        visibility=scope.visibility,
        agent=scope.agent or None,
        user=scope.user or None,
        source=Source(kind=SourceKind.REFLECTION, derived_from=lesson.sources),
    )


def told(lesson: Lesson, mode: str) -> dict[str, Any]:
    return {
        "advice": lesson.advice,
        "reasoning": lesson.reasoning,
        "bears_out": lesson.right,
        "looked_at": lesson.seen,
        "mode": mode,
    }


def reinforcement(lesson: Lesson, id_: str, mode: str) -> Reinforcement:
    return Reinforcement(id_, lesson.sources, lesson.confidence, told(lesson, mode))


def _key(lesson: Lesson, scope: Scope) -> str | None:
    if not lesson.name:
        return None
    named = hashlib.sha256(f"{scope.task_type or ''}\x00{lesson.name}".encode()).hexdigest()[:16]
    return f"lesson.{named}"


def is_lesson(memory: Memory) -> bool:
    return memory.source.kind is SourceKind.REFLECTION and memory.kind is Kind.RULE
