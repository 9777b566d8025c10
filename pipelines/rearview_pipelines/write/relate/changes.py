"""Words of change: whether a statement says that what another states is over. Pure.

`moved from X to Y`, `no longer`, `was renamed`, 改用, 不再, 从 X 搬到 Y: such a statement ends the one fact that
it names. What names a fact are its nouns: each must be found in the new statement. A fact that only shares a
name has one that is not: the sister in "Ana's sister lives in Berlin", the museum in "works at the tea museum".
"""

import re
from functools import lru_cache
from itertools import pairwise

from rearview_pipelines.text.language import is_cjk
from rearview_pipelines.write.relate.compare import WEEKDAYS, contradicts
from rearview_pipelines.write.relate.words import Statement, is_verb

_CUES = re.compile(
    r"\b(?:no longer|no more|any ?more|any longer|stopp(?:ed|ing)|stops|quits?|gave up|given up|resign\w*|cancel+ed|discontinued|retired"
    r"|drops?|dropped|ended|sold|got rid|is gone|are gone|gone from|has gone|expired|removed|shut down|closed down|phased out|used to"
    r"|dissolved|decommission\w*|did not renew|terminated|grown out|grew out|abandon\w*|ditch\w*|scrapped|abolished|moved?|moving|relocat\w*"
    r"|switch\w*|migrat\w*|chang(?:ed|es|ing)|replac\w*|swap\w*|traded|renam\w*|upgrad\w*|downgrad\w*|reschedul\w*|shifted|rais(?:ed|es|ing)"
    r"|lowered|increased|reduced|bumped|cut (?:from|to)|was cut|were cut|extended|pushed|postpon\w*|brought forward|upped|took over|taken over"
    r"|takes over|handed over|reassign\w*|instead of|rather than|turned|transferred|converted|went from|updated|superseded|left|defunct)\b"
    r"|不再|已经?不|再也不|不用.{0,6}了|停用|停止|停掉|停了|取消|放弃|戒|退出|离开|离职|辞|卖掉|卖了|退订|弃用|废弃|淘汰|下线|关停|换成|换了|换到|换掉|改用|改成|改为|改到|改在"
    r"|搬到|搬去|搬了|搬家|迁到|迁移|调到|调整|转到|转用|转为|升级|升到|降到|降为|更名|改名|接替|接手|取代|替代|推迟|提前到|延长到|涨到|减到|增加到|缩短到|切到|切换|由.{1,12}改|原来.{1,20}现在|no more"
)
_NEW_VALUE = re.compile(
    r"\b(?:to|from|is now|are now|now|by) (?:[a-z]+ ){0,3}[a-z]*\d|(?:到|为|成|至|改|从|在|是)[^,.;，。；]{0,10}[\d一二三四五六七八九十]"
)
"""A number that the change leads to. `ticket 17` behind a comma is another ticket, not another value."""
_TO = re.compile(
    r"\b(?<!used )(?:to|into|onto|with) (?:(?!\b(?:instead|rather|from|not|after|because)\b)[^.,;]){1,60}"
    r"|(?:到|成|为|改用|换用)[^,.;，。；]{1,20}"
)
_DENIES = re.compile(r"\b(?:no longer|no more|any ?more|any longer)\b|不再|再也不")
_NOW = re.compile(
    r"\b(?:now|as of|from now on|since|effective|nowadays|these days|updated to|changed to|moved to|switched to|rescheduled to|set to|became|becomes)\b"
    r"|现在|目前|如今|改为|改成|改到|换成|调整为|调到|已改|更新为|改用|搬到|搬去|迁到|升级到|升到|降到|推迟到|提前到|换到"
)
_ADDS = re.compile(r"\b(?:too|also|as well|additionally|another|besides|in addition)\b|也|还|另外|同时|又")
_MOVES = re.compile(r"\b(?:moved?|moving|relocat\w*)\b|搬|迁")
_STAYS = re.compile(r"\b(?:live[sd]?|living|resid\w+|based|home|stays?|flat|apartment)\b|住|家")
_QUITS = re.compile(r"\b(?:quits?|resign\w*|retired|left|no longer (?:works?|teach\w*|employed))\b|辞|离职|离开|退休")
_WORKS = re.compile(
    r"\b(?:works?|working|job|employed|teach\w*|nurse|engineer|position|volunteer\w*|stud(?:y|ies|ying)|course|member)\b|工作|上班|当|任职|任教|就职|读|念|学"
)
_BACK = re.compile(r"\b(?:his|her|their)\b")
_KIN = frozenset(
    """wife husband sister brother cousin mother father mum dad son daughter uncl aunt niec nephew grandmoth grandfath
    grandma grandpa friend neighbour neighbor colleagu boss partner flatmat roommat girlfriend boyfriend parent child kid
    dog cat hamster bird fish rabbit hors twin landlord tenant""".split()
)
_CJK_KIN = re.compile(
    r"姐姐|妹妹|哥哥|弟弟|妈妈|爸爸|母亲|父亲|儿子|女儿|妻子|丈夫|老婆|老公|表[哥姐弟妹]|堂[哥姐弟妹]|朋友|同事|邻居|狗|猫|奶奶|爷爷|外婆|外公|室友|侄|叔|姨|舅|姑"
)
_GENERIC = frozenset(
    """each morn even afternoon night day week month year last now new old time everi daili next sinc ago today yesterday
    tomorrow spring summer autumn winter call name start hour am pm utc default current main usual regular servic system
    server cluster our thing part place one two three about current still sunday monday tuesday
    wednesday thursday friday saturday januari februari april june juli august septemb octob novemb decemb altogeth
    instead whole set plan can reach get longer more out back over off where""".split()
) | frozenset(
    "安排每天早晚上午下周月年的了现在已经时间日期址是定设在两片叫包个位名次张把条台辆份家当里内中外所以后前旧新原来说医生们我你他她它"
)
_LEAST = 0.75
"""Share of an old fact's nouns that have to be named where not all are."""


@lru_cache(maxsize=2000)
def has_cue(new: Statement) -> bool:
    """Whether a statement has a word of change in it at all."""
    return _CUES.search(new.folded) is not None or _NOW.search(new.folded) is not None


def ends(new: Statement, old: Statement) -> bool:
    """Whether `new` says that what `old` states is over."""
    if (old.denies != new.denies and old.denies) or old.is_event:
        return False
    cue = _CUES.search(new.folded)
    if _DENIES.search(new.folded) and (new.bag & WEEKDAYS) - old.bag:
        return False  # `no longer served on Sundays`: it is served on all other days
    if cue is not None and not _ADDS.search(new.folded) and _names(new, old):
        return True
    return _NOW.search(new.folded) is not None and not _NOW.search(old.folded) and _is_updated(new, old)


def _names(new: Statement, old: Statement) -> bool:
    """Whether the new statement names the old fact: its nouns, all of them, or nearly all and nobody else's."""
    told, said = _nouns(old.bag), new.bag
    if not told:
        return False
    missing = told - said
    covered = told & said
    subject = _nouns(old.subject)
    if _is_anothers(new, old, missing) or _is_a_part(new, old) or not covered:
        return False
    if missing & subject and _strangers(new, told):
        return False
    numbers = frozenset(w for w in missing if w[0].isdigit())
    if numbers:
        if not _is_changed_value(new, old, numbers):
            return False
        missing -= numbers
    elif _is_new_value(new, told - subject):
        return False  # `moved to Postgres` does not end what else is said of Postgres
    if not missing and covered <= subject and not _is_of_predicate(new, old):
        return False  # `Alpha was renamed` does not end that Alpha ships in June
    if not missing:
        return len(covered) >= 2 or old.bag <= said
    if missing & subject and not old.is_chinese and (missing & set(old.names) or len(covered) < 3):
        return False
    share = len(covered) / (len(covered) + len(missing))
    if old.is_chinese:
        least = 0.5 if _of_one_class(new, old) else 0.7
        return len(covered) >= 3 and share >= least and _runs(new, covered)
    if _of_one_class(new, old) and len(covered) >= 2 and not missing & subject:
        return True
    same_number = any(w[0].isdigit() for w in covered)
    if same_number and share > 0.6 and not missing & set(old.names):
        return True
    clause = _nouns(new.bag) - {"manual"}
    told_all = len(subject) >= 2 and subject <= said and clause <= told
    return told_all or (share >= _LEAST and len(covered) >= 3 and not missing & set(old.names))


def _is_of_predicate(new: Statement, old: Statement) -> bool:
    """Whether a statement that names only the old fact's subject speaks of what the fact says of it."""
    predicate = old.bag - old.subject
    return bool(predicate & new.bag) or not predicate or _of_one_class(new, old)


def _is_changed_value(new: Statement, old: Statement, numbers: frozenset[str]) -> bool:
    """Whether numbers that only the old fact has are the value that changed, not the name of another thing."""
    match = _NEW_VALUE.search(new.folded)
    if match is None:
        return all(":" in n for n in numbers)
    led_to = Statement(match[0] + new.folded[match.end() : match.end() + 6]).bag
    for number in numbers:
        before = _before(old, number)
        other = next((w for p, w in pairwise(new.words) if p == before and w[0].isdigit()), None)
        if other is not None and other not in led_to:
            return False  # ticket 17 and ticket 18
    return True


def _before(statement: Statement, number: str) -> str:
    at = statement.words.index(number)
    return statement.words[at - 1] if at else ""


def _is_new_value(new: Statement, named: frozenset[str]) -> bool:
    """Whether everything named stands only behind the `to` of the change."""
    match = _TO.search(new.folded)
    if match is None or not named:
        return False
    rest = Statement(new.folded[: match.start()] + " " + new.folded[match.end() :]).bag
    return named <= Statement(match[0]).bag and not named & rest


def _strangers(new: Statement, told: frozenset[str]) -> bool:
    """Whether somebody or something else stands before the word of change."""
    cue = _CUES.search(new.folded)
    lead = _nouns(Statement(new.folded[: cue.start()] if cue else "").bag) - told
    return len(lead) >= (2 if new.is_chinese else 1)


def _is_anothers(new: Statement, old: Statement, missing: frozenset[str]) -> bool:
    """Whether one of the two speaks of somebody's kin, pet or team and the other does not."""
    if missing & _KIN:
        return True
    if _nouns(new.bag) & _KIN - old.bag:
        return True
    if old.is_chinese and new.is_chinese:
        return bool(set(_CJK_KIN.findall(old.folded)) ^ set(_CJK_KIN.findall(new.folded)))
    return False


def _is_a_part(new: Statement, old: Statement) -> bool:
    """English: `Silvio's school` and `the test database` are not Silvio and the production database."""
    owners = frozenset() if _BACK.search(new.folded) else _owners(new)  # `Marek's doctor changed his dose` is of Marek
    if any(w not in old.bag for name, w in pairwise(new.words) if f"{name}'s" in owners and name in old.bag):
        return True
    heads = old.subject & new.bag
    return any(
        was != now and is_verb(now) and was in old.subject
        for w in heads
        for was, now in [(_before(old, w), _before(new, w))]
        if was and now and was not in new.bag and now not in old.bag
    )


def _owners(statement: Statement) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+'s", statement.folded.replace("’", "'")))


def _of_one_class(new: Statement, old: Statement) -> bool:
    """Moving ends where somebody lives, quitting where they work: the rest of such a fact need not be said."""
    return bool(
        (_MOVES.search(new.folded) and _STAYS.search(old.folded))
        or (_QUITS.search(new.folded) and _WORKS.search(old.folded))
    )


def _runs(new: Statement, covered: frozenset[str]) -> bool:
    """Chinese: shared characters say something only where they stand together."""
    return re.search(f"[{''.join(sorted(c for c in covered if is_cjk(c[0])))}]{{2,}}", new.folded) is not None or any(
        not is_cjk(c[0]) for c in covered
    )


def _is_updated(new: Statement, old: Statement) -> bool:
    """`X is now Y` against `X is Z`: the same subject, one other value."""
    plain = Statement(_NOW.sub(" ", new.folded))
    if contradicts(old, plain):
        return True
    match = _NOW.search(new.folded)
    if not new.is_chinese or match is None or match.start() < 2:
        return False
    lead = _nouns(Statement(new.folded[: match.start()]).bag)
    value = Statement(new.folded[match.end() :])
    return len(lead) >= 2 and lead <= old.bag and _has_number(value) and _has_number(old)


def _has_number(statement: Statement) -> bool:
    return any(w[0].isdigit() or w in "一二两三四五六七八九十" for w in statement.words)


def _nouns(words: frozenset[str]) -> frozenset[str]:
    """Content words that name something: no verbs, nothing that any statement may have."""
    return frozenset(w for w in words if not is_verb(w) and w not in _GENERIC)
