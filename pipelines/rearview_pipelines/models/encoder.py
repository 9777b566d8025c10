"""One ONNX encoder and its tokenizer. Blocking and thread-safe; imports no torch."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from rearview_pipelines.errors import SetupError
from rearview_pipelines.models.files import ModelCard, read_card


class Encoder:
    """Runs the graph of an exported folder.

    Args: folder as `models.files` describes it; kind, embedder, reranker or late; threads, how many one
    run may use (1: two on a busy 2-core machine made a query 30 times slower).
    """

    def __init__(self, folder: Path, kind: str, threads: int = 1) -> None:
        self.card: ModelCard = read_card(folder, kind)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(
                str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer: Tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # both libraries raise bare or private types
            raise SetupError(f"the model in {folder} cannot be loaded; export it again") from error
        self._tokenizer.enable_truncation(self.card.max_tokens)
        self._tokenizer.no_padding()
        self._whole: Tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._whole.no_truncation()
        self._whole.no_padding()

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """The character span of every token of a text of any length."""
        return list(self._whole.encode(text, add_special_tokens=False).offsets)

    def marks(self, text: str) -> list[int]:
        """Positions of the special tokens of a text."""
        return [at for at, special in enumerate(self._tokenizer.encode(text).special_tokens_mask) if special]

    def run(self, texts: Sequence[str] | Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Outputs in the order of the texts: (n, dimension) for an embedder, (n, 1) for a reranker.

        One text at a time: int8 scales activations over a batch, so in a batch the same text would come
        out differently beside other texts, and on a CPU batches gain little (3.3 ms a short text in
        batches of 16, 4.6 alone; nothing for texts of mixed length).
        """
        return np.stack([self._one(e) for e in self._tokenizer.encode_batch(list(texts))])

    def states(
        self, texts: Sequence[str], marker: int | None = None, skip: Sequence[int] = ()
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """(which text, its token states (tokens, dimension)), shortest first: padding would cost what a batch gains.

        `marker`: id of a token put after the first, by which some models tell queries from documents.
        `skip`: ids of tokens whose states are left out.
        """
        encoded = [_marked(e, marker) for e in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]["input_ids"]))
        while order:
            length = len(encoded[order[0]]["input_ids"])
            batch = [order.pop(0)]
            while order and (len(batch) + 1) * (length := len(encoded[order[0]]["input_ids"])) <= _BATCH_TOKENS:
                batch.append(order.pop(0))
            length = max(len(encoded[i]["input_ids"]) for i in batch)
            feed = {name: np.zeros((len(batch), length), np.int64) for name in self.card.inputs}
            for row, i in enumerate(batch):
                for name in self.card.inputs:
                    feed[name][row, : len(encoded[i][name])] = encoded[i][name]
            outputs = self._session.run(None, feed)[0]
            for row, i in enumerate(batch):
                ids = encoded[i]["input_ids"]
                kept = outputs[row, : len(ids)]
                yield i, np.asarray(kept[~np.isin(ids, skip)] if skip else kept, np.float32)

    def _one(self, encoding: Encoding) -> NDArray[np.float32]:
        feed = {name: np.asarray([getattr(encoding, _ATTRIBUTES[name])], np.int64) for name in self.card.inputs}
        return np.asarray(self._session.run(None, feed)[0][0], np.float32)


_BATCH_TOKENS = 256
"""Tokens of one batch of `states`: 17 ms a turn of 37 tokens on one AVX2 core, 23 one at a time, 22 with 2,048."""
_ATTRIBUTES = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}


def _marked(encoding: Encoding, marker: int | None) -> dict[str, list[int]]:
    fields = {name: list(getattr(encoding, attribute)) for name, attribute in _ATTRIBUTES.items()}
    if marker is not None:
        for name, value in (("input_ids", marker), ("attention_mask", 1), ("token_type_ids", 0)):
            fields[name].insert(1, value)
    return fields


def windows(count: int, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Spans of at most `size` items that cover `count`, each sharing `overlap` with the next."""
    start = 0
    while True:
        end = min(start + size, count)
        yield start, end
        if end == count:
            return
        start = end - overlap
