"""Encoders: the packaged model for real, and small models made here, loaded by path as any other."""

import asyncio
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from rearview_pipelines.errors import SetupError
from rearview_pipelines.models.embedder import OVERLAP_TOKENS, PART_TOKENS, OnnxEmbedder
from rearview_pipelines.models.encoder import windows
from rearview_pipelines.models.export import cached, is_cached
from rearview_pipelines.models.files import read_card
from rearview_pipelines.models.reranker import OnnxReranker
from rearview_pipelines.ports import Passage
from tests.tiny_models import exported, make


async def test_the_packaged_model_knows_what_is_near(model_folder: Path) -> None:
    embedder = OnnxEmbedder(model_folder)
    assert (embedder.dimension, embedder.languages) == (384, frozenset({"en"}))
    [[tea], [car]] = await embedder.documents([Passage("", "She drinks green tea."), Passage("", "The car is red.")])
    query = await embedder.query("What does she like to drink?")
    assert query @ tea.vector > query @ car.vector + 0.2
    assert np.isclose(np.linalg.norm(query), 1, atol=1e-5)


async def test_a_text_has_one_vector_whatever_is_embedded_beside_it(model_folder: Path) -> None:
    embedder = OnnxEmbedder(model_folder)
    texts = ["a longer text about green tea in the morning " * n for n in (5, 1, 3, 2)]
    together = await embedder.documents([Passage("", t) for t in texts])
    alone = [(await embedder.documents([Passage("", t)]))[0] for t in texts]
    for one, other in zip(together, alone, strict=True):
        assert np.array_equal(one[0].vector, other[0].vector)
    assert np.array_equal(await embedder.query(texts[0]), alone[0][0].vector)


async def test_a_long_text_is_cut_in_overlapping_parts_that_cover_it(model_folder: Path) -> None:
    embedder = OnnxEmbedder(model_folder)
    text = " ".join(f"sentence number {n} about nothing." for n in range(400)) + " The vault code word is marzipan."
    [parts] = await embedder.documents([Passage("(1 May 2026) Ann: ", text)])
    assert len(parts) > 5
    assert (parts[0].start, parts[-1].end) == (0, len(text))
    assert all(later.start < earlier.end for earlier, later in pairwise(parts))
    query = await embedder.query("What is the vault code word?")
    best = max(range(len(parts)), key=lambda n: float(parts[n].vector @ query))
    assert best == len(parts) - 1


async def test_queries_do_not_wait_for_documents(model_folder: Path) -> None:
    embedder = OnnxEmbedder(model_folder)
    writing = asyncio.ensure_future(embedder.documents([Passage("", f"text {n} " * 60) for n in range(300)]))
    await asyncio.sleep(0.05)
    await embedder.query("tea")
    assert not writing.done()
    await writing


def test_windows_cover_and_overlap() -> None:
    assert list(windows(10, 20, 5)) == [(0, 10)]
    spans = list(windows(1000, PART_TOKENS, OVERLAP_TOKENS))
    assert spans[0][0] == 0
    assert spans[-1][1] == 1000
    assert all(b[0] == a[1] - OVERLAP_TOKENS for a, b in pairwise(spans))


async def test_any_embedder_is_loaded_by_path_with_its_pooling_and_prompts(tmp_path: Path) -> None:
    source = make("embedder", tmp_path)
    exported("embedder", source, tmp_path / "onnx")
    card = read_card(tmp_path / "onnx", "embedder")
    assert (card.dimension, card.query_prefix, card.document_prefix) == (32, "query: ", "passage: ")
    assert card.agreement >= 0.97
    embedder = OnnxEmbedder(tmp_path / "onnx")
    [[part]] = await embedder.documents([Passage("", "green tea")])
    assert part.vector.shape == (32,)
    assert is_cached("embedder", str(tmp_path / "onnx"), tmp_path)
    assert cached("embedder", str(tmp_path / "onnx"), tmp_path) == tmp_path / "onnx"
    with pytest.raises(SetupError, match="not a reranker"):
        OnnxReranker(tmp_path / "onnx")


async def test_any_reranker_is_loaded_by_path(tmp_path: Path) -> None:
    exported("reranker", make("reranker", tmp_path), tmp_path / "onnx")
    scores = await OnnxReranker(tmp_path / "onnx").scores("tea", ["green tea", "car", "green teas."])
    assert len(scores) == 3
    assert all(0 < s < 1 for s in scores)
    assert len(set(scores)) == 3


def test_a_model_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "rearview_serve.cli.main",
            "models",
            "export",
            str(tmp_path / "nothing"),
            str(tmp_path / "x"),
        ],
        capture_output=True,
        text=True,
        timeout=240,
        env={"PATH": "", "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 1
    assert "nothing" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "x").exists()


def test_a_folder_without_a_model_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="rearview models export"):
        OnnxEmbedder(tmp_path)
