"""Errors that nobody foresaw: the log gets types and places, no messages: a caller's words may be in them."""

import logging
import traceback


def log_surprise(log: logging.Logger, what: str, error: BaseException) -> None:
    """Log an unexpected error and what caused it, the outermost first."""
    lines: list[str] = []
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        lines.append(f"{type(at).__module__}.{type(at).__qualname__}")
        lines += [
            f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(at.__traceback__)
        ]
        at = at.__cause__ or at.__context__
    log.error("%s\n%s", what, "\n".join(lines))
