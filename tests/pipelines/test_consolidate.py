"""Which memories say the same: near by vector and the same by comparison, in one scope; numbers and denials differ."""

from datetime import UTC, datetime

import numpy as np

from rearview_pipelines.lifecycle.consolidate import clusters
from rearview_pipelines.memory import Layer, Memory, Source, SourceKind
from rearview_pipelines.ports import Part

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ALIKE = np.eye(8, dtype=np.float32)[0]


def row(id_: str, text: str, vector: np.ndarray = ALIKE, **fields: object) -> tuple[Memory, tuple[Part, ...]]:
    base = {"id": id_, "tenant": "t", "text": text, "layer": Layer.SEMANTIC, "created_at": NOW, "updated_at": NOW}
    return Memory.model_validate(base | fields), (Part(0, 0, len(text), "", vector),)


def test_the_same_said_twice_is_one_and_the_best_supported_stays() -> None:
    rows = [
        row("m_a", "The user drinks green tea."),
        row("m_b", "User drinks green tea", support=("x:", "y:")),
        row("m_c", "The user drinks the green tea."),
        row("m_d", "The deploy runs on Friday.", np.eye(8, dtype=np.float32)[1]),
    ]
    assert clusters(rows) == [("m_b", ["m_a", "m_c"])]


def test_what_differs_in_a_number_a_denial_or_a_scope_stays_apart() -> None:
    rows = [
        row("m_a", "The rack holds 12 servers."),
        row("m_b", "The rack holds 14 servers."),
        row("m_c", "The rack does not hold 12 servers."),
        row("m_d", "The rack holds 12 servers.", user="ada"),
        row("m_e", "The rack holds 12 servers.", agent="b"),
        row("m_f", "The rack holds 12 servers.", key="rack.size"),
        row("m_g", "The rack holds 12 servers.", source=Source(kind=SourceKind.TURN)),
        row("m_h", "The rack holds 12 servers.", np.eye(8, dtype=np.float32)[1]),
    ]
    assert clusters(rows) == []
