"""Rankings found before, for as long as nothing in the scope has changed. Verification is never remembered."""

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rearview_pipelines.memory import Memory
from rearview_pipelines.ports import Vector
from rearview_pipelines.recall.question import Question
from rearview_pipelines.recall.ranking import Candidate

MOST = 500
"""Rankings remembered; the one asked for longest ago goes first."""
_NOT_RANKED = {"explain", "deadline_ms", "after", "token_budget", "min_score", "reveal", "session"}
"""Fields of a request that change what is shown, not what is found."""


@dataclass(frozen=True)
class Ranking:
    """Candidates in the fused order, and what it takes to show them. `parts`: the one that matched, where known."""

    candidates: Sequence[Candidate]
    vector: Vector | None = None
    parts: Mapping[str, int] = field(default_factory=dict)
    records: dict[str, Memory] = field(default_factory=dict)
    notes: Mapping[str, object] = field(default_factory=dict)


class RankingCache:
    """`seconds` that a ranking is good for; 0: none is remembered. A version of None is never remembered."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._kept: OrderedDict[str, tuple[float, str, Ranking]] = OrderedDict()
        self._newest: dict[str, str] = {}
        """By tenant, the version of its scope that rankings are remembered of."""
        self.hits = 0

    @staticmethod
    def key(question: Question) -> str:
        """Whose eyes, which question; with the time that it names, which moves from day to day."""
        principal, request, asked = question.principal, question.request, question.asked
        asks = request.model_dump_json(exclude=_NOT_RANKED)
        eyes = (principal.tenant, principal.agent, principal.user, request.explain)
        return f"{eyes!r}|{asked.span!r}|{asks}"

    def knows(self, key: str) -> bool:
        """Whether there is a ranking to look at, fresh or not."""
        return key in self._kept

    def get(self, key: str, version: str | None) -> Ranking | None:
        kept = self._kept.get(key)
        if kept is None or version is None:
            return None
        until, at, ranking = kept
        if at != version or time.monotonic() > until:
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        self.hits += 1
        return ranking

    def put(self, tenant: str, key: str, version: str | None, ranking: Ranking) -> None:
        if version is None or self._seconds <= 0:
            return
        if (old := self._newest.get(tenant)) != version:  # nothing of an older state is held, forgotten or not
            self._kept = OrderedDict((k, kept) for k, kept in self._kept.items() if kept[1] != old)
            self._newest[tenant] = version
        self._kept[key] = (time.monotonic() + self._seconds, version, ranking)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)
