"""Two statements without a word of change between them: the same, or not both true. Pure."""

import re
from difflib import SequenceMatcher

from rearview_pipelines.text.language import is_cjk
from rearview_pipelines.write.relate.words import Statement, is_verb

_MONTHS = frozenset("januari februari march april may june juli august septemb octob novemb decemb".split())
WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun".split())
_MEANINGFUL = frozenset(
    "befor after onli except unless until till when if dure instead most least first last all some half".split()
)
"""Words that change what is said, however small they are."""
_OPPOSITES = tuple(
    frozenset(pair.split("/"))
    for pair in (
        "enabl/disabl on/off open/close allow/forbid allow/ban true/fals left/right north/south east/west up/down am/pm "
        "public/privat manual/automat sync/async vegetarian/omnivor marri/singl activ/inact paid/unpaid win/lose"
    ).split()
)
_ADDITIVE = re.compile(
    r"\b(?:likes?|loves?|enjoys?|hates?|speaks?|knows?|plays?|visited|met|meets?|bought|ate|read|watched|owns?|ha[sd]|have|allergic"
    r"|tried|collects?|uses?|works? with|call with|meeting with|talked|ordered|wrote|fixed|added|saw|attended|learned|learning|studies"
    r"|interested in|wants?|needs?|supports?|includes?|contains?)\b"
    r"|喜欢|喜爱|爱|讨厌|会说|会弹|会|养|有|去过|见|买|吃|喝|看|读|学|用过|用|支持|参加|修|认识|过敏|想|需要|打过|开过|聊"
)
"""Verbs of which a subject may have many: another object contradicts nothing."""
_EVENT = re.compile(
    r"\b(?:had|met|went|visited|called|bought|attended|talked|discussed|released|shipped|fixed)\b|过(?:[^程])|(?:月|日|号).{0,14}了"
)
_NEARLY = 0.8
"""Share of content words that two sayings of one thing have in common, at least."""

_LIGHT = frozenset("user she he they we i you it them him me editor comes come go place thing time all".split())
_NUMBERED = frozenset(
    "order invoic ticket case issu pr bug task job batch build commit patch part shipment flight gate room page chapter"
    " revis ref refer id receipt contract".split()
)
"""Behind these (stems) a number names a thing: another number, another thing."""


def is_same(a: Statement, b: Statement) -> bool:
    """Whether one only says again what the other said: the same numbers, names and denial."""
    if not a.words or not b.words:
        return a.folded.split() == b.folded.split()  # signs only: nothing to compare but themselves
    if a.denies != b.denies or a.numbers != b.numbers:
        return False
    if a.words == b.words:
        return True
    if a.bag == b.bag:
        return _names(a, b) == _names(b, a)
    more, less = (a, b) if len(a.bag) >= len(b.bag) else (b, a)
    extra, missing = more.bag - less.bag, less.bag - more.bag
    if missing:
        return False
    small = len(extra) <= max(1, round((1 - _NEARLY) * len(more.bag)))
    return (
        small
        and not extra & (_MEANINGFUL | set(more.names))
        and not any(w[0].isdigit() for w in extra)
        and _is_light(extra)
    )


def _is_light(words: frozenset[str]) -> bool:
    """Words that add nothing to a statement: one Han character of grammar, a pronoun, `user`."""
    return all(w in _LIGHT or (is_cjk(w[0]) and w in "时间里上中内家已每次被家") for w in words)


def _names(of: Statement, other: Statement) -> tuple[str, ...]:
    """Words that are a name in either, and numbers, in the order that they stand in: line 1 item 0, line 0 item 1."""
    either = set(of.names) | set(other.names)
    return tuple(w for w in of.words if w in either or w[0].isdigit())


def contradicts(a: Statement, b: Statement) -> bool:
    """Whether both cannot be true: denial of the same, or one other value of what has only one."""
    if a.denies != b.denies:
        # `supports Wi-Fi 6` and `does not support Wi-Fi 6`: nothing else may differ.
        return a.bag == b.bag and bool(a.bag)
    if a.bag == b.bag:
        return False
    changed = _changed(a, b)
    if changed is None:
        return False
    at, gone, come = changed
    if a.denies or any(is_verb(w) for w in (*gone, *come) if not is_cjk(w[0])):
        return False  # neither eats pork nor drinks milk; another verb is another fact
    if any({x, y} in _OPPOSITES for x in gone for y in come) and len(gone) == len(come) == 1:
        return True
    kinds = {_kind(w) for w in (*gone, *come)}
    if _ADDITIVE.search(a.folded) and kinds != {"number"}:
        return False
    if a.is_event or b.is_event or _EVENT.search(a.folded) or _EVENT.search(b.folded):
        return False
    typed = {_kind(w) for w in gone} & {_kind(w) for w in come}
    if kinds & {"number", "weekday", "month"} and not typed:
        return False
    if at and a.words[at - 1] in _NUMBERED and all(w.isdigit() and len(w) > 1 for w in (*gone, *come)):
        return False  # order 48213 and order 48214 are two orders
    if not a.states or (not typed & {"number", "weekday", "month"} and not a.subject):
        return False  # a title, a list of words: nothing is said of anything
    return at >= _least_subject(a) and _in_predicate(a, at)


def _changed(a: Statement, b: Statement) -> tuple[int, tuple[str, ...], tuple[str, ...]] | None:
    """(where, what is gone, what came) if exactly one stretch differs and the rest is most of both."""
    blocks = [op for op in SequenceMatcher(None, a.words, b.words, autojunk=False).get_opcodes() if op[0] != "equal"]
    if len(blocks) > 1:  # characters of one Chinese value may match by accident: take the stretch as a whole
        first, last = blocks[0], blocks[-1]
        between = last[1] - first[2]
        if not a.is_chinese or between > 2:
            return None
        blocks = [("replace", first[1], last[2], first[3], last[4])]
    if len(blocks) != 1 or blocks[0][0] != "replace":
        return None
    _, i1, i2, j1, j2 = blocks[0]
    longest = 6 if a.is_chinese else 3
    kept = len(a.words) - (i2 - i1)
    if i2 - i1 > longest or j2 - j1 > longest or kept < max(1, 0.5 * len(a.words)):
        return None
    return i1, a.words[i1:i2], b.words[j1:j2]


def _kind(word: str) -> str:
    if word[0].isdigit() or word in "一二两三四五六七八九十百千零":
        return "number"
    if word in WEEKDAYS:
        return "weekday"
    return "month" if word in _MONTHS else "word"


def _least_subject(a: Statement) -> int:
    return 2 if a.is_chinese else 1


def _in_predicate(a: Statement, at: int) -> bool:
    """Whether the difference stands after the subject: another subject is another fact."""
    subject = a.subject
    if not subject:
        return at >= 0.5 * len(a.words)
    last = max((i for i, w in enumerate(a.words) if w in subject and i < len(subject) + 1), default=0)
    return at > last
