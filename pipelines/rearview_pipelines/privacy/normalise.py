"""Text as recognizers see it, and the way back: full width, odd spaces and invisible signs are no hiding place."""

import unicodedata
from dataclasses import dataclass

_DASHES = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d\u30fc")
_INVISIBLE = frozenset(
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufe0e\ufe0f\ufeff\u20e3"
)
"""Signs that show nothing of their own: joiners, direction marks, emoji selectors, the keycap."""


@dataclass(frozen=True)
class Normalised:
    """A text and where each of its characters came from (`origin[i]`: index in the source)."""

    text: str
    origin: tuple[int, ...]
    source: str

    def back(self, start: int, end: int) -> tuple[int, int]:
        """The span of the source that `text[start:end]` was made from, with the marks that hang on its end."""
        first, last = self.origin[start], self.origin[end - 1] + 1
        while last < len(self.source) and _hangs(self.source[last]):
            last += 1
        return first, last


def normalised(source: str) -> Normalised:
    """NFKC character by character, one kind of space and dash, invisible signs left out. Line breaks stay."""
    if source.isascii():
        return Normalised(source, tuple(range(len(source))), source)
    out: list[str] = []
    origin: list[int] = []
    for index, char in enumerate(source):
        piece = _plain(char)
        out.append(piece)
        origin += [index] * len(piece)
    return Normalised("".join(out), tuple(origin), source)


def _plain(char: str) -> str:
    if char.isascii():
        return char
    if char in _INVISIBLE:
        return ""
    if char in _DASHES:
        return "-"
    if unicodedata.category(char) == "Zs":
        return " "
    return unicodedata.normalize("NFKC", char)


def _hangs(char: str) -> bool:
    return char in _INVISIBLE or unicodedata.combining(char) != 0
