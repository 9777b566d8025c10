"""The screening classifier: catches what the signs have no words for.

Trained by `scripts/train_classifiers.py` on labelled texts of our own (`tests/data/poison_train.jsonl`) and
any others named there.
"""

import re
from pathlib import Path

from rearview_pipelines.text.linear import load

BITS = 16
WEIGHTS = Path(__file__).with_name("weights.npz")
WINDOW = 1200
"""Characters judged at a time; the worst part of a long text counts."""
LEAST_WORDS = 4
_SOME = re.compile(r"[a-zA-Z\u00c0-\u024f]{2,}|[\u3400-\u9fff]")


def probability(text: str) -> float | None:
    """How likely the classifier holds a text, or its worst part, to be an attack: 0 to 1.

    A few words say too little for a judgement by their letters: None.
    """
    if len(_SOME.findall(text)) < LEAST_WORDS:
        return None
    model = load(WEIGHTS)
    step = WINDOW // 2
    starts = range(0, max(len(text) - step, 1), step)
    return max(model.probability(text[start : start + WINDOW]) for start in starts)
