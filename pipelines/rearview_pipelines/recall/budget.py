"""Fit hits into a token budget: whole where it fits, else the part that matched, else not. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from rearview_pipelines.text.tokens import count_tokens


@dataclass(frozen=True)
class Fitted:
    """`index` of the hit; `text` to show; `cut`: only the matching part of it is shown."""

    index: int
    text: str
    cut: bool


def fit(texts: Sequence[tuple[str, str]], budget: int | None, overhead: Sequence[int] = ()) -> list[Fitted]:
    """Choose from (whole text, best part), best first; a hit too long does not stop shorter ones.

    `overhead`: tokens that showing each hit costs besides its text.
    """
    chosen: list[Fitted] = []
    left = budget
    for index, (whole, part) in enumerate(texts):
        extra = overhead[index] if overhead else 0
        for text in (whole, part) if part != whole else (whole,):
            cost = count_tokens(text) + extra
            if left is None or cost <= left:
                chosen.append(Fitted(index, text, text is not whole))
                left = None if left is None else left - cost
                break
    return chosen
