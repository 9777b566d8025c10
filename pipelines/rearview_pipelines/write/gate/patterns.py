"""What a turn says, by patterns: sentence by sentence, the best one counts. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rearview_pipelines.text.analyse import fold
from rearview_pipelines.text.language import is_cjk
from rearview_pipelines.write.gate import phrases
from rearview_pipelines.write.relate.words import Statement

_SENTENCE = re.compile(r"(?<=[.!?。！？;；\n])\s+|(?<=[。！？；\n])|\s+(?:-{1,2}|—)\s+")
_CLAUSE = re.compile(r"[,，:：;；]\s*|\s+(?:but|because|so that)\s+")
_LEAD = re.compile(
    r"^(?:(?:ok(?:ay)?|so|well|oh|hey|hi|hello|thanks?|thank you|thx|great|perfect|yes|no|nope|yeah|right|agreed then|agreed|good (?:morning|afternoon|evening)|quick one[^,.!]*"
    r"|anyway|and|but|also|ugh|pls|please|after all that|all that|hmm+|actually|tbh|fyi|btw|好的?|嗯+|哦|谢谢|对了?|不对|那么?|另外|其实|哈|是的)[\s,，.!！:：~～]+)+",
    re.IGNORECASE,
)
_ECHO_LEAD = re.compile(
    r"\b(?:as you (?:mentioned|said|told me)(?: before| earlier)?|from what i remember|i (?:remember|recall)(?: that)?|you (?:told me|mentioned|said)(?: that| before)*|right|last time|if i recall correctly|according to (?:my|your) (?:notes|memory))\b"
    r"|我记得|您?你?之前(?:说过|提到|提过)|上次(?:说|提)?|据我所知|对的|没错|您说过"
)
ECHO_SHARE, USER_ECHO_SHARE = 0.5, 0.85
"""Share of a turn's content words that recall had just handed out, from which on it is an echo."""


@dataclass(frozen=True)
class Judged:
    """`keep`: remember it. `reason`: fact, preference, decision, outcome, error; or why not."""

    keep: bool
    reason: str


KEPT = ("error", "decision", "preference", "outcome", "fact")


def by_patterns(text: str, role: str = "user", recalled: Sequence[str] = ()) -> Judged:
    """Judge one turn. `recalled`: texts that recall handed out in this session."""
    plain = fold(text).strip()
    if not any(c.isalnum() for c in plain):
        return Judged(False, "filler")
    if recalled and is_echo(text, recalled, role):
        return Judged(False, "echo")
    if role == "tool":
        return _tool(plain)
    reasons = [_sentence(sentence, role) for sentence in _sentences(plain)]
    kept = [r for r in reasons if r in KEPT]
    if kept:
        return Judged(True, min(kept, key=KEPT.index))
    return Judged(False, next((r for r in reasons if r), "filler"))


def is_echo(text: str, recalled: Sequence[str], role: str = "assistant") -> bool:
    """Whether a turn only says again what it was told: most of its words, no number or name of its own."""
    said = Statement(_ECHO_LEAD.sub(" ", fold(text)))
    words = {w for w in said.words if w not in _PRONOUNS}
    if not words:
        return False
    told = {w for memory in recalled for w in Statement(memory).words} | _PRONOUNS
    new = words - told
    own = any(w[0].isdigit() for w in new) or any(w in new for w in Statement(text).names)
    share = len(words & told) / len(words)
    if role == "user":
        return not own and share >= USER_ECHO_SHARE and not phrases.CHANGED.search(text)
    return not own and share >= ECHO_SHARE and not phrases.CHANGED.search(text)


_PRONOUNS = frozenset("you user she he they i we it solv problem time".split()) | frozenset("您你我他她用户次")


LONGEST = 300
"""Characters that are searched at a time: what no patience of a pattern can make slow."""


def _sentences(text: str) -> list[str]:
    return [piece for s in _SENTENCE.split(text) if s and s.strip() for piece in _pieces(s.strip())]


def _pieces(text: str) -> list[str]:
    return [text[at : at + LONGEST] for at in range(0, len(text), LONGEST)]


def _finds(pattern: re.Pattern[str], text: str) -> bool:
    return any(pattern.search(piece) for line in text.splitlines() for piece in _pieces(line))


_NO_ERROR = re.compile(r"\b0 (?:errors?|failed|failures)\b|exit(?:ed)?(?: with)?(?: code| status)? 0\b")


def _tool(text: str) -> Judged:
    if _finds(phrases.PROGRESS, text) or (len(text) < 24 and _emptiness(text)):
        return Judged(False, "filler")
    if _finds(phrases.ERROR, text) and not _finds(_NO_ERROR, text):
        return Judged(True, "error")
    if _finds(phrases.OUTCOME, text) and (len(text) > 24 or any(c.isdigit() for c in text)):
        return Judged(True, "outcome")
    informative = len(Statement(text).words) >= 4 and (any(c.isdigit() for c in text) or ":" in text)
    return Judged(True, "fact") if informative else Judged(False, "filler")


def _sentence(sentence: str, role: str) -> str:
    """What one sentence is: something to keep, or why it is not."""
    bare = _LEAD.sub("", sentence).strip()
    if not bare:
        return _emptiness(sentence) or "acknowledgement"
    words = len(Statement(bare).words)
    if phrases.QUESTION.search(bare):
        return _clauses(bare, role) or "question"
    empty = _emptiness(bare) or (_emptiness(sentence) if words < 8 else "")
    if empty and not (empty in ("thanks", "filler") and _clauses(bare, role)):
        return empty
    if phrases.REQUEST.search(bare) and not phrases.PREFERENCE.search(bare):
        return "request"
    if empty:
        return empty
    return _informs(bare, words, role) or "smalltalk"


def _emptiness(text: str) -> str:
    stripped = text.strip(" .!?,;:~…。！？，；：～\"'()（）")
    stripped = "".join(c for c in stripped if c.isalnum() or c.isspace() or c in ".,'’-%/=>[]#▓░█…").strip()
    return next((kind for kind, pattern in phrases.EMPTY.items() if pattern.search(stripped)), "")


def _clauses(sentence: str, role: str) -> str:
    """A fact told on the way to a question or after a thank-you: `I moved to Leeds, which GP is near?`"""
    pieces = [p.strip() for p in _CLAUSE.split(sentence) if p.strip()]
    if len(pieces) < 2:
        return ""
    for piece in pieces:
        told = Statement(piece)
        if len(told.words) < 3 or phrases.QUESTION.search(piece) or _emptiness(piece) or phrases.REQUEST.search(piece):
            continue
        reason = _informs(piece, len(told.words), role)
        if reason:
            return reason
    return ""


def _informs(text: str, words: int, role: str) -> str:
    """Why a statement is worth keeping, if it is. Of a user's, any that says something; of an assistant's,
    what it did, found or settled, not what it explains.
    """
    cjk = sum(is_cjk(c) for c in text)
    if words < (3 if cjk else 2) and "allerg" not in text:
        return ""
    for reason, pattern in _REASONS:
        if pattern.search(text) and (role == "user" or reason != "preference"):
            if role == "assistant" and not _is_about_the_work(text):
                continue
            return reason
    if role == "assistant":
        return "fact" if phrases.FACT.search(text) and _is_about_the_work(text) and _has_specifics(text) else ""
    return "fact"


_REASONS = (
    ("error", phrases.ERROR),
    ("preference", phrases.PREFERENCE),
    ("decision", phrases.DECISION),
    ("outcome", phrases.OUTCOME),
)


def _is_about_the_work(text: str) -> bool:
    return phrases.GENERAL.search(text) is None


def _has_specifics(text: str) -> bool:
    return any(c.isdigit() for c in text) or phrases.OURS.search(text) is not None or "/" in text
