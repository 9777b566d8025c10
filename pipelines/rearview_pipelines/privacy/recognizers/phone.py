"""Telephone numbers: international forms, Chinese mobile and land lines, national forms of several countries.

phonenumbers (Google's libphonenumber) says whether an international number is possible; national
forms are told by their grouping, bare digits by a word beside them.
"""

import phonenumbers

from rearview_pipelines.privacy.recognizers.base import END, START, Recognizer, digits

_MOBILE = (
    r"1[3-9]\d{9}|1[3-9]\d(?P<a>[ .-])\d{4}(?P=a)\d{4}|1[3-9]\d(?P<b>[ .-])\d{3}(?P=b)\d{5}|1[3-9]\d[ .-]\d{8}"
    r"|1[3-9]\d\d(?P<c>[ .-])\d{4}(?P=c)\d{3}|1[3-9]\d\d(?P<d>[ .-])\d{3}(?P=d)\d{4}|1[3-9]\d{3}(?P<e>[ .-])\d{3}(?P=e)\d{3}"
)
_EXTENSION = r"(?:(?: ?(?:ext\.?|x|转|分机) ?|-)\d{1,6})?"
_WORDS = (
    r"(?:\b(?:(?:tele)?phones?|tel|mobile|cell(?:phone)?|whats ?app|fax|pager|(?:phone|contact|mobile|cell|fax) (?:number|no\.?)"
    r"|call (?:me|us|him|her|them|back)|reach(?:ed)? (?:me|us|him|her|them)? ?(?:at|on)|direct line|desk|messages to|answering at)\b"
    r"|电话|手机号?码?|座机|联系方式|致电|拨打|来电|传真|打给我|打)"
)

PATTERNS = (
    rf"{START}(?:\(?(?:\+ ?|00)?86\)?[ .-]{{0,2}})?(?:{_MOBILE}){END}",
    rf"{START}(?:\(0\d{{2,3}}\) ?|0\d{{2,3}}[ -])[2-8]\d{{6,7}}{_EXTENSION}{END}",
    rf"{START}(?:\+?1[ .-]?)?(?:\([2-9]\d\d\) ?|(?!400)[2-9]\d\d(?P<s>[ .-]))[2-9]\d\d[ .-]\d{{4}}{_EXTENSION}{END}",
    rf"{START}\(?0\d{{3,4}}\)?[ -]\d{{5,6}}{END}",
    rf"{START}\(?0\d{{1,3}}\)?(?P<t>[ .-])\d{{2,4}}(?:(?P=t)\d{{2,4}}){{1,3}}{END}",
)
_INTERNATIONAL = (
    r"(?<![0-9A-Za-z+])\(?\+ ?\d{1,3}\)?(?:[ ./-]{0,2}\(?\d{1,5}\)?){2,7}(?: ?(?:ext\.?|x|转) ?\d{1,6})?" + END,
    rf"{START}00\d{{1,3}}[ -]\d{{1,5}}(?:[ -]?\d{{2,5}}){{1,5}}{END}",
)
_BESIDE = (rf"{_WORDS}[^\d\n+@]{{0,10}}\K\+?\(?\d[\d ()./-]{{5,18}}\d{_EXTENSION}(?![0-9A-Za-z:])",)
_SHORTEST, _LONGEST = 7, 15
"""Digits of a subscriber number; the longest is E.164's."""


def _possible(text: str) -> bool:
    bare = text.replace("(", "").replace(")", "").strip()
    number = "+" + bare[2:] if bare.startswith("00") else bare
    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(number))
    except phonenumbers.NumberParseException:
        return False


def _national(text: str) -> bool:
    return 9 <= len(digits(text)) <= 20


def _beside(text: str) -> bool:
    """Not a date, an address or a decimal that happens to stand beside the word."""
    parts = [p for p in text.replace("/", "-").replace(".", "-").split("-") if p.strip()]
    dated = len(parts) == 3 and len(digits(text)) == 8 and any(len(p.strip()) == 4 for p in parts)
    return _SHORTEST <= len(digits(text)) <= _LONGEST and not dated and text.count(".") != 1


def recognizers() -> tuple[Recognizer, ...]:
    return (
        Recognizer("PHONE_NUMBER", PATTERNS, _national),
        Recognizer("PHONE_NUMBER", _INTERNATIONAL, _possible),
        Recognizer("PHONE_NUMBER", _BESIDE, _beside),
    )
