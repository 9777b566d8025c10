"""Licence plates: Chinese ones by their form (GA 36), others where a word says so."""

from rearview_pipelines.privacy.recognizers.base import Recognizer

_PROVINCE = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"
_BODY = r"(?:[0-9A-HJ-NP-Z]{5,6}|[0-9A-HJ-NP-Z]{4}[学警港澳挂领试超])"
_WORDS = r"\b(?:(?:licen[cs]e|number|registration|car|vehicle) plates?|plate(?: number| no\.?)?|registration (?:number|no\.?))\b"

CHINESE = (
    rf"[{_PROVINCE}][A-HJ-NP-Z][ ·•・.-]?(?=[A-HJ-NP-Z]{{0,5}}[0-9]){_BODY}(?![0-9A-Za-z])",
    rf"(?:车牌号?码?|牌照|号牌|车辆)[^\n0-9A-Za-z]{{0,6}}?[：: 是为]*\K[{_PROVINCE}使][A-HJ-NP-Z0-9][ ·•・.-]?{_BODY}(?![0-9A-Za-z])",
    r"(?<![0-9A-Za-z])WJ[ ·]?[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼]?[ ·]?\d{4}[0-9A-Z](?![0-9A-Za-z])",
)
SAID = (
    rf"{_WORDS}(?:[ :#=]|\bis\b|\bwas\b|['\"])*\K(?=[A-Z0-9 -]*\d)(?=[A-Z0-9 -]*[A-Z])[A-Z0-9]{{1,4}}[ -]?[A-Z0-9]{{2,5}}(?![0-9A-Za-z])",
)


def _upper(text: str) -> bool:
    return text.upper() == text or any(c.isdigit() for c in text)


def recognizers() -> tuple[Recognizer, ...]:
    return (Recognizer("LICENSE_PLATE", CHINESE, _upper), Recognizer("LICENSE_PLATE", SAID, str.isupper))
