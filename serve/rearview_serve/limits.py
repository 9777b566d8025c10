"""Rate limits: a token bucket a principal for reads and one for writes, in this process.

Token bucket as in RFC 2697: it fills at `rate` a second up to `rate * BURST`; a request takes one token.
"""

import time
from collections import OrderedDict
from collections.abc import Callable

from rearview_pipelines.errors import RateLimited
from rearview_pipelines.principal import Principal

BURST = 2.0
MOST = 10_000
"""Principals remembered; whoever was not seen for longest starts again with a full bucket."""


class Limits:
    """`recall`, `write`: requests a second of one principal; 0 for no limit."""

    def __init__(self, recall: float, write: float, now: Callable[[], float] = time.monotonic) -> None:
        self._rates = {"recall": recall, "write": write}
        self._now = now
        self._buckets: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def take(self, principal: Principal, what: str) -> None:
        """Count a request. Raises RateLimited, saying when the next one may come."""
        rate = self._rates[what]
        if rate <= 0:
            return
        key = (principal.id or principal.tenant, what)
        now = self._now()
        tokens, at = self._buckets.pop(key, (rate * BURST, now))
        tokens = min(tokens + (now - at) * rate, rate * BURST)
        if tokens < 1:
            self._buckets[key] = (tokens, now)
            raise RateLimited(
                f"more than {rate:g} {what} requests a second; wait and send it again", seconds=(1 - tokens) / rate
            )
        self._buckets[key] = (tokens - 1, now)
        while len(self._buckets) > MOST:
            self._buckets.popitem(last=False)
