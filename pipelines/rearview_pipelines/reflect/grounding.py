"""Is what was derived supported by its sources? Its content words, numbers and names have to stand there. Pure."""

import re
from collections.abc import Sequence

from rearview_pipelines.text.analyse import terms_of
from rearview_pipelines.text.language import is_cjk

LEAST = 0.6
"""Share of a lesson's content words that its sources hold. A paraphrase keeps that many; an invention does not."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w-]{2,}")
_FRAME = frozenset(
    "alway never should must ensur avoid befor after when if check verifi make sure use rather instead first step lead"
    " caus result fail failur success succeed improv task case often usual may might help need requir import".split()
)
"""Words that a rule is built with, whatever it is about."""


def is_grounded(text: str, sources: Sequence[str], least: float = LEAST) -> bool:
    held = {term for source in sources for term in terms_of(source)}
    words = {term for term in terms_of(text) if term not in _FRAME and not (len(term) == 1 and is_cjk(term))}
    if not words:
        return False
    if any(number not in " ".join(sources) for number in _NUMBER.findall(text)):
        return False
    folded = " ".join(sources).casefold()
    if any(name.casefold() not in folded for name in _NAME.findall(text)):
        return False
    return len(words & held) / len(words) >= least
