"""Times that queries name, as spans in the caller's zone."""

from datetime import UTC, datetime

import pytest

from rearview_pipelines.recall.temporal import span_of

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("what did we do yesterday", "2026-11-24", "2026-11-25"),
        ("the talk this morning", "2026-11-25", "2026-11-26"),
        ("what broke last tuesday", "2026-11-24", "2026-11-25"),
        ("what broke last wednesday", "2026-11-18", "2026-11-19"),
        ("who called on fri", "2026-11-20", "2026-11-21"),
        ("decisions of last week", "2026-11-16", "2026-11-23"),
        ("decisions of this month", "2026-11-01", "2026-12-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("3 days ago", "2026-11-22", "2026-11-23"),
        ("two weeks ago", "2026-11-08", "2026-11-15"),
        ("in the past 3 days", "2026-11-22", "2026-11-26"),
        ("昨天说了什么", "2026-11-24", "2026-11-25"),
        ("大前天的会", "2026-11-22", "2026-11-23"),
        ("上周的决定", "2026-11-16", "2026-11-23"),
        ("上上周三的会", "2026-11-11", "2026-11-12"),
        ("上周二部署为什么失败", "2026-11-17", "2026-11-18"),
        ("这个月的计划", "2026-11-01", "2026-12-01"),
        ("三天前", "2026-11-22", "2026-11-23"),
        ("去年的合同", "2025-01-01", "2026-01-01"),
    ],
)
def test_a_time_is_resolved(query: str, start: str, end: str) -> None:
    span = span_of(query, NOW, "UTC")
    assert span is not None
    assert (span[0].date().isoformat(), span[1].date().isoformat()) == (start, end)


@pytest.mark.parametrize("query", ["the user may sit", "what is the plan", "他喜欢什么", "last but not least", "一般"])
def test_most_queries_name_none(query: str) -> None:
    assert span_of(query, NOW, "UTC") is None


def test_the_callers_zone_decides_which_day_it_is() -> None:
    late = datetime(2026, 11, 24, 20, 0, tzinfo=UTC)  # already the 25th in Shanghai
    in_utc, in_shanghai = (span_of("yesterday", late, zone) for zone in ("UTC", "Asia/Shanghai"))
    assert in_utc is not None and in_shanghai is not None
    assert in_utc[0].date().isoformat() == "2026-11-23"
    assert in_shanghai[0].isoformat() == "2026-11-24T00:00:00+08:00"


@pytest.mark.parametrize("query", ["999 years ago", "999 months ago", "999年前"])
def test_a_time_long_past_is_no_error(query: str) -> None:
    assert span_of(query, NOW, "UTC") is not None
