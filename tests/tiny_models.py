"""Small models with random weights, saved and loaded by path as their users save and load theirs."""

import json
import subprocess
import sys
from pathlib import Path

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", "tea", "green", "car", "##s", "."]
MAKE = """
import sys
from pathlib import Path
import torch
from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizerFast
torch.manual_seed(7)
kind, folder, vocabulary = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
size = len(Path(vocabulary).read_text().splitlines())
config = BertConfig(vocab_size=size, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                    intermediate_size=64, max_position_embeddings=64, num_labels=1)
tokenizer = BertTokenizerFast(vocab_file=vocabulary, model_max_length=64)
if kind == "late":
    from sentence_transformers import MultiVectorEncoder
    raw = folder / "raw"
    BertModel(config).save_pretrained(raw)
    tokenizer.save_pretrained(raw)
    from sentence_transformers.base.modules.dense import Dense
    from sentence_transformers.base.modules.transformer import Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
    body = Transformer(str(raw), max_seq_length=64)
    dense = Dense(32, 16, bias=False, activation_function=torch.nn.Identity(),
                  module_input_name="token_embeddings", module_output_name="token_embeddings")
    model = MultiVectorEncoder(modules=[body, dense, MultiVectorMask(skiplist_words=["."])], device="cpu")
    model.save(str(folder / "model"))
elif kind == "reranker":
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
else:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    raw = folder / "raw"
    BertModel(config).save_pretrained(raw)
    tokenizer.save_pretrained(raw)
    body = Transformer(str(raw), max_seq_length=64)
    model = SentenceTransformer(modules=[body, Pooling(body.get_embedding_dimension(), "cls")], device="cpu")
    model.prompts = {"query": "query: ", "document": "passage: "}
    model.save(str(folder / "model"))
"""


def make(kind: str, folder: Path) -> Path:
    """A model with random weights, saved as its users save theirs. In a process of its own: torch stays out."""
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS))
    done = subprocess.run(
        [sys.executable, "-c", MAKE, kind, str(folder), str(vocabulary)], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return folder if kind == "reranker" else folder / "model"


def exported(kind: str, source: Path, target: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "rearview_serve.cli.main",
            "models",
            "export",
            str(source),
            str(target),
            "--kind",
            kind,
            "--json",
        ],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kind"] == kind
