"""Text to index terms, by us, so that every server tokenises the same.

English words are folded and stemmed (Snowball). Chinese, Japanese and Korean runs become single
characters and bigrams (measured best on MemoryBank-zh: nDCG@10 .735, words by jieba .705). Signs
and emoji become terms only where they carry the meaning. Every term is one `\\w+` run, which is all
that a server's standard tokenizer has to find again.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

import Stemmer

from rearview_pipelines.text.language import is_cjk
from rearview_pipelines.text.stopwords import ENGLISH

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_MAX_TERM = 64
"""Characters; a longer run (a hash, base64) keeps its head, enough to find it by."""

MAX_TERMS_BYTES = 65_000
"""Bytes of terms that one row of the index takes."""

_stemmer = Stemmer.Stemmer("english")


def fold(text: str) -> str:
    """NFKC, case folded, typographic apostrophes straightened: full width equals half width."""
    return unicodedata.normalize("NFKC", text).replace("’", "'").casefold()


def terms_of(text: str) -> list[str]:
    """Index terms in reading order, repeats kept. Never empty for a text that is not blank."""
    folded = fold(text)
    terms = [term for run in _WORD.findall(folded) for term in _of_run(run)]
    symbols = [_sign(c) for c in folded if unicodedata.category(c) in ("So", "Sk", "Sc")]
    terms += symbols
    # Nothing but stop words or punctuation: keep what there is, so that it can be found as written.
    return terms or _WORD.findall(folded) or [_sign(c) for c in folded if not c.isspace()]


def joined(terms: Sequence[str], limit: int = MAX_TERMS_BYTES) -> str:
    """Terms as the index holds them: parted by spaces, as many as fit.

    A few scripts grow under NFKC to several times what was written; the rest is found by its vector.
    """
    text = " ".join(terms)
    if len(text.encode()) <= limit:
        return text
    return text.encode()[:limit].decode(errors="ignore").rpartition(" ")[0]


def _of_run(run: str) -> Iterator[str]:
    for is_han, piece in _split_scripts(run):
        if is_han:
            yield from piece
            yield from (piece[i : i + 2] for i in range(len(piece) - 1))
        elif piece not in ENGLISH:
            yield from _stem(piece.replace("'s", "").replace("'", ""))


def _stem(word: str) -> Iterator[str]:
    if word:
        yield _stemmer.stemWord(word[:_MAX_TERM])


def _split_scripts(run: str) -> Iterator[tuple[bool, str]]:
    start, current = 0, is_cjk(run[0])
    for i, char in enumerate(run):
        if is_cjk(char) != current:
            yield current, run[start:i]
            start, current = i, not current
    yield current, run[start:]


def _sign(char: str) -> str:
    return f"u{ord(char):x}"
