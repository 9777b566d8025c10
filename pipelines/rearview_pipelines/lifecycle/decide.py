"""What becomes of one memory: it stays, goes cold, or its time is over. Pure."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from rearview_pipelines.lifecycle.policy import TAG, Lifecycle
from rearview_pipelines.memory import Layer, Memory, State, Tier
from rearview_pipelines.reflect.lessons import is_lesson
from rearview_pipelines.write.usage import Use

DAY = timedelta(days=1)
NEVER = Use()


class Fate(StrEnum):
    KEEP = "keep"
    ARCHIVE = "archive"
    EXPIRE = "expire"


def last_used(memory: Memory, use: Use) -> datetime:
    """When it was last handed out, or written. A day that has not come yet (a clock that jumped) counts as none."""
    written = memory.updated_at if memory.tier is Tier.HOT else memory.created_at
    if not use.last:
        return written
    day = date.fromisoformat(use.last)
    return max(written, datetime(day.year, day.month, day.day, tzinfo=UTC))


def days_unused(memory: Memory, use: Use, now: datetime) -> float:
    return max(0.0, (now - last_used(memory, use)) / DAY)


def confidence(memory: Memory, use: Use, policy: Lifecycle, now: datetime) -> float:
    """Of a lesson it falls while it is not used (a helpful use has raised what is written); of the rest it stays."""
    if not is_lesson(memory):
        return memory.confidence
    return float(memory.confidence * 2 ** (-days_unused(memory, use, now) / policy.lesson_half_life))


def worth(memory: Memory, use: Use, policy: Lifecycle, now: datetime) -> float:
    """importance · confidence · 2^(−days since last use / half-life): 0 to 1; hits restore it."""
    fading = 2 ** (-days_unused(memory, use, now) / policy.half_life)
    return float(memory.importance * memory.confidence * fading)


def fate(memory: Memory, use: Use, policy: Lifecycle, now: datetime) -> Fate:
    """Pinned stays, whatever its age; but a time that its writer gave it (`expires_at`) is kept."""
    if memory.state is State.FORGOTTEN:
        return Fate.KEEP
    if is_over(memory, policy, now):
        return Fate.EXPIRE
    movable = memory.state in (State.ACTIVE, State.SUPERSEDED) and memory.tier is Tier.HOT and not memory.pinned
    return Fate.ARCHIVE if movable and _is_faded(memory, use, policy, now) else Fate.KEEP


def is_over(memory: Memory, policy: Lifecycle, now: datetime) -> bool:
    """Whether its time to live has passed: its own, or the shortest of its layer's and its tags'."""
    if memory.expires_at is not None and memory.expires_at <= now:
        return True
    if memory.pinned:
        return False
    names = (memory.layer.value, *(TAG + tag for tag in memory.tags))
    days = [policy.ttl[name] for name in names if name in policy.ttl]
    if memory.layer is Layer.WORKING:
        days.append(policy.idle / DAY)
    if memory.tier is Tier.COLD and policy.cold_days:
        days.append(policy.cold_days)
    return bool(days) and last_written(memory) + min(days) * DAY <= now


def last_written(memory: Memory) -> datetime:
    return memory.updated_at if memory.layer is Layer.WORKING else memory.created_at


def _is_faded(memory: Memory, use: Use, policy: Lifecycle, now: datetime) -> bool:
    if is_lesson(memory):
        return confidence(memory, use, policy, now) < policy.lesson_least
    if memory.layer is not Layer.EPISODIC:
        return False  # facts and ways of working stay
    idle = days_unused(memory, use, now)
    rarely = idle >= policy.unused and use.hits < policy.hits and worth(memory, use, policy, now) < policy.threshold
    old = policy.most_hot > 0 and (now - memory.created_at) / DAY >= policy.most_hot
    return rarely or old


def over_capacity(held: Sequence[tuple[Memory, Use]], policy: Lifecycle, now: datetime, most: int) -> list[str]:
    """Ids to move so that at most `most` stay hot, the least worth first: history before what holds, never pinned."""
    if most <= 0 or len(held) <= most:
        return []
    movable = [
        (memory.state is State.ACTIVE, worth(memory, use, policy, now), memory.id)
        for memory, use in held
        if memory.state in (State.ACTIVE, State.SUPERSEDED) and not memory.pinned
    ]
    return [id_ for _, _, id_ in sorted(movable)[: len(held) - most]]
