"""International bank account numbers: ISO 13616 form and check digits, by python-stdnum."""

from stdnum import iban

from rearview_pipelines.privacy.recognizers.base import Recognizer

PATTERNS = (r"(?<![0-9A-Za-z])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![0-9A-Za-z])",)


def _valid(text: str) -> bool:
    # The country's own check digits are not asked for: a mistyped account is personal all the same.
    return bool(iban.is_valid(text, check_country=False))


def recognizer() -> Recognizer:
    return Recognizer("IBAN_CODE", PATTERNS, _valid)
