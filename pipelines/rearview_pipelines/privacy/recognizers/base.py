"""The common form: patterns, and a check of what they found."""

import re
from collections.abc import Callable, Sequence

from rearview_pipelines.privacy.presidio import Pattern, PatternRecognizer

ANY_LANGUAGE = "xx"
"""Presidio asks for a language; ours read every one."""
START = r"(?<![0-9A-Za-z.])(?<![0-9A-Za-z][-_#])(?<![A-Za-z]/)"
"""Not inside a longer number, word or reference."""
END = r"(?![0-9A-Za-z])(?![-.][0-9])"

Check = Callable[[str], bool]


class Recognizer(PatternRecognizer):
    """Patterns of one entity. `check` has the last word on what they found; None: they suffice."""

    def __init__(self, entity: str, patterns: Sequence[str], check: Check | None = None, score: float = 0.85) -> None:
        super().__init__(
            supported_entity=entity,
            name=f"rearview_{entity.lower()}",
            patterns=[Pattern(f"{entity.lower()}_{i}", p, score) for i, p in enumerate(patterns)],
            supported_language=ANY_LANGUAGE,
            global_regex_flags=re.IGNORECASE | re.MULTILINE,
        )
        self._check = check

    def validate_result(self, pattern_text: str) -> bool | None:
        """True keeps the find, False drops it, None leaves the pattern's own score."""
        return None if self._check is None else self._check(pattern_text)


def digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit())
