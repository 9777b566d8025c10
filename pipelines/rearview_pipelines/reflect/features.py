"""An episode as what may matter of it: words and pairs of words, as said or as denied, and where they stand. Pure."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rearview_pipelines.reflect.episodes import Episode, tells_result
from rearview_pipelines.text.analyse import terms_of
from rearview_pipelines.text.language import is_cjk

_CLAUSE = re.compile(
    r"[,;:!?\n，。；：！？、]+\s*|\.(?=\s|$)|\s+-+\s+"
    r"|\s+(?=(?:after|before|by|with|without|because|so|and|but|then|when|while|since|unless|until|using|although|though)\b)"
    r"|(?=(?:因为|所以|但是|然后|之后|之前|没有先|先|并且|而且|当))",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:without|did(?:n't| not)|was(?:n't| not)|were(?:n't| not)|ha[sd](?:n't| not)|forgot(?: to)?"
    r"|skipp(?:ed|ing)|omitted|never|no|not)\b"
    r"|没有|没|未|忘了|跳过|不",
    re.IGNORECASE,
)
_HYPHENED = re.compile(r"\b[A-Za-z]{2,}-[A-Za-z]{2,}\b")
DENIED = "¬"


@dataclass(frozen=True)
class Clause:
    """A piece of a text, its features, whether it tells the result, or stands where results are told: at the end."""

    text: str
    features: frozenset[str]
    is_result: bool
    is_last: bool = False


def clauses_of(episode: Episode) -> list[Clause]:
    """The pieces of what is told of an episode, in order."""
    found = []
    for text in (*episode.texts, *(turn.text for turn in episode.said)):
        pieces = [plain for piece in _CLAUSE.split(text) if (plain := (piece or "").strip(" ,.;:，。；：\"'()"))]
        for at, plain in enumerate(pieces):
            is_last = at == len(pieces) - 1 and len(pieces) > 1
            found.append(Clause(plain, features_of(plain), tells_result(plain), is_last))
    return found


def features_of(clause: str) -> frozenset[str]:
    """Terms and neighbouring pairs of them; behind a denial each is marked as denied."""
    found = _DENIES.search(clause)
    if found is None:
        return frozenset(_grams(clause))
    before, after = clause[: found.start()], clause[found.end() :]
    return frozenset((*_grams(before), *(DENIED + gram for gram in _grams(after))))


def _grams(text: str) -> list[str]:
    """A single Han character says too little; `warm-up` and `warmup` are one word."""
    terms = [term for term in terms_of(text) if not term.isdigit()]
    terms = [term for term in terms if len(term) > 1 or not is_cjk(term)]
    pairs = [f"{a} {b}" for a, b in pairwise(terms)]
    hyphened = [term for word in _HYPHENED.findall(text) for term in terms_of(word.replace("-", ""))]
    return [*terms, *pairs, *hyphened]


def table(episodes: Sequence[Episode], least: int) -> tuple[list[list[Clause]], dict[str, frozenset[int]]]:
    """(clauses of each episode, the episodes that have each feature); what fewer than `least` have is left out."""
    clauses = [clauses_of(episode) for episode in episodes]
    held: defaultdict[str, set[int]] = defaultdict(set)
    for at, of in enumerate(clauses):
        for clause in of:
            for feature in clause.features:
                held[feature].add(at)
    return clauses, {feature: frozenset(where) for feature, where in held.items() if len(where) >= least}
