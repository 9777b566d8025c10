"""Which language model, and within what bounds; apart from the client, so that settings are read without it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ChatOptions:
    """url: ends in /v1; model: its name there; key: empty for none.

    seconds       of one answer
    retries       after a timeout, a 429 or a 5xx
    concurrency   answers waited for at once
    tokens_a_day  in and out, after which nothing is asked until the day is over; 0: no limit
    output        tokens of one answer at most
    """

    url: str
    model: str
    key: str = ""
    seconds: float = 60.0
    retries: int = 2
    concurrency: int = 2
    tokens_a_day: int = 0
    output: int = 1500

    def __repr__(self) -> str:
        return f"ChatOptions(url={self.url!r}, model={self.model!r})"
