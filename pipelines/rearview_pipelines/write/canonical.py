"""Canonical JSON (RFC 8785), by the standard library's encoder where that writes the same bytes: ten times as fast.

They differ in numbers that are no whole ones (`1e-07`, `1.0`), and in the order of names beyond ASCII. A value that
holds either is left to the library; a test holds both against each other.
"""

import json
from typing import Any

import rfc8785

_SAFE = 2**53 - 1


def canonical(value: Any) -> bytes:
    plain = _plain(value)
    if plain is _ODD:
        return rfc8785.dumps(value)
    return _encode(plain).encode()


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode
_ODD = object()


def _plain(value: Any) -> Any:
    """The value as the encoder writes it canonically, or `_ODD`. Floats like .7 are written alike by both."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is int:
        return value if -_SAFE <= value <= _SAFE else _ODD
    if kind is float:
        if value.is_integer():
            return int(value) if abs(value) <= _SAFE else _ODD
        return value if 1e-4 <= abs(value) < 1e15 else _ODD
    if kind is dict:
        return _plain_object(value)
    if kind is list or kind is tuple:
        made = [_plain(one) for one in value]
        return _ODD if any(one is _ODD for one in made) else made
    return _ODD


def _plain_object(value: dict[Any, Any]) -> Any:
    made = {}
    for name, one in value.items():
        if type(name) is not str or not name.isascii():
            return _ODD
        plain = _plain(one)
        if plain is _ODD:
            return _ODD
        made[name] = plain
    return made
