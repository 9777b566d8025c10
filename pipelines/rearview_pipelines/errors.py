"""Every error a caller can meet. Each says whether trying again helps.

RearviewError
├── InvalidInput      the request is malformed; names field and remedy
├── Unauthenticated   no credential, or one nobody issued
├── Forbidden         a valid credential that may not do this
├── NotFound          unknown, or not yours: the same answer
├── Conflict          the memory changed since the caller read it
├── TooLarge          the body is over the limit
├── RateLimited       too many requests in this second; Retry-After says when
├── BrokenLedger      the ledger is not what was written; needs a person
├── PatternTooSlow    a pattern of the privacy policy took too long for this text
├── SetupError        the installation cannot run as configured
└── Unavailable       a part is down or late; try again
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FieldError:
    """One thing wrong with a request: where, what, and what to do about it."""

    field: str
    message: str
    remedy: str


class RearviewError(Exception):
    """Base of our errors. `retryable`: the same request may succeed later."""

    retryable = False
    title = "Error"

    def __init__(self, detail: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)

    def __reduce__(self) -> tuple[type["RearviewError"], tuple[str, tuple[FieldError, ...]]]:
        # Errors cross process boundaries; the default would drop `errors`.
        return (type(self), (self.detail, self.errors))


class InvalidInput(RearviewError):
    """The request is malformed. Nothing was stored."""

    title = "Invalid request"

    @classmethod
    def one(cls, field: str, message: str, remedy: str) -> "InvalidInput":
        return cls(f"{field}: {message}", [FieldError(field, message, remedy)])


class Unauthenticated(RearviewError):
    title = "No valid credential"


class Forbidden(RearviewError):
    title = "Not allowed"


class NotFound(RearviewError):
    """Unknown, or another's: callers cannot tell which, so the text is fixed."""

    title = "Not found"

    def __init__(self, detail: str = "no such memory", errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail, errors)


class Conflict(RearviewError):
    title = "Version conflict"


class TooLarge(RearviewError):
    title = "Body too large"


class SetupError(RearviewError):
    """The installation cannot run as configured; the detail names the setting that changes it."""

    title = "Cannot start"


class BrokenLedger(RearviewError):
    """The ledger was changed or cut. Nothing is written until it is restored from a backup."""

    title = "The ledger does not hold"


class PatternTooSlow(RearviewError):
    """A privacy pattern of the user's own took too long for a text, which therefore cannot be vouched for."""

    title = "Privacy pattern too slow"


class RateLimited(RearviewError):
    """Too many requests of one principal. `seconds`: when the next one may come."""

    title = "Too many requests"
    retryable = True

    def __init__(self, detail: str, errors: Sequence[FieldError] = (), seconds: float = 1.0) -> None:
        super().__init__(detail, errors)
        self.seconds = seconds


class Unavailable(RearviewError):
    title = "Temporarily unavailable"
    retryable = True
