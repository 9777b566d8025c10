"""The gate's classifier: the patterns' opinion and what else is known of a turn, weighed with its words.

Trained by `scripts/train_classifiers.py`; patterns alone reach F1 .80 on turns they were not made from.
"""

from collections.abc import Sequence
from pathlib import Path

from rearview_pipelines.text.analyse import fold
from rearview_pipelines.text.linear import load
from rearview_pipelines.write.gate.patterns import by_patterns
from rearview_pipelines.write.relate.words import Statement

BITS = 14
C = 30.0
MARK_WEIGHT = 0.35
WINDOW = 400
"""Characters of a turn that are weighed."""
WEIGHTS = Path(__file__).with_name("weights.npz")


def marks(text: str, role: str, recalled: Sequence[str]) -> list[str]:
    """What is known of a turn beside its words."""
    judged = by_patterns(text, role, recalled)
    said = Statement(text)
    folded = fold(text).strip()
    first = folded.split()[0] if folded else ""
    found = [
        f"role:{role}",
        f"gate:{judged.keep}",
        f"reason:{judged.reason}",
        f"reason:{role}:{judged.reason}",
        f"words:{min(len(said.words), 30) // 3}",
        f"digit:{any(c.isdigit() for c in text)}",
        f"asks:{'?' in folded}",
        f"names:{bool(said.names)}",
        f"recalled:{bool(recalled)}",
        f"ends:{folded[-1:]}",
        f"first:{first}:{role}",
        f"long:{len(said.words) > 14}",
    ]
    if recalled:
        told = {word for memory in recalled for word in Statement(memory).words}
        share = len(said.bag & told) / max(1, len(said.bag))
        found.append(f"told:{role}:{int(share * 5)}")
    return found


def probability(text: str, role: str, recalled: Sequence[str]) -> float:
    """How likely a turn is worth remembering: 0 to 1."""
    return load(WEIGHTS).probability(text[:WINDOW], marks(text, role, recalled), MARK_WEIGHT)
