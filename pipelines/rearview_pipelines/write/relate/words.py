"""A statement as comparison sees it: content words in order, its subject, its numbers, whether it denies."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

import Stemmer

from rearview_pipelines.text.analyse import fold
from rearview_pipelines.text.language import is_cjk
from rearview_pipelines.write.relate.assertion import asserts

_TOKEN = re.compile(r"\d+(?:[.:,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?|_")
_stem = Stemmer.Stemmer("english").stemWord
_FILLERS = frozenset(
    """a an the of to in on at for with by from and or as that this these those there it its his her hers their theirs my
    our your also just really very quite please so then well actually currently still already both own per via into onto
    user's s""".split()
)
_CJK_FILLERS = frozenset("的了呢吧啊呀嘛着地得就都也很是在，。！？、；：“”‘’（）个这那其把将于为与和跟被给所之")
NEGATORS = frozenset("not no never cannot without none nor neither n't".split())
_CJK_NEGATORS = frozenset("不没無无未别勿非")
_SYNONYMS = {
    "enjoy": "like", "love": "like", "favour": "prefer", "favor": "prefer", "big": "larg", "huge": "larg", "begin": "start",
    "commenc": "start", "purchas": "buy", "bought": "buy", "telephon": "phone", "mobil": "phone", "requir": "need",
    "utilis": "use", "utiliz": "use", "util": "use", "resid": "live", "colour": "color", "shut": "close", "speak": "talk",
    "hr": "hour", "min": "minut", "sec": "second", "approx": "about", "around": "about", "roughli": "about", "dislik": "hate",
    "come": "have", "has": "have", "had": "have", "have": "have", "favourit": "favorit", "mail": "email", "everi": "each",
    "weekli": "week", "daili": "day", "nightli": "night", "monthli": "month", "employ": "work", "all": "each", "goe": "go", "went": "go", "gone": "go", "taken": "take", "took": "take",
}  # fmt: skip
_VERBS = frozenset(
    _stem(word)
    for word in """is are was were be been am isn't aren't wasn't weren't has have had do does did don't doesn't didn't will
    would can can't could should must may might won't live use run work like love prefer need want take go eat drink drive own
    keep call name start open close cost expire last happen occur leave arrive depart ship bill pay charge meet speak know
    study teach play read write send receive get give make build deploy host store log back support allow require include
    contain hold belong report manage lead serve handle process release cut schedule rotate change move switch migrate rename
    replace stop quit cancel finish end begin visit buy sell rent book reserve stay sleep wake wear grow weigh measure
    suffer enjoy hate avoid reside attend commute travel fly train coach sing cook bake return queue publish expose listen
    point map render show display hang sit stand lie face cover treat prescribe weigh earn pay save invest order deliver
    accept reject expect assume follow lead sign approve review test check monitor track collect feed walk drop pick bring
    hand put kept told said made seems becomes became plan agree decide offer provide produce create generate compile
    install configure set cache encrypt sync copy print scan upload download export import parse validate join host""".split()
)
_CJK_VERBS = (
    "改用 改到 改成 改为 换成 换到 搬到 搬去 调到 调整 迁到 升级 不再 不会 不吃 不用 没有 已经 住在 住 用 使用 喜欢 喜爱 爱 是 在 有 叫 会 说 定 设 放 吃 喝 "
    "每天 每周 每月 每年 支持 保留 需要 要 对 从 把 将 由 归 属于 负责 去 来 上 开 关 买 卖 养 做 写 记 看 学 教 穿 睡 起 付 收 给 换 改 搬 取消 停止 停用 运行 部署 采用"
).split()  # fmt: skip


_PAST = re.compile(
    r"\b(?:(?!need|speed|feed|seed|bed|red|shed|hundred)[a-z]{2,}ed|bought|broke|went|met|took|wrote|made|sent|had|sold|found|lost|won|paid|built|caught"
    r"|drove|flew|gave|got|held|left|ran|said|saw|spoke|spent|told|wore|began|came|fell|chose|taught|brought|ate|drank|hung|swam)\b"
)
_STATES = re.compile(r"\b(?:is|are|was|were|be|been|has|have|will|can|may|must|should|does|do)\b")
_STILL = frozenset("used lived preferred needed liked loved wanted named called located based".split())


def _tokens(folded: str) -> list[str]:
    if folded.isascii():
        return _TOKEN.findall(folded.replace("-", " "))
    out: list[str] = []
    for run in _TOKEN.findall(folded.replace("-", " ")):
        if any(is_cjk(c) for c in run):
            piece = ""
            for char in run:
                if is_cjk(char):
                    if piece:
                        out.append(piece)
                        piece = ""
                    out.append(char)
                else:
                    piece += char
            if piece:
                out.append(piece)
        else:
            out.append(run)
    return out


def _content(token: str) -> str:
    if token[0].isdigit():
        return token.replace(",", "")
    if is_cjk(token[0]):
        return token
    word = token.replace("’", "'").removesuffix("'s")
    stem: str = _stem(word)
    return _SYNONYMS.get(stem, stem)


@dataclass(frozen=True)
class Statement:
    """`text` as written; everything else follows from it."""

    text: str

    @cached_property
    def folded(self) -> str:
        return re.sub(r"\b(\w+)n't\b", r"\1 not", re.sub(r"\bcan't\b|\bcannot\b", "can not", fold(self.text)))

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        return tuple(_tokens(self.folded))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Content words in order: stems, numbers, Han characters; no fillers, no negators."""
        kept = (t for t in _without_perfect(self.tokens) if not _is_filler(t) and not _negates(t))
        return tuple(
            w for t in kept if (w := _content(t)) and w not in ("do", "doe", "did", "be", "is", "are", "was", "were")
        )

    @cached_property
    def bag(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        return tuple(sorted(w for w in self.words if w[0].isdigit()))

    @cached_property
    def denies(self) -> bool:
        return sum(_negates(t) for t in self.tokens) % 2 == 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Capitalised words in order, a sentence's first one aside, as they read folded."""
        return tuple(_content(fold(m[1])) for m in re.finditer(r"(?<![.!?]\s)(?<!^)\b([A-Z][\w'’-]+)", self.text))

    @cached_property
    def subject(self) -> frozenset[str]:
        """Content words before the first verb; empty where none is found."""
        return frozenset(self.words_before(self._verb_at()))

    @cached_property
    def states(self) -> bool:
        """Whether something is said of something: there is a verb, or a name and a value."""
        return self._verb_at() is not None or re.search(r"\w[:：=]\s*\S", self.folded) is not None

    @cached_property
    def is_event(self) -> bool:
        """Whether it tells of something that happened: a simple past is over by itself and never ends or is ended."""
        at = self._verb_at()
        if at is None or self.is_chinese:
            match = _PAST.search(self.folded) if not self.is_chinese else None
            return match is not None and not _STATES.search(self.folded)
        verb = re.match(r"[^\W\d_]+", self.folded[at:])
        return verb is not None and _PAST.fullmatch(verb[0]) is not None and verb[0] not in _STILL

    @cached_property
    def asserts(self) -> bool:
        """Whether it says that something is so: no question, plan, condition, hearsay or change that did not happen."""
        return asserts(self.folded)

    @property
    def is_chinese(self) -> bool:
        return sum(is_cjk(t[0]) for t in self.tokens) * 2 > len(self.tokens)

    def words_before(self, at: int | None) -> tuple[str, ...]:
        return () if at is None else Statement(self.folded[:at]).words

    def _verb_at(self) -> int | None:
        if self.is_chinese:
            found = [i for verb in _CJK_VERBS if (i := self.folded.find(verb)) > 0]
            return min(found, default=None)
        for match in re.finditer(r"[^\W\d_]+(?:['’][^\W\d_]+)?", self.folded):
            if (
                match.start()
                and _stem(match[0]) in _VERBS
                and not all(map(_is_filler, _tokens(self.folded[: match.start()])))
            ):
                return match.start()
        return None


def _without_perfect(tokens: tuple[str, ...]) -> list[str]:
    """`has moved` says what `moved` says."""
    pairs = zip(tokens, [*tokens[1:], ""], strict=False)
    return [
        t for t, n in pairs if not (t in ("has", "have", "had") and (n.endswith(("ed", "en", "wn")) or n == "been"))
    ]


@lru_cache(maxsize=20_000)
def statement(text: str) -> Statement:
    """The statement of a text; what was once read of it is kept."""
    return Statement(text)


def is_verb(word: str) -> bool:
    """Whether a content word is one of the verbs that facts are told with."""
    return (
        word in _VERBS
        or word in "住用有叫会说定设放吃喝支需要对从由归去来上开关买卖养做写记看学教穿睡起付收换改搬取停运"
    )


def _is_filler(token: str) -> bool:
    return token in _FILLERS or token in _CJK_FILLERS


def _negates(token: str) -> bool:
    return token in NEGATORS or token in _CJK_NEGATORS
