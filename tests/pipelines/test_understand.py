"""What a query asks for beside its words."""

from datetime import UTC, datetime

import pytest

from rearview_pipelines.memory import Kind, Outcome
from rearview_pipelines.recall.understand import MAX_TERMS, Understood, named, understand

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)


def read(query: str) -> Understood:
    return understand(query, NOW, "UTC")


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ('who said "no more tea"?', ("no more tea",)),
        ("谁说过“下周上线”", ("下周上线",)),
        ("《三体》是谁推荐的", ("三体",)),
        ("what caused INC-2049", ("inc-2049",)),
        ("why does ERR_POOL_TIMEOUT come from src/pool.py", ("err_pool_timeout", "src/pool.py")),
        ("is v2.60.0 out, says getUserName", ("v2.60.0", "getusername")),
        ("what does she like", ()),
        ("don't we meet at 10", ()),
    ],
)
def test_quoted_phrases_and_identifiers_are_exact(query: str, phrases: tuple[str, ...]) -> None:
    assert read(query).phrases == phrases


def test_intent() -> None:
    assert read("When did she move?").when and read("他什么时候搬的家").when
    assert read("the latest decision").recent and read("最近的决定").recent
    assert read("the latest decision").kinds == {Kind.DECISION}
    assert read("她喜欢什么").kinds == {Kind.PREFERENCE}
    assert read("why did the deploy fail, it failed twice").outcome is Outcome.FAILURE
    assert read("怎么解决了").outcome is Outcome.SUCCESS
    plain = read("tea in the garden")
    assert not (plain.when or plain.recent or plain.popular or plain.related or plain.kinds or plain.phrases)


@pytest.mark.parametrize(
    ("query", "words"), [("🎉🎉", False), ("?!...", False), ("茶", True), ("a", True), ("42", True)]
)
def test_whether_there_is_a_word_at_all(query: str, words: bool) -> None:
    assert read(query).words is words


def test_a_pasted_document_asks_for_its_first_terms() -> None:
    found = read(" ".join(f"word{n}" for n in range(5000)))
    assert len(found.terms) == MAX_TERMS
    assert len(found.phrases) == 8


def test_speakers_are_named_by_whole_words() -> None:
    speakers = ["ann", "caroline smith", "张曼婷", "al"]
    assert named(speakers, "what did caroline plan") == {1}
    assert named(speakers, "anne also planned") == frozenset()
    assert named(speakers, "张曼婷喜欢什么") == {2}
    assert named(speakers, "did ann and al meet?") == {0, 3}
