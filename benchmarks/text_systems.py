"""What the write path finds in a text, as callables for an evaluation script: module:callable."""

from functools import lru_cache

from rearview_pipelines.privacy.engine import Finder
from rearview_pipelines.privacy.policy import Policy
from rearview_pipelines.privacy.secrets.find import find_secrets
from rearview_pipelines.write.screening.judge import judge

Spans = list[tuple[int, int, str]]


@lru_cache(maxsize=2)
def _finder(preset: str) -> Finder:
    return Finder(Policy(preset=preset))  # type: ignore[arg-type]


def pii(text: str) -> Spans:
    """Personal data by form: the preset `patterns`."""
    return [(s.start, s.end, s.kind) for s in _finder("patterns").find(text)]


def pii_strict(text: str) -> Spans:
    """Names, places, addresses and birth dates too."""
    return [(s.start, s.end, s.kind) for s in _finder("strict").find(text)]


def secrets(text: str) -> Spans:
    return [(s.start, s.end, s.kind) for s in find_secrets(text)]


def poison(text: str) -> float:
    """Suspicion, 0 to 1; from .7 on a memory is quarantined."""
    return judge(text).score
