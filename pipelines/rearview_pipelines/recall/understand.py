"""What a query asks for beside its words, without a model: language, exact terms, names, time, intent. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rearview_pipelines.fields import millis
from rearview_pipelines.memory import Kind, Outcome
from rearview_pipelines.recall.temporal import span_of
from rearview_pipelines.text.analyse import fold, terms_of
from rearview_pipelines.text.language import language_of

MAX_TERMS = 64
"""Distinct terms asked for; a query pasted from a document says no more after that."""
MAX_PHRASES = 8
_HEAD = 2000
"""Characters in which intent is looked for: who pastes more asks in the first or the last lines, not in between."""
_QUOTED = re.compile(
    r"\"([^\"\n]{2,200})\"|“([^”\n]{2,200})”|「([^」\n]{2,200})」|『([^』\n]{2,200})』|《([^》\n]{2,200})》|`([^`\n]{2,200})`"
)
_RUN = re.compile(r"[A-Za-z0-9_#@][\w./:#@-]*")
_SIGNS = re.compile(r"[A-Za-z]+\d|\d+[A-Za-z]|_|[a-z][A-Z]|\w[./]\w|[A-Za-z]-\d", re.ASCII)
"""What makes a run of characters a name for something: digits among letters, an underscore, camel case, a path."""
_IDENTIFIER_LENGTH = range(3, 101)
_WHEN = re.compile(
    r"\bwhen\b|\bhow long ago\b|\bwhat (?:date|day|month|year|time)\b|\bwhich (?:day|month|year|date)\b|什么时候|何时|哪[一]?[天年月]|几[月号]|多久"
)
_RECENT = re.compile(
    r"\b(?:latest|most recent(?:ly)?|newest|recently|currently|current|these days|last time|so far|nowadays)\b|最近|最新|目前|现在|上次|上一次|近来"
)
_POPULAR = re.compile(
    r"\b(?:most (?:often|used|common|popular|frequently)|used (?:the )?most|usually|commonly)\b|最常|经常|通常|一般"
)
_RELATED = re.compile(
    r"\b(?:before that|after that|led to|lead up|follow(?:ed|-up)|in reply|context of|because of what|derived from|replaced)\b|之前|之后|后来|接着|前后"
)
_OUTCOMES = (
    (
        Outcome.FAILURE,
        re.compile(
            r"\b(?:fail(?:ed|ure|s|ing)?|went wrong|broke|crash(?:ed)?|didn't work|did not work)\b|失败|出错|没成功|崩溃"
        ),
    ),
    (
        Outcome.SUCCESS,
        re.compile(r"\b(?:worked|succeed(?:ed)?|success(?:ful|fully)?|solved|fixed it)\b|成功|解决了|搞定"),
    ),
)
_KINDS = (
    (Kind.PREFERENCE, re.compile(r"\b(?:prefers?|preferences?|preferred|favou?rite|likes?)\b|喜欢|偏好|偏爱")),
    (Kind.DECISION, re.compile(r"\b(?:decide[ds]?|decisions?|agreed|chose)\b|决定|选定|商定")),
    (Kind.ERROR, re.compile(r"\b(?:errors?|exceptions?|stack ?trace|bugs?)\b|报错|错误|异常")),
    (Kind.RULE, re.compile(r"\b(?:rules?|guidelines?|polic(?:y|ies)|conventions?)\b|规则|规范|约定")),
)  # fmt: skip


@dataclass(frozen=True)
class Understood:
    """`terms`: analysed, without repeats. `phrases`: folded, to stand literally in a text. `span`: [start, end) in
    milliseconds, where the query names a time. `words`: whether it holds any word at all.
    """

    language: str
    terms: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    when: bool = False
    span: tuple[int, int] | None = None
    recent: bool = False
    popular: bool = False
    related: bool = False
    outcome: Outcome | None = None
    kinds: frozenset[Kind] = frozenset()
    words: bool = True
    folded: str = ""


def understand(query: str, now: datetime, zone: str) -> Understood:
    head = query[:_HEAD]
    folded = fold(head)
    span = span_of(folded, now, zone)
    quoted = [next(g for g in m.groups() if g) for m in _QUOTED.finditer(head)]
    phrases = [fold(p).strip() for p in (*quoted, *_identifiers(head))]
    return Understood(
        language=language_of(query),
        terms=tuple(dict.fromkeys(terms_of(query)))[:MAX_TERMS],
        phrases=tuple(dict.fromkeys(p for p in phrases if p))[:MAX_PHRASES],
        when=_WHEN.search(folded) is not None,
        span=(millis(span[0]), millis(span[1])) if span else None,
        recent=_RECENT.search(folded) is not None,
        popular=_POPULAR.search(folded) is not None,
        related=_RELATED.search(folded) is not None,
        outcome=next((outcome for outcome, words in _OUTCOMES if words.search(folded)), None),
        kinds=frozenset(kind for kind, words in _KINDS if words.search(folded)),
        words=any(c.isalnum() for c in query),
        folded=folded,
    )


def _identifiers(text: str) -> list[str]:
    runs = (run.rstrip(".:/#@-") for run in _RUN.findall(text))
    return [r for r in runs if len(r) in _IDENTIFIER_LENGTH and any(c.isalpha() for c in r) and _SIGNS.search(r)]


def named(speakers: Sequence[str], folded: str) -> frozenset[int]:
    """Which of the folded names a folded query mentions, by the whole name or its first word."""
    found = set()
    for number, name in enumerate(speakers):
        first = name.split()[0] if name else ""
        if any(len(n) > 1 and n in folded and _stands(n, folded) for n in (name, first)):
            found.add(number)
    return frozenset(found)


def _stands(name: str, folded: str) -> bool:
    """As a word of its own; Chinese has none."""
    if not name.isascii():
        return True
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", folded) is not None
