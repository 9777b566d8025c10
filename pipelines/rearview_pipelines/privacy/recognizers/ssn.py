"""United States social security numbers, in their written form or where a word says so."""

from rearview_pipelines.privacy.recognizers.base import END, START, Recognizer, digits

PATTERNS = (
    rf"{START}\d{{3}}-\d{{2}}-\d{{4}}{END}",
    r"(?:\bSSN\b|\bsocial security(?: number| no\.?)?)(?:[ :#=\"']|\bis\b)*\K\d{3}[ .-]?\d{2}[ .-]?\d{4}(?![0-9A-Za-z])",
)


def _issued_form(text: str) -> bool:
    """No group of all zeros; areas are not looked at, since nobody should keep a mistyped one either."""
    number = digits(text)
    return len(number) == 9 and number[:3] != "000" and number[3:5] != "00" and number[5:] != "0000"


def recognizer() -> Recognizer:
    return Recognizer("US_SSN", PATTERNS, _issued_form)
