"""The types of single fields: text, times, names, JSON. Each refuses what cannot be stored whole."""

import json
import math
import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer
from pydantic_core import PydanticCustomError

MAX_TEXT_BYTES = 16_384
MAX_DATA_BYTES = 16_384
MAX_METADATA_BYTES = 2_048
MAX_TAGS, MAX_TAG = 32, 64
MAX_KEY, MAX_NAMESPACE, MAX_NAME = 256, 512, 128
MAX_NAMESPACE_DEPTH = 16
MAX_JSON_DEPTH = 32
SAFE_INTEGER = 2**53 - 1
"""The largest integer that canonical JSON (RFC 8785) and every client can hold exactly."""

_RFC3339 = re.compile(r"^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)?$")


def _fail(kind: str, message: str) -> PydanticCustomError:
    return PydanticCustomError(kind, "{reason}", {"reason": message})


def storable(value: str) -> str:
    """Refuse what no store keeps as written: NUL and unpaired surrogates."""
    if "\x00" in value:
        raise _fail("nul", "contains a NUL character")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise _fail("surrogate", "contains an unpaired surrogate, which is not valid Unicode")
    return value


def _text(value: str) -> str:
    if not value.strip() or not any(c.isprintable() and not c.isspace() for c in value):
        raise _fail("blank", "is empty or only white space and invisible signs")
    if len(value.encode()) > MAX_TEXT_BYTES:
        raise _fail("text_too_long", f"is {len(value.encode())} bytes of UTF-8, the limit is {MAX_TEXT_BYTES}")
    return value


def turn_text(value: str) -> str:
    """A turn's words: any, within the size of a memory's text."""
    return _text(value) if value.strip() else ""


MAX_LONG_BYTES = 2**18


def long_text(value: str) -> str:
    """A text to be read, not kept: any words, at most 256 KiB."""
    if not value.strip():
        raise _fail("blank", "is empty or only white space")
    if len(value.encode()) > MAX_LONG_BYTES:
        raise _fail("too_long", f"is over {MAX_LONG_BYTES} bytes")
    return value


def _name(value: str) -> str:
    if not value.strip():
        raise _fail("blank", "is empty or only white space")
    return value


def _namespace(value: str) -> str:
    path = value.strip("/")
    segments = path.split("/")
    if not all(s.strip() for s in segments):
        raise _fail("namespace", "has an empty segment")
    if len(segments) > MAX_NAMESPACE_DEPTH:
        raise _fail("namespace", f"has {len(segments)} segments, the limit is {MAX_NAMESPACE_DEPTH}")
    return path


def _instant(value: Any) -> datetime:
    if isinstance(value, str):
        if not _RFC3339.match(value):
            raise _fail("rfc3339", "is not an RFC 3339 time")
        try:
            value = datetime.fromisoformat(value.upper())
        except ValueError as error:
            raise _fail("rfc3339", "is not an RFC 3339 time") from error
    if not isinstance(value, datetime):
        raise _fail("rfc3339", "is not an RFC 3339 time")
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        moment.astimezone(UTC)
    except OverflowError as error:
        raise _fail("rfc3339", "is outside the years 1 to 9999") from error
    return moment


def _json_value(value: Any, depth: int) -> None:
    if depth > MAX_JSON_DEPTH:
        raise _fail("json_depth", f"is nested deeper than {MAX_JSON_DEPTH} levels")
    if isinstance(value, str):
        storable(value)
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int):
        if abs(value) > SAFE_INTEGER:
            raise _fail("json_number", "holds an integer beyond 2^53 - 1, which JSON cannot keep exactly")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise _fail("json_number", "holds a number that is not finite")
    elif isinstance(value, list):
        for item in value:
            _json_value(item, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise _fail("json_value", "has a name that is not a string")
            storable(key)
            _json_value(item, depth + 1)
    else:
        raise _fail("json_value", f"holds a {type(value).__name__}, which is not JSON")


def _sized(value: dict[str, Any], limit: int) -> dict[str, Any]:
    _json_value(value, 0)
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    if size > limit:
        raise _fail("json_too_long", f"is {size} bytes of JSON, the limit is {limit}")
    return value


def _data(value: dict[str, Any]) -> dict[str, Any]:
    return _sized(value, MAX_DATA_BYTES)


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    if any(isinstance(v, list | dict) for v in value.values()):
        raise _fail("flat", "must be flat: its values are strings, numbers, true, false or null")
    return _sized(value, MAX_METADATA_BYTES)


def _tags(value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value))


_Str = Annotated[str, Field(strict=True)]
Text = Annotated[_Str, AfterValidator(storable), AfterValidator(_text)]
"""1 to 16,384 bytes of UTF-8, not blank, kept as written."""
Name = Annotated[_Str, Field(max_length=MAX_NAME), AfterValidator(storable), AfterValidator(_name)]
"""Up to 128 characters: a user, session, ref, task, speaker."""
Key = Annotated[_Str, Field(max_length=MAX_KEY), AfterValidator(storable), AfterValidator(_name)]
Namespace = Annotated[_Str, Field(max_length=MAX_NAMESPACE), AfterValidator(storable), AfterValidator(_namespace)]
"""A path such as `project/billing`; slashes at its ends do not count."""
Tag = Annotated[_Str, Field(max_length=MAX_TAG), AfterValidator(storable), AfterValidator(_name)]
Tags = Annotated[tuple[Tag, ...], Field(max_length=MAX_TAGS, strict=False), AfterValidator(_tags)]
Ratio = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Instant = Annotated[
    datetime,
    BeforeValidator(_instant),
    PlainSerializer(lambda t: t.isoformat().replace("+00:00", "Z"), return_type=str),
]
"""RFC 3339; no offset means UTC; the offset written is kept."""
Metadata = Annotated[dict[str, Any], AfterValidator(_metadata)]
Data = Annotated[dict[str, Any], AfterValidator(_data)]


def millis(moment: datetime) -> int:
    """Milliseconds since 1970 UTC, negative before."""
    return round(moment.timestamp() * 1000)
