"""Which language a text is in, as far as its script tells, and the characters that decide it."""

from collections import Counter

# Han with its extensions and compatibility forms, kana, hangul: written without spaces or cut by us.
_CJK_RANGES = (
    (0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF), (0x20000, 0x3FFFF),
)  # fmt: skip


def is_cjk(char: str) -> bool:
    code = ord(char)
    return code >= 0x3040 and any(low <= code <= high for low, high in _CJK_RANGES)


def language_of(text: str) -> str:
    """`zh`, `ja`, `ko`, `en` or `und` (BCP 47), by the script of most letters.

    A Han character says about as much as two Latin letters do, so it counts twice. Latin script
    answers `en`: without a model we do not tell the languages written in it apart.
    """
    counts: Counter[str] = Counter()
    for char in text:
        code = ord(char)
        if code < 0x250:
            if char.isalpha():
                counts["en"] += 1
        elif 0x3040 <= code <= 0x30FF:
            counts["ja"] += 4  # a few kana settle that the Han beside them is Japanese
        elif 0xAC00 <= code <= 0xD7AF:
            counts["ko"] += 2
        elif is_cjk(char):
            counts["zh"] += 2
        elif char.isalpha():
            counts["und"] += 1
    return counts.most_common(1)[0][0] if counts else "und"
