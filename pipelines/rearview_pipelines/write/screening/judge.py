"""From signs and the classifier to a verdict: how likely a text is an attack on the memory. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from rearview_pipelines.write.screening.classifier import probability
from rearview_pipelines.write.screening.decode import readings
from rearview_pipelines.write.screening.signals import QUOTED, SIGNALS

THRESHOLD = 0.7
"""From this score on a memory is quarantined: one strong sign, two of middle weight, or a sure classifier."""
SURE = 0.8
"""The classifier's probability that counts as THRESHOLD; cross-validated: one harmless text in a hundred has it."""
DOUBTED = 0.25
"""Below this probability the classifier holds a text for harmless; then one sign alone is not enough."""
DOUBTED_WEIGHT = 0.75
HARMLESS = 0.25
"""Below this probability the signs are not looked for: one alone would not be enough, and they take a millisecond."""
MAX_CHARACTERS = 20_000
WINDOW, STEP = 1200, 900
"""Characters that the signs are looked for in at a time, and from one such stretch to the next."""


@dataclass(frozen=True)
class Verdict:
    """`score` from 0 to 1; `kinds` of signs found, the weightiest first."""

    score: float
    kinds: tuple[str, ...] = ()


def judge(text: str) -> Verdict:
    """The worst of a text's readings. Signs add up as independent witnesses: 1 - Π(1 - weight)."""
    windows = (window for reading in readings(text[:MAX_CHARACTERS]) for window in _windows(reading[:MAX_CHARACTERS]))
    return max((_judge(window) for window in windows), key=lambda v: v.score)


def _windows(text: str) -> Iterator[str]:
    for start in range(0, max(len(text) - (WINDOW - STEP), 1), STEP):
        yield text[start : start + WINDOW]


def _judge(text: str) -> Verdict:
    sure = probability(text)
    if sure is not None and sure < HARMLESS:
        return Verdict(0.0)
    found: dict[str, float] = {}
    only_quoted = True
    for signal in SIGNALS:
        weight = signal.found(text)
        if weight:
            found[signal.kind] = max(found.get(signal.kind, 0.0), weight)
            only_quoted = only_quoted and weight < signal.weight
    sure = sure or 0.0
    doubt = 1 - THRESHOLD * min(sure / SURE, 1.0) ** 2 if found or sure >= SURE else 1.0
    if found and only_quoted:  # its words are those of an attack, because it reports on one
        doubt = max(doubt, 1 - QUOTED * THRESHOLD)
    for weight in found.values():
        doubt *= 1 - weight * (DOUBTED_WEIGHT if sure < DOUBTED else 1.0)
    kinds = sorted(found, key=lambda k: (-found[k], k)) or (["classifier"] if sure >= SURE else [])
    return Verdict(round(1 - doubt, 3), tuple(kinds))
