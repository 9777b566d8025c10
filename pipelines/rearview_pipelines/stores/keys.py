"""What a key of an object store may be: the same for a folder and a bucket."""

import re

_SEGMENT = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


def checked(key: str) -> str:
    """The key, if it is a path of plain segments. Raises ValueError: keys are ours, a caller's words are never one."""
    if not all(_SEGMENT.fullmatch(segment) for segment in key.split("/")):
        raise ValueError(f"not a key: {key!r}")
    return key
