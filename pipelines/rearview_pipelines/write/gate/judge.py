"""Is a turn worth remembering, and as what? Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from rearview_pipelines.memory import Kind
from rearview_pipelines.write.gate.classifier import probability
from rearview_pipelines.write.gate.patterns import KEPT, by_patterns

WORTH = 0.5
"""Probability from which a turn is kept."""
_KINDS = {"fact": Kind.FACT, "preference": Kind.PREFERENCE, "decision": Kind.DECISION, "error": Kind.ERROR}


@dataclass(frozen=True)
class Gate:
    """`keep`: remember it. `reason`: fact, preference, decision, outcome, error; or why not."""

    keep: bool
    reason: str

    @property
    def kind(self) -> Kind:
        return _KINDS.get(self.reason, Kind.NOTE)


HEAD, TAIL = 3000, 1000
"""Characters of a turn that are judged: a long tool output says at its ends what it is."""


def _ends(text: str) -> str:
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


def gate(text: str, role: str = "user", recalled: Sequence[str] = ()) -> Gate:
    """Judge one turn. `recalled`: texts that recall handed out in this session."""
    text = _ends(text)
    judged = by_patterns(text, role, recalled)
    if not any(c.isalnum() for c in text) or (judged.reason == "echo" and role != "tool"):
        return Gate(False, judged.reason)
    if probability(text, role, recalled) >= WORTH:
        return Gate(True, judged.reason if judged.reason in KEPT else "fact")
    return Gate(False, judged.reason if judged.reason not in KEPT else "smalltalk")
