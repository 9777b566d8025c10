"""Payment cards by issuer prefix, length and Luhn digit; UnionPay bank cards beside them.

Prefixes and lengths: ISO/IEC 7812 issuer ranges as the networks publish them. Without them one in ten
order numbers of the right length would pass the Luhn test.
"""

import re

from stdnum import luhn

from rearview_pipelines.privacy.recognizers.base import END, START, Recognizer, digits

_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[689]\d)\d{11,13}|35\d{14}|6(?:011|4[4-9]\d|5\d\d)\d{12,15}|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}"
)
_UNIONPAY = re.compile(r"62\d{14,17}")
_GROUPED = (
    rf"{START}\d{{12,19}}{END}",
    rf"{START}\d{{4}}(?P<s>[ .-])\d{{4}}(?P=s)\d{{4}}(?P=s)\d{{1,4}}(?:(?P=s)\d{{1,3}})?{END}",
    rf"{START}\d{{4}}(?P<s>[ .-])\d{{6}}(?P=s)\d{{4,5}}{END}",
    rf"{START}\d{{6}}(?P<s>[ .-])\d{{10,13}}{END}",
    rf"{START}(?:\d{{4}} {{1,3}}){{3}}\d{{4}}(?: {{1,3}}\d{{1,3}})?{END}",
)


_SAID = (r"\b(?:credit |debit |bank )?card(?: number| no\.?)?(?:[ :#]|\bis\b)*\K\d{12,19}(?![0-9A-Za-z])",)
"""A number that is called a card's is one, mistyped or not."""


def _card(text: str) -> bool:
    number = digits(text)
    return _ISSUERS.fullmatch(number) is not None and luhn.is_valid(number)


def _bank_card(text: str) -> bool:
    number = digits(text)
    return _UNIONPAY.fullmatch(number) is not None and luhn.is_valid(number)


def recognizers() -> tuple[Recognizer, ...]:
    return (
        Recognizer("CREDIT_CARD", _GROUPED, _card),
        Recognizer("CREDIT_CARD", _SAID),
        Recognizer("BANK_CARD", _GROUPED, _bank_card),
    )
