"""What signals count for, as the operator of a store has set it: by kind of memory, and by language of the query."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from rearview_pipelines.errors import SetupError
from rearview_pipelines.recall.boosts import Boosts
from rearview_pipelines.recall.fusion import DEFAULTS, Weights

LANGUAGES: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    # What knows Chinese is the second embedding model: MemoryBank-zh nDCG@10 .816 with .4, .806 with 1.
    language: {kind: {"dense_alone": 0.4} for kind in DEFAULTS}
    for language in ("zh", "ja", "ko")
}
"""By language of the query, what differs from `fusion.DEFAULTS`."""


@dataclass(frozen=True)
class Tuning:
    """`kinds`: weights by kind of row; `languages`: those of queries in a language that differs."""

    kinds: Mapping[str, Weights] = field(default_factory=lambda: DEFAULTS)
    languages: Mapping[str, Mapping[str, Weights]] = field(default_factory=dict)
    boosts: Boosts = field(default_factory=Boosts)

    def of(self, language: str) -> Mapping[str, Weights]:
        return self.languages.get(language, self.kinds)


def read_tuning(fusion: Mapping[str, Mapping[str, float]], boosts: Mapping[str, float]) -> Tuning:
    """From settings: {"turn": {"speaker": 0.5}, "zh.turn": {"near": 0.2}}. Raises SetupError, naming what is wrong."""
    kinds = {kind: _changed(kind, weights, fusion.get(kind, {})) for kind, weights in DEFAULTS.items()}
    named = {name.partition(".")[0] for name in fusion if "." in name} | set(LANGUAGES)
    languages = {
        language: {
            kind: _changed(
                f"{language}.{kind}",
                replace(weights, **LANGUAGES.get(language, {}).get(kind, {})),
                {**fusion.get(kind, {}), **fusion.get(f"{language}.{kind}", {})},
            )
            for kind, weights in DEFAULTS.items()
        }
        for language in named
    }
    known = {*DEFAULTS, *(f"{language}.{kind}" for language in named for kind in DEFAULTS)}
    if unknown := sorted(set(fusion) - known):
        raise SetupError(f"REARVIEW_FUSION: {unknown[0]} is no kind; name one of {', '.join(DEFAULTS)}, or zh.turn")
    return Tuning(kinds, languages, _boosts(boosts))


def _changed(name: str, weights: Weights, changes: Mapping[str, float]) -> Weights:
    _check("REARVIEW_FUSION", name, changes, [f.name for f in fields(Weights)])
    return replace(weights, **changes)


def _boosts(changes: Mapping[str, float]) -> Boosts:
    _check("REARVIEW_BOOSTS", "", changes, [f.name for f in fields(Boosts)])
    return Boosts(**changes)


def _check(setting: str, where: str, changes: Mapping[str, float], known: list[str]) -> None:
    for name in changes:
        if name not in known:
            raise SetupError(f"{setting}: {where} has no weight {name}; the weights are {', '.join(known)}")
