"""Filter expressions for Milvus. The only place where a value becomes query text.

Milvus Lite has no filter templates, so values are written into the expression as literals. Field
names come from the schema, never from a caller.
"""

import re

from rearview_pipelines.ports import Condition, Where

# All that a Milvus string literal treats specially; anything else stands for itself.
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_FIELD = re.compile(r"^[a-z_]+$")
_COMPARE = {"eq": "==", "ge": ">=", "gt": ">", "lt": "<"}
_ARRAY = {"has_all": "array_contains_all", "has_any": "array_contains_any"}


def literal(value: str | int | float) -> str:
    """A value as a literal that the parser reads back as exactly that value."""
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    return repr(value)


def _list(values: tuple[str, ...]) -> str:
    return "[" + ", ".join(literal(v) for v in values) + "]"


def condition(test: Condition) -> str:
    if not _FIELD.match(test.field):
        raise ValueError(f"not an indexed field: {test.field!r}")
    if isinstance(test.value, tuple):
        if test.op == "in":
            return f"{test.field} in {_list(test.value)}"
        return f"{_ARRAY[test.op]}({test.field}, {_list(test.value)})"
    return f"{test.field} {_COMPARE[test.op]} {literal(test.value)}"


def expression(tenant: str, where: Where) -> str:
    """The whole filter. The tenant always stands in it: partitions alone do not bound a delete."""
    clauses = [condition(Condition("tenant", "eq", tenant))]
    clauses += [condition(test) for test in where.all_of]
    clauses += ["(" + " or ".join(condition(test) for test in group) + ")" for group in where.any_of]
    return " and ".join(clauses)
