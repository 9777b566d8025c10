"""Secrets that a word beside them gives away: assignments, options of commands, prose in English and Chinese."""

import re
from collections.abc import Callable, Iterator

from rearview_pipelines.privacy.secrets.placeholders import (
    is_code,
    is_placeholder,
    looks_chosen,
    looks_made_up,
    looks_random,
    looks_strong,
)
from rearview_pipelines.privacy.spans import Span

_PASSWORD = r"(?:pass(?:word|wd|phrase|code)|(?<![A-Za-z])pass(?![a-z])|pwd|passwort|contrase[nñ]a|mot de passe)"
_TOKEN = (
    r"(?:api[ _-]?(?:key|token|secret)|access[ _-]?(?:key|token)(?:[ _-]?secret)?|auth[ _-]?token|secret(?:[ _-]?(?:access)?[ _-]?key)?"
    r"|client[ _-]?secret|private[ _-]?(?:key|token)|signing[ _-]?(?:key|secret)|encryption[ _-]?key|refresh[ _-]?token"
    r"|bearer[ _-]?token|session[ _-]?token|webhook[ _-]?secret|app[ _-]?secret|consumer[ _-]?secret|license[ _-]?key|token|credentials?)"
)
_QUOTE = r"[\"'`“”‘’「]"
_VALUE = r"([^\s\"'`,;，。；、！”’」<>()]{5,200})"
_QUOTED = r"[\"'`“‘「]([^\"'`”’」\n]{4,200})[\"'`”’」]"
_EITHER = rf"(?:{_QUOTED}|{_VALUE})"

_ASSIGNED_PASSWORD = re.compile(
    rf"(?<![A-Za-z])[\w.-]{{0,40}}?{_PASSWORD}[\w-]{{0,12}}{_QUOTE}?\s{{0,3}}(?:=>|:=|=|:|：|＝)\s{{0,3}}{_EITHER}",
    re.IGNORECASE,
)
_ASSIGNED_TOKEN = re.compile(
    rf"(?<![A-Za-z])[\w.-]{{0,40}}?{_TOKEN}[\w-]{{0,12}}{_QUOTE}?\s{{0,3}}(?:=>|:=|=|:|：|＝)\s{{0,3}}{_EITHER}",
    re.IGNORECASE,
)
_XML = re.compile(
    rf"(?:key|name|id)=\"[\w.-]*(?:{_PASSWORD}|{_TOKEN})[\w.-]*\"\s+value=\"([^\"\n]{{4,200}})\"|<[\w:.-]*(?:{_PASSWORD}|secret|token)[\w:.-]*>([^<\n]{{4,200}})</",
    re.IGNORECASE,
)
_OPTION = re.compile(
    rf"(?:\bsshpass\s+-p\s*|--(?:password|passwd|pass|token|api-key|secret|auth-token)[= ]|\b(?:mysql|mysqldump|mariadb)\b[^\n]{{0,60}}?\s-p(?=\S)"
    rf"|\brequirepass\s+|\bidentified\s+by\s+|\bwith\s+password\s+|\bpassword\s+(?=')){_EITHER}",
    re.IGNORECASE,
)
_CURL_USER = re.compile(
    rf"\bcurl\b[^\n]{{0,120}}?\s(?:-u|--user)[= ]?{_QUOTE}?[^\s:\"']{{1,80}}:([^\s\"']{{4,120}})", re.IGNORECASE
)
_CONNECTION = re.compile(r"(?:;|\b)(?:password|pwd)\s?=\s?([^;\"'\s]{4,120})(?:;|$|\")", re.IGNORECASE)
_FOR = r"\s+(?:for|of|to|on|at|für|de|del|pour)\s+[\w.@/-]+(?:\s+[\w.@/-]+){0,5}?"
_IS = (
    r"(?:\s+(?:is now |is |was |has been |got )?(?:changed|set|reset|updated|rotated) to\s+"
    r"|\s+(?:is|was|are|ist|lautet|es|est|è)(?:\s+now)?\s+|\s*(?:\([^)\n]{1,30}\)\s*)?(?:[:=]|->|→|=>)\s*)"
)
_SAID = re.compile(rf"\b{_PASSWORD}\b(?:{_FOR})?{_IS}{_EITHER}", re.IGNORECASE)
_BESIDE = re.compile(rf"\b(?:{_PASSWORD}|credentials?)\b[ ,]\s*{_EITHER}", re.IGNORECASE)
_MADE = re.compile(
    rf"\b(?:set|sets|chang\w+|reset|updat\w+|rotat\w+)\s+(?:[\w']+\s+){{0,4}}?{_PASSWORD}(?:{_FOR})?\s+(?:in)?to\s+{_EITHER}",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?:\b(?:credentials?|logins?|log in with|sign in with)\b|登录|登陆|账号|帐号|用户名)\s*(?:are|is|用|为|是|:|：)?\s*"
    r"[A-Za-z][\w.@-]{1,40}\s*[/／|]\s*([^\s\"'`,;，。；、]{6,120})",
    re.IGNORECASE,
)
_PHRASE = re.compile(rf"\bpass ?phrase\b(?:{_FOR})?{_IS}{_QUOTED}", re.IGNORECASE)
_PIN = re.compile(rf"\bPIN(?: code)?(?:{_FOR})?{_IS}(\d{{4,8}})(?!\d|[.:/-]\d)", re.IGNORECASE)
_SAID_TOKEN = re.compile(rf"\b{_TOKEN}\b(?:(?:{_FOR})?{_IS}|\s+){_EITHER}", re.IGNORECASE)
_CHINESE_PIN = re.compile(
    r"(?:密\s?码|口\s?令)(?:现在|已经?)?(?:改|换|设)?(?:成了?|为|是|就是|：|:)\s*(\d{4,12})(?![\dA-Za-z年月日位次天个分秒小.-])"
)
_CHINESE = re.compile(
    r"(?:密\s?码|口\s?令|密\s?钥|私\s?钥|令\s?牌|凭\s?证|访问密钥|密碼|口令码|授权码|暗号)(?:现在|已经?|目前)?(?:改|换|设|设置|更新|重置)?(?:成了?|为|是|就是|：|:|=|＝|→|叫|\s)*\s*"
    r"[\"'`“‘「]?([\x21\x23-\x26\x28-\x2b\x2d-\x3a\x3c-\x7e]{4,200})",
)


_FIRST = re.compile(
    r"pass|pwd|secret|token|key|credential|login|log in|sign in|登[录陆]|[账帐]号|用户名|contrase|mot de|\bpin\b|identified|curl|mysql|mariadb|--|密|口\s?令|令\s?牌|私\s?钥|凭\s?证|授权码|暗号",
    re.IGNORECASE,
)
"""A quick look for any of the words: most texts have none."""


def find(text: str) -> Iterator[Span]:
    if not _FIRST.search(text):
        return
    yield from _valued(_ASSIGNED_PASSWORD, text, "password", looks_chosen)
    yield from _valued(_ASSIGNED_TOKEN, text, "named_token", looks_random)
    yield from _valued(_XML, text, "password", looks_chosen)
    yield from _valued(_OPTION, text, "password", looks_chosen)
    yield from _valued(_CURL_USER, text, "password", looks_chosen)
    yield from _valued(_CONNECTION, text, "connection_string", looks_chosen)
    yield from _valued(_SAID, text, "password", looks_chosen)
    yield from _valued(_BESIDE, text, "password", looks_chosen)
    yield from _valued(_MADE, text, "password", looks_chosen)
    yield from _valued(_PAIR, text, "password", looks_strong)
    yield from _valued(_PHRASE, text, "password", lambda value: len(value) >= 8 and not is_placeholder(value))
    yield from _valued(_PIN, text, "pin", _is_said)
    yield from _valued(_CHINESE_PIN, text, "pin", _is_said)
    yield from _valued(_SAID_TOKEN, text, "named_token", looks_random)
    yield from _valued(_CHINESE, text, "password", looks_chosen)


_FIELD = re.compile(
    r"(?:^|[\W_]|(?<=[a-z]))(?:secret|(?<!next[\W_])(?<!page[\W_])token|api[\W_]?key|access[\W_]?key|private[\W_]?key|signing[\W_]?key"
    r"|authorization|credentials?)$",
    re.IGNORECASE,
)
_PASSWORD_FIELD = re.compile(r"(?:^|[\W_]|(?<=[a-z]))(?:password|passwd|passphrase|pwd)$|^密码$|^口令$", re.IGNORECASE)
_STATES = frozenset(
    "required optional encrypted unchanged disabled enabled forgotten rotated expired managed external protected".split()
)
_SCHEME = re.compile(r"^(?:Bearer|Basic|Token)\s+", re.IGNORECASE)
_SHORTEST_FIELD = 8


def is_field_secret(name: str, value: str) -> bool:
    """Whether a field's name says that its value is a secret: there is no prose around it that could mean another."""
    bare = _SCHEME.sub("", value.strip())
    if len(bare) < _SHORTEST_FIELD or any(c.isspace() for c in bare) or is_placeholder(bare) or is_code(bare):
        return False
    if _PASSWORD_FIELD.search(name):
        return bare.lower() not in _STATES
    return _FIELD.search(name) is not None and looks_made_up(bare)


def _is_said(_: str) -> bool:
    """What is called a PIN and has its form is one."""
    return True


def _valued(pattern: re.Pattern[str], text: str, kind: str, holds: Callable[[str], bool]) -> Iterator[Span]:
    for match in pattern.finditer(text):
        group = next((g for g in range(1, pattern.groups + 1) if match[g] is not None), 0)
        start, end = match.span(group)
        while end > start and text[end - 1] in ".,:)]}":
            end -= 1
        if holds(text[start:end]):
            yield Span(start, end, kind)
