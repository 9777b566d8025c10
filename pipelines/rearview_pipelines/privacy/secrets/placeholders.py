"""What stands where a secret would be and is none: placeholders, code that fetches one, documented examples. Pure."""

import re
import string

_DOCUMENTED = frozenset(
    {"akiaiosfodnn7example", "wjalrxutnfemi/k7mdeng/bpxrficyexamplekey", "dxnlcjpwyxnz", "qwxhzgrpbjpvcgvuihnlc2ftzq=="}
)
"""Published examples: the AWS documentation's pair, the Basic credentials of RFC 7617."""
_STAND_INS = frozenset(
    """
    password passwd pass pwd secret token key apikey api_key api-key changeme change_me change-me changeit example
    placeholder redacted removed masked hidden none null nil true false undefined empty todo tbd test dummy foo bar
    string str text value username user admin root default unknown required optional xxx your yours mypassword
    yourpassword hunter2 dbname host hostname localhost credentials credential
    """.split()
)
_WRAPPED = re.compile(r"^(?:<[^>]*>|\$\{.*|\{\{?.*|\$\(.*|%[\w.]+%|\$[A-Za-z_]\w*|\[[^\]]*\]|@@?\w+@?|#\{.*|__\w+__)$")
_CODE = re.compile(r"^(?:[A-Za-z_]{2,20}(?:\.|->|::)){1,5}[A-Za-z_]{2,30}[;,)]?$|[A-Za-z_][\w.]*\(|\w\[[\"'\w]+\]?")
_YOURS = re.compile(
    r"\b(?:your|my|the|insert|enter|replace|example|sample|placeholder|redacted|goes[-_ ]here)(?:[-_ ]|$)",
    re.IGNORECASE,
)


def is_placeholder(value: str) -> bool:
    """Whether a value only marks the place of a secret."""
    bare = value.strip("\"'`;,。，； ")
    low = bare.lower()
    if not bare or low in _STAND_INS or low in _DOCUMENTED:
        return True
    if _WRAPPED.match(bare) or _YOURS.search(bare):
        return True
    if "..." in bare or "…" in bare or "***" in bare:
        return True
    letters = [c for c in low if c.isalnum()]
    # One character over and over: xxxx, 0000, ••••; an alphabet that carries nothing.
    return not letters or max(letters.count(c) for c in set(letters)) > 0.6 * len(letters)


def is_code(value: str) -> bool:
    """Whether a value is an expression that fetches the secret: `config.get(...)`, `user.password`."""
    return _CODE.search(value.strip("\"'`;, ")) is not None


def looks_chosen(value: str, shortest: int = 6) -> bool:
    """Whether a word beside `password` looks like one: letters with digits or signs, or mixed case inside."""
    bare = value.strip("\"'`")
    if len(bare) < shortest or is_placeholder(value) or is_code(value):
        return False
    has_letter = any(c.isalpha() for c in bare)
    has_digit = any(c.isdigit() for c in bare)
    inner = bare.strip(string.punctuation)
    has_sign = any(c in string.punctuation for c in inner) or any(c in "!@#$%^&*?+=~_" for c in bare[-2:])
    mixed = bool(re.search(r"[a-z][A-Z]", bare)) and len(bare) >= 10
    if has_letter and (has_digit or mixed):
        return True
    if has_letter and has_sign:
        # A hyphened, dotted or slashed word is a word; one with other signs is not.
        return bool(re.search(r"[!@#$%^&*?+=~|<>]", bare)) or (has_digit and "_" in inner)
    return has_digit and (has_sign or len(bare) >= 8) and not _is_date(bare)


def looks_strong(value: str) -> bool:
    """Whether a value can hardly be anything but a password: a path or a name has no such mix of signs."""
    mixed = any(c.islower() for c in value) and any(c.isupper() for c in value) and any(c.isdigit() for c in value)
    signed = re.search(r"[!@#$^&*]", value) is not None and len(value) >= 7
    said = any(c.isalpha() for c in value) and any(c.isdigit() for c in value)
    plain = re.search(r"[/?=+%-]", value) is None
    return said and plain and (signed or (mixed and len(value) >= 8)) and looks_chosen(value)


def looks_made_up(value: str) -> bool:
    """Whether letters and digits change so often that nobody named a thing so: no date, path, UUID or version."""
    changes = len(re.findall(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])|(?<=[a-z])(?=[A-Z])", value))
    return changes >= 3 and not _is_reference(value)


def _is_reference(value: str) -> bool:
    """A UUID, a cloud's resource name, a time, a path of plain names: what points to a secret, or to something else."""
    return _REFERENCE.fullmatch(value) is not None


_REFERENCE = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|arn:aws[\w:/.-]*|\d{4}-\d\d-\d\d(?:T.*)?|[a-z][a-z0-9_.-]{0,30}(?:/[a-z][a-z0-9_.-]{0,30}){2,}"
)


def looks_random(value: str, shortest: int = 16) -> bool:
    """Whether a value is too irregular to be words: long, with digits among its letters."""
    bare = value.strip("\"'`")
    if len(bare) < shortest or is_placeholder(bare) or is_code(bare) or _is_reference(bare):
        return False
    kinds = sum((any(c.islower() for c in bare), any(c.isupper() for c in bare), any(c.isdigit() for c in bare)))
    return kinds >= 2 and len(set(bare)) >= 8 and any(c.isdigit() for c in bare)


def _is_date(value: str) -> bool:
    return bool(re.fullmatch(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ]\S*)?|\d{1,2}[-/.:]\d{1,2}[-/.:]\d{2,4}", value))
