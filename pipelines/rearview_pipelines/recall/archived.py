"""What the cold tier has to say to a question: found by its words, put among the hot hits by its evidence."""

import math
from collections.abc import Sequence

from rearview_pipelines.ports import Vector
from rearview_pipelines.recall.present import Seen
from rearview_pipelines.recall.question import Question
from rearview_pipelines.recall.ranking import Candidate
from rearview_pipelines.stores.cold import ColdStore
from rearview_pipelines.text.analyse import fold

LEAST_SHARE = 0.4
"""Of the rarity of a query's words, that a cold memory has to hold: reading one takes a while."""
MODES = frozenset({"hybrid", "keyword", "exact"})


async def archived(question: Question, cold: ColdStore, vector: Vector | None, model: str, most: int) -> list[Seen]:
    """Cold memories that answer, best first. `model`: that made the vector; what another made is not compared with it.

    Raises Unavailable.
    """
    request, terms = question.request, question.asked.terms
    if request.mode not in MODES:
        return []
    found = await cold.search(question.tenant, question.where, terms, most)
    shares = {id_: share for id_, share in found if share >= LEAST_SHARE or request.mode == "exact"}
    rows = await cold.get(question.tenant, list(shares)) if shares else {}
    seen = []
    for rank, (id_, (memory, parts)) in enumerate(rows.items(), 1):
        if request.mode == "exact" and fold(request.query) not in fold(memory.text):
            continue
        comparable = vector is not None and memory.embedding_model == model
        cosines = [float(part.vector @ vector) for part in parts] if comparable and vector is not None else []
        score = 1.0 if request.mode == "exact" else min(1.0, max([math.sqrt(shares[id_]), *cosines]))
        part = cosines.index(max(cosines)) if cosines else 0
        candidate = Candidate(id_, score, score, {"cold": (rank, shares[id_])})
        seen.append(Seen(candidate, memory, score, score, part))
    return sorted(seen, key=lambda s: -s.score)


def merged(hits: Sequence[Seen], cold: Sequence[Seen], most: int) -> list[Seen]:
    """Hot hits in their order, each cold one before the first that has less evidence."""
    out = list(hits)
    for seen in cold:
        place = next((at for at, hit in enumerate(out) if hit.score < seen.score), len(out))
        out.insert(place, seen)
    return out[:most]
