"""Passports and driving licences. Their numbers look like any reference, so a word beside them must say it."""

from rearview_pipelines.privacy.recognizers.base import Recognizer

_IS = r"(?:[ :#=]|\bis\b|\bwas\b|\bnumber\b|\bno\.?|\bnr\.?|[\"'(=]|号码?|为|是|：)*"
_NUMBER = r"(?=(?:[A-Z]*\d){4})[A-Z]{0,3}\d[A-Z0-9]{5,9}(?![0-9A-Za-z])"
_LICENCE = r"(?=[A-Z0-9-]*\d{4})[A-Z]{0,4}\d[A-Z0-9-]{4,17}(?![0-9A-Za-z])"

PASSPORT = (
    rf"(?:\bpassports?\b|护照|通行证){_IS}\K{_NUMBER}",
    r"(?<![0-9A-Za-z])(?:[EG][A-HJ-NP-Z]?|[DSP]E?)\d{7,8}(?![0-9A-Za-z])(?=[^0-9A-Za-z\n]{0,6}(?:护照|passport))",
)
LICENCE = (
    rf"(?:\b(?:driv(?:er'?s?|ing) )?licen[cs]e(?! plate)s?\b|\bDL\b|驾驶?[证照]|驾驶证?档案){_IS}(?:编号)?{_IS}\K{_LICENCE}",
)


def _is_plain_date(text: str) -> bool:
    return text.count("-") == 2 and len(text) <= 10


def recognizers() -> tuple[Recognizer, ...]:
    return (
        Recognizer("PASSPORT", PASSPORT),
        Recognizer("DRIVER_LICENSE", LICENCE, lambda text: not _is_plain_date(text)),
    )
