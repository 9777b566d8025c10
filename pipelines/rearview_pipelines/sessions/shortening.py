"""Texts cut to a length, and into sentences, in English and Chinese. Pure."""

import re

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_SPACE = re.compile(r"\s+")
ELLIPSIS = "…"


def sentences(text: str) -> list[str]:
    return [piece.strip() for piece in _SENTENCE.split(text) if piece.strip()]


def shortened(text: str, most: int) -> str:
    """The text in at most so many characters: cut at a word where there is one, and marked."""
    plain = _SPACE.sub(" ", text).strip()
    if len(plain) <= most:
        return plain
    cut = plain[: most - 1]
    space = cut.rfind(" ")
    if space > most // 2:
        cut = cut[:space]
    return cut.rstrip(" ,;:，；：") + ELLIPSIS
