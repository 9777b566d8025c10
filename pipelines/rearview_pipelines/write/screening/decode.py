"""Other readings of a text: hidden signs made visible, encodings undone. Pure.

An order in base64 is an order. Only what decodes to plain words is kept, so a checksum adds nothing.
"""

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Callable, Iterator

from rearview_pipelines.privacy.actions import STAND_INS
from rearview_pipelines.privacy.normalise import normalised

MAX_READINGS = 12
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){10,}|(?:[0-9a-fA-F]{2} ){9,}[0-9a-fA-F]{2}")
_BINARY = re.compile(r"(?:[01]{8} ?){4,}")
_ASCII85 = re.compile(r"<~([!-u\s]{15,})~>")
_ESCAPED = re.compile(
    r"(?:\\u[0-9a-fA-F]{4}){4,}|(?:\\x[0-9a-fA-F]{2}){6,}|(?:%[0-9a-fA-F]{2}){6,}|(?:&#x?[0-9a-fA-F]{2,6};){4,}"
)
_MORSE = re.compile(r"(?:[.-]{1,6} ){6,}[./ -]*[.-]+")
_SPELLED = re.compile(r"(?:\b\w[ .\-_*|]){6,}\w\b")
_LETTERS = dict(
    zip(
        ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..".split(),
        "abcdefghijklmnopqrstuvwxyz",
        strict=True,
    )
)
_LOOKALIKES = str.maketrans("аеорсухіѕјԁһӏԛԝАВЕКМНОРСТХЅІЈ", "aeopcyxisjdhlqwABEKMHOPCTXSIJ")
_LEET = str.maketrans("013457@$", "oieastas")
_COMMON = frozenset(
    "the and all you your ignore previous instructions rules send user system prompt to of is this that with for not from me now must".split()
)


def readings(text: str) -> list[str]:
    """The text itself, normalised, then whatever else it may be read as."""
    text = STAND_INS.sub(lambda match: match[0].partition(":")[0] + ">", text)  # a cipher says nothing
    plain = unicodedata.normalize("NFKC", normalised(text).text).translate(_LOOKALIKES)
    found = [plain]
    for decode in (_base64, _hex, _binary, _ascii85, _escaped, _morse, _spelled, _rotated, _reversed, _leet):
        for reading in decode(plain):
            if len(found) < MAX_READINGS and reading not in found:
                found.append(reading)
    return found


def _words(raw: bytes) -> Iterator[str]:
    """Bytes that are text: printable, with a space or Han characters in it."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return
    readable = text.isprintable() or all(c.isprintable() or c in "\n\r\t" for c in text)
    if readable and len(text) >= 6 and (" " in text or any("\u4e00" <= c <= "\u9fff" for c in text)):
        yield text


def _tried(pattern: re.Pattern[str], decode: Callable[[str], bytes], text: str) -> Iterator[str]:
    for match in pattern.finditer(text):
        try:
            raw = decode(match[match.lastindex or 0])
        except (binascii.Error, ValueError):
            continue
        yield from _words(raw)


def _base64(text: str) -> Iterator[str]:
    def decode(run: str) -> bytes:
        bare = run.rstrip("=").replace("-", "+").replace("_", "/")
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)

    return _tried(_BASE64, decode, text)


def _hex(text: str) -> Iterator[str]:
    return _tried(_HEX, lambda run: bytes.fromhex(run.replace(" ", "")), text)


def _binary(text: str) -> Iterator[str]:
    def decode(run: str) -> bytes:
        bits = run.replace(" ", "")
        return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8))

    return _tried(_BINARY, decode, text)


def _ascii85(text: str) -> Iterator[str]:
    return _tried(_ASCII85, lambda run: base64.a85decode(run.strip()), text)


def _escaped(text: str) -> Iterator[str]:
    def one(match: re.Match[str]) -> str:
        digits = re.findall(r"(?:\\u|\\x|%|&#x?)([0-9a-fA-F]+)", match[0])
        base = 10 if match[0].startswith("&#") and not match[0].startswith("&#x") else 16
        points = [int(d, base) for d in digits]
        return "".join(chr(p) for p in points if p < 0x110000)

    undone = _ESCAPED.sub(one, text)
    if undone != text:
        yield undone


def _morse(text: str) -> Iterator[str]:
    for match in _MORSE.finditer(text):
        words = [
            "".join(_LETTERS.get(letter, "") for letter in word.split()) for word in re.split(r" / | {3,}", match[0])
        ]
        if len("".join(words)) >= 6:
            yield " ".join(words)


def _spelled(text: str) -> Iterator[str]:
    """`i.g.n.o.r.e` read as a word."""
    undone = _SPELLED.sub(lambda m: re.sub(r"[ .\-_*|]", "", m[0]), text)
    if undone != text:
        yield undone


def _rotated(text: str) -> Iterator[str]:
    turned = codecs.encode(text, "rot13")
    if _english(turned) > _english(text):
        yield turned


def _reversed(text: str) -> Iterator[str]:
    turned = text[::-1]
    if _english(turned) > _english(text):
        yield turned


def _leet(text: str) -> Iterator[str]:
    turned = text.translate(_LEET)
    if turned != text and _english(turned) > _english(text):
        yield turned


def _english(text: str) -> int:
    return sum(word in _COMMON for word in re.findall(r"[a-z]+", text.lower()))
