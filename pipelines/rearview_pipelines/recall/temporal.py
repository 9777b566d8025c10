"""Times that a query names, resolved to a span in the caller's zone: "last Tuesday", "3 days ago", 上周. Pure.

Its own grammar, because what recall needs is a span, in English and in Chinese, in microseconds: parsers of
dates answer an instant, and read "may" and "sat" as dates too.
"""

import re
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_DAYS = {"mon": 0, "tue": 1, "wed": 2, "thu": 3, "fri": 4, "sat": 5, "sun": 6}
_ZH_DAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6}
_ZH_NUMBERS = {c: n for n, c in enumerate("一二三四五六七八九十", 1)} | {"两": 2, "几": 3}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "couple of": 2,
            "a couple of": 2, "few": 3, "a few": 3}  # fmt: skip
_COUNT = r"(\d{1,3}|a few|few|a couple of|couple of|an?|one|two|three|four|five|six|seven)"
_AGO = re.compile(rf"\b{_COUNT} (day|week|month|year)s? ago\b")
_PAST = re.compile(rf"\b(?:past|last|previous) (?:{_COUNT} )?(day|week|month|year)s\b")
_LAST = re.compile(r"\b(last|this|past) (week|month|year)\b")
_WEEKDAY = re.compile(r"\b(?:last|on|this|past) (mon|tue|wed|thu|fri|sat|sun)(?:day|sday|nesday|rsday|urday)?\b")
_ZH_AGO = re.compile(r"(\d{1,3}|[一两二三四五六七八九十几])个?(天|周|星期|礼拜|月|年)以?前")
_ZH_LAST = re.compile(r"(上上|上|这|本)个?(周|星期|礼拜|月)([一二三四五六日天])?")
_ZH_DAY = {"大前天": 3, "前天": 2, "昨天": 1, "昨日": 1, "昨晚": 1, "今天": 0, "今日": 0, "今早": 0}
_ZH_YEAR = {"前年": 2, "去年": 1, "今年": 0}
_UNITS = {"周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year", "天": "day"}


def span_of(query: str, now: datetime, zone: str) -> tuple[datetime, datetime] | None:
    """[start, end) that a folded query names, in the caller's zone; None if it names none."""
    here = ZoneInfo(zone)
    today = now.astimezone(here).date()
    days = _english(query, today) or _chinese(query, today)
    if days is None:
        return None
    start, end = days
    return datetime.combine(start, time(), here), datetime.combine(end, time(), here)


def _english(query: str, today: date) -> tuple[date, date] | None:
    if re.search(r"\byesterday\b", query):
        return _whole("day", today, 1)
    if re.search(r"\b(?:today|this morning|tonight)\b", query):
        return _whole("day", today, 0)
    if found := _AGO.search(query):
        return _around(found[2], today, _number(found[1]))
    if found := _PAST.search(query):
        return _back(found[2], today, _number(found[1] or "a few")), today + timedelta(days=1)
    if found := _WEEKDAY.search(query):
        return _weekday(today, _DAYS[found[1]])
    if found := _LAST.search(query):
        return _whole(found[2], today, 0 if found[1] == "this" else 1)
    return None


def _chinese(query: str, today: date) -> tuple[date, date] | None:
    for word, back in _ZH_DAY.items():
        if word in query:
            return _whole("day", today, back)
    for word, back in _ZH_YEAR.items():
        if word in query:
            return _whole("year", today, back)
    if found := _ZH_AGO.search(query):
        return _around(_UNITS[found[2]], today, _number(found[1]))
    if found := _ZH_LAST.search(query):
        back = {"上上": 2, "上": 1}.get(found[1], 0)
        if found[3] and found[2] != "月":
            monday = today - timedelta(days=today.weekday() + 7 * back)
            day = monday + timedelta(days=_ZH_DAYS[found[3]])
            return day, day + timedelta(days=1)
        return _whole(_UNITS[found[2]], today, back)
    return None


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS.get(word) or _ZH_NUMBERS.get(word) or 1


def _weekday(today: date, day: int) -> tuple[date, date]:
    """The last such day before today."""
    back = (today.weekday() - day) % 7 or 7
    start = today - timedelta(days=back)
    return start, start + timedelta(days=1)


def _around(unit: str, today: date, count: int) -> tuple[date, date]:
    """`count` units ago, as loosely as people mean it: half a unit to either side, a day for days."""
    at = _back(unit, today, count)
    slack = {"day": 0, "week": 3, "month": 15, "year": 182}[unit]
    return at - timedelta(days=slack), at + timedelta(days=slack + 1)


def _whole(unit: str, today: date, back: int) -> tuple[date, date]:
    """The calendar unit that lies so many units back: the whole day, week from Monday, month, year."""
    if unit == "day":
        start = today - timedelta(days=back)
        return start, start + timedelta(days=1)
    if unit == "week":
        start = today - timedelta(days=today.weekday() + 7 * back)
        return start, start + timedelta(days=7)
    if unit == "month":
        start = _months(today.replace(day=1), -back)
        return start, _months(start, 1)
    return date(today.year - back, 1, 1), date(today.year - back + 1, 1, 1)


def _back(unit: str, today: date, count: int) -> date:
    if unit in ("day", "week"):
        return today - timedelta(days=count * (7 if unit == "week" else 1))
    return _months(today, -count * (12 if unit == "year" else 1))


def _months(day: date, count: int) -> date:
    number = day.year * 12 + day.month - 1 + count
    return date(max(number // 12, 1), number % 12 + 1, min(day.day, 28))
