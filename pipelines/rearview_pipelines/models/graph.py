"""From a loaded model to a checked ONNX graph: what the exporters of every kind share. torch only when called."""

import hashlib
import io
import logging
import os
import shutil
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from rearview_pipelines.errors import SetupError
from rearview_pipelines.models.files import ModelCard, write_card

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


def need_torch(model: str) -> None:
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
