"""Domain errors to statuses: the one table."""

from rearview_pipelines import errors

STATUS: dict[type[errors.RearviewError], int] = {
    errors.InvalidInput: 422,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.TooLarge: 413,
    errors.RateLimited: 429,
    errors.SetupError: 500,
    errors.Unavailable: 503,
    errors.BrokenLedger: 503,
    errors.PatternTooSlow: 422,  # this text cannot be vouched for; another can
}
RETRY_AFTER_SECONDS = 1


def status_of(error: errors.RearviewError) -> int:
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
