"""Chinese resident identity numbers (GB 11643) and company codes (GB 32100), by their check digits."""

from stdnum.cn import ric, uscc
from stdnum.exceptions import ValidationError

from rearview_pipelines.privacy.recognizers.base import END, START, Recognizer

_PROVINCES = frozenset(
    "11 12 13 14 15 21 22 23 31 32 33 34 35 36 37 41 42 43 44 45 46 50 51 52 53 54 61 62 63 64 65 71 81 82 83".split()
)
_CODE = "0-9A-HJ-NPQRTUWXY"
_SAYS_SO = r"(?:统一社会信用代码|信用代码|纳税人识别号|税号|USCC)[^0-9A-Za-z\n]{0,6}"

RESIDENT = (
    rf"{START}[1-9]\d{{5}}[ -]?(?:18|19|20)\d\d[ -]?\d{{4}}[ -]?\d{{3}}[\dX]{END}",
    rf"{START}[1-9]\d{{5}} (?:18|19|20)\d{{6}} \d{{3}}[\dX]{END}",
)
RESIDENT_SAID = (r"(?:身份证|证件号)[^0-9A-Za-z\n]{0,8}\K[1-9]\d{14}(?:\d\d[\dX])?(?![0-9A-Za-z])",)
COMPANY = (rf"(?<![0-9A-Za-z])[{_CODE}]{{2}}\d{{6}}[{_CODE}]{{10}}(?![0-9A-Za-z])",)
COMPANY_SAID = (rf"{_SAYS_SO}\K[{_CODE}]{{2}}[ -]?\d{{6}}[ -]?[{_CODE}]{{9}}[ -]?[{_CODE}](?![0-9A-Za-z])",)


def _resident(text: str) -> bool:
    number = text.replace(" ", "").replace("-", "").upper()
    if len(number) != 18 or number[:2] not in _PROVINCES or number[-1] != ric.calc_check_digit(number):
        return False
    try:
        # Not the county: python-stdnum's list knows a county only for the years it was assigned.
        ric.get_birth_date(number)
    except ValidationError:
        return False
    return True


def _company(text: str) -> bool:
    return bool(uscc.is_valid(text.upper())) and any(c.isdigit() for c in text[8:])


def recognizers() -> tuple[Recognizer, ...]:
    return (
        Recognizer("CN_ID_CARD", RESIDENT, _resident),
        Recognizer("CN_ID_CARD", RESIDENT_SAID),
        Recognizer("CN_USCC", COMPANY, _company),
        Recognizer("CN_USCC", COMPANY_SAID),
    )
