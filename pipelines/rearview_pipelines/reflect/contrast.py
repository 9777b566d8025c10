"""What made the difference: a condition under which doing something went well and leaving it went badly. Pure.

For each pair of a condition and an action, the likelihood ratio G² of Dunning (1993) between the action and the
outcome, among the episodes that meet the condition: it grows with their number and falls with every exception.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rearview_pipelines.reflect.episodes import Episode
from rearview_pipelines.reflect.features import DENIED, Clause, features_of, table

MOST_GROUPS = 600
LEAST_RIGHT = 0.75
"""Share of the episodes under the condition that the rule has to be right about."""
MOST_RULES = 3
EVERYWHERE = "*"
UNCONDITIONED = 0.7
"""What a rule without a condition counts: what all that went well has in common is more often a result."""
AT_THE_END = 0.5
"""What is taken off a rule whose action is only ever told last, where results are."""
SURE = 6.63
"""G² that chance reaches once in a hundred (χ², one degree of freedom): asked for from the second rule on."""
FEW = 6
"""Episodes below which a single one on either side is enough."""


@dataclass(frozen=True)
class Contrast:
    """`with_`, `without`: episodes under the condition that did it and went well, and that did not and went badly.

    `against`: those that speak against it. `condition` of None: it holds for every episode of the kind.
    `avoid`: the action is one that went badly.
    """

    condition: str | None
    action: str
    with_: tuple[int, ...]
    without: tuple[int, ...]
    against: tuple[int, ...]
    strength: float
    avoid: bool = False

    @property
    def sources(self) -> tuple[int, ...]:
        return tuple(sorted((*self.with_, *self.without)))


@dataclass
class _Group:
    """Features that stand in the same episodes."""

    features: list[str]
    where: frozenset[int]


def contrasts(episodes: Sequence[Episode], task_type: str | None = None, most: int = MOST_RULES) -> list[Contrast]:
    """The best rules, strongest first; none that rests on what another already explains.

    What the kind of task is called is no condition: it holds for all of them.
    """
    known = [at for at, episode in enumerate(episodes) if episode.good is not None]
    good = frozenset(at for at in known if episodes[at].good)
    bad = frozenset(known) - good
    if not good or not bad:
        return []
    least = 1 if len(known) < FEW else 2
    clauses, held = table(episodes, least)
    held = {feature: where for feature, where in held.items() if feature not in features_of(task_type or "")}
    groups = _groups(held, frozenset(known), least)
    conditions = [*groups, _Group([EVERYWHERE], frozenset(known))]
    found = [contrast for group in groups for contrast in _of_action(group, conditions, good, bad, clauses)]
    found.sort(key=lambda c: (-c.strength, c.action, c.condition or ""))
    return _apart(found, most)


def _groups(held: Mapping[str, frozenset[int]], known: frozenset[int], least: int) -> list[_Group]:
    of: defaultdict[frozenset[int], list[str]] = defaultdict(list)
    for feature, where in held.items():
        inside = where & known
        if len(inside) >= least:
            of[inside].append(feature)
    groups = [_Group(sorted(features), where) for where, features in of.items()]
    groups.sort(key=lambda g: (-len(g.where), g.features))
    return groups[:MOST_GROUPS]


def _of_action(
    action: _Group,
    conditions: Sequence[_Group],
    good: frozenset[int],
    bad: frozenset[int],
    clauses: Sequence[Sequence[Clause]],
) -> list[Contrast]:
    avoid = len(action.where & bad) > len(action.where & good)
    doing = _doing(action, clauses)
    if doing is None:
        return []
    best: list[Contrast] = []
    for condition in conditions:
        if condition.where == action.where:
            continue
        did, left = condition.where & action.where, condition.where - action.where
        right_did, right_left = (did & bad, left & good) if avoid else (did & good, left & bad)
        if not right_did or not right_left:
            continue
        against = condition.where - right_did - right_left
        least = 1 if len(good) + len(bad) < FEW else 2
        if min(len(right_did), len(right_left)) < least:
            continue
        right = len(right_did) + len(right_left)
        if right / len(condition.where) < LEAST_RIGHT or right < 2:
            continue
        with_, without = (right_left, right_did) if avoid else (right_did, right_left)
        named = None if EVERYWHERE in condition.features else _named(condition)
        if named is None and EVERYWHERE not in condition.features:
            continue
        strength = _g2(len(did & good), len(did & bad), len(left & good), len(left & bad))
        best.append(
            Contrast(
                named,
                doing[0],
                tuple(sorted(with_)),
                tuple(sorted(without)),
                tuple(sorted(against)),
                strength * doing[1] * (0.9 if avoid else 1.0) * (UNCONDITIONED if named is None else 1.0),
                avoid,
            )
        )
    best.sort(key=lambda c: (-c.strength, len(c.against), c.condition or ""))
    return best[:1]


def _doing(group: _Group, clauses: Sequence[Sequence[Clause]]) -> tuple[str, float] | None:
    """(the group's features as one, how likely they say what was done).

    None if they say how it ended, or what was left. What always stands at the end is more likely a result.
    """
    plain = [f for f in group.features if not f.startswith(DENIED)]
    told = [f for f in plain if not _is_result(f, group.where, clauses)]
    if not told:
        return None
    last = [any(set(told) & c.features and c.is_last for c in clauses[at]) for at in group.where]
    return "|".join(told), 1 - AT_THE_END * sum(last) / len(last)


def _is_result(feature: str, where: frozenset[int], clauses: Sequence[Sequence[Clause]]) -> bool:
    """Whether a feature mostly stands where the result is told."""
    there = [clause.is_result for at in where for clause in clauses[at] if feature in clause.features]
    return sum(there) * 2 > len(there)


def _named(group: _Group) -> str | None:
    plain = [f for f in group.features if not f.startswith(DENIED)]
    return "|".join(plain) if plain else None


def _apart(found: Sequence[Contrast], most: int) -> list[Contrast]:
    chosen: list[Contrast] = []
    explained: set[int] = set()
    for contrast in found:
        new = set(contrast.sources) - explained
        if chosen and (len(new) * 2 < len(contrast.sources) or contrast.strength < max(SURE, chosen[0].strength / 2)):
            continue
        chosen.append(contrast)
        explained |= set(contrast.sources)
        if len(chosen) == most:
            break
    return chosen


def _g2(a: int, b: int, c: int, d: int) -> float:
    """2 Σ O ln(O / E) of a table of two by two."""
    observed = np.asarray([[a, b], [c, d]], float)
    total = observed.sum()
    expected = observed.sum(axis=1, keepdims=True) @ observed.sum(axis=0, keepdims=True) / total
    pairs = zip(observed.ravel(), expected.ravel(), strict=True)
    return float(2 * sum(o * math.log(o / e) for o, e in pairs if o > 0))
