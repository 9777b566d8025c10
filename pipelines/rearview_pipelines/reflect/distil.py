"""Contrasts as rules in words: the clauses that say the condition and the action, as they were told. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rearview_pipelines.reflect.contrast import Contrast, contrasts
from rearview_pipelines.reflect.episodes import Episode, tells_result
from rearview_pipelines.reflect.features import Clause, clauses_of, table
from rearview_pipelines.sessions.shortening import sentences, shortened
from rearview_pipelines.sessions.summary import tags_of
from rearview_pipelines.text.analyse import terms_of
from rearview_pipelines.text.language import language_of

MOST_ERRORS = 5
MOST_SOURCES = 64
_LONGEST = 160
_ALIKE = 0.5
"""Share of the smaller one's terms that two errors have in common."""


@dataclass(frozen=True)
class Lesson:
    """A rule and what follows from it. `sources`: ids of the episodes it rests on; `right` of `seen` bear it out."""

    text: str
    advice: str
    reasoning: str
    sources: tuple[str, ...]
    right: int
    seen: int
    tags: tuple[str, ...] = ()
    name: str = ""

    @property
    def confidence(self) -> float:
        """Laplace's rule of succession: surer with every episode that bears it out."""
        return round((self.right + 1) / (self.seen + 2), 3)


@dataclass
class Distilled:
    """What a reflection finds. `skipped`: reasons why something was left out."""

    lessons: list[Lesson] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    improvements: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def distil(episodes: Sequence[Episode], task_type: str | None) -> Distilled:
    """Rules that episodes show together, none of which one of them states."""
    done = Distilled()
    if not episodes:
        done.skipped["no_episodes"] += 1
        return done
    done.errors = errors_of(episodes)
    if len(episodes) < 2:
        done.skipped["one_episode"] += 1
        return done
    clauses = [clauses_of(episode) for episode in episodes]
    for contrast in contrasts(episodes, task_type):
        lesson = _lesson(contrast, episodes, clauses, task_type)
        if len(lesson.sources) < 2:
            done.skipped["one_source"] += 1
            continue
        done.lessons.append(lesson)
        done.improvements.append(lesson.advice)
    if not done.lessons:
        done.skipped["no_contrast"] += 1
        again = _repeated(episodes, clauses, task_type)
        if again is not None:
            done.lessons.append(again)
    return done


def _repeated(episodes: Sequence[Episode], clauses: Sequence[Sequence[Clause]], task_type: str | None) -> Lesson | None:
    """What most episodes have in common, where nothing tells good from bad: told by the one that says it most fully."""
    _, held = table(episodes, 2)
    of: dict[frozenset[int], list[str]] = {}
    for feature, where in held.items():
        of.setdefault(where, []).append(feature)
    ways = [(where, names) for where, names in of.items() if any(" " in name for name in names)]
    if not ways:
        return None
    where, names = max(ways, key=lambda way: (len(way[0]), len(way[1]), sorted(way[1])))
    feature = "|".join(sorted(names))
    phrase = _phrase(feature, sorted(where), clauses)
    kind = task_type or ""
    if language_of(phrase) == "zh":
        text = f"在{kind}任务中反复出现：{phrase}。" if kind else f"反复出现：{phrase}。"
        reasoning = f"{len(episodes)}次中有{len(where)}次。"
    else:
        text = f"In {kind} tasks, again and again: {phrase}." if kind else f"Again and again: {phrase}."
        reasoning = f"{len(where)} of {len(episodes)} episodes."
    ids = tuple(id_ for at in sorted(where) for id_ in episodes[at].ids)[:MOST_SOURCES]
    return Lesson(text, text, reasoning, ids, len(where), len(episodes), tags_of(phrase), f"again => {feature}"[:200])


def _lesson(
    contrast: Contrast, episodes: Sequence[Episode], clauses: Sequence[Sequence[Clause]], task_type: str | None
) -> Lesson:
    where = contrast.sources
    doing = contrast.without if contrast.avoid else contrast.with_
    action = _phrase(contrast.action, doing, clauses)
    condition = _phrase(contrast.condition, where, clauses) if contrast.condition else ""
    chinese = language_of(" ".join(episodes[at].text for at in where)) == "zh"
    kind = task_type or ""
    well, badly = len(contrast.with_), len(contrast.without)
    if chinese:
        when = f"当{condition}时" if condition else f"在{kind}任务中" if kind else "一般来说"
        text = f"{when}：{'不要' if contrast.avoid else ''}{action}。"
        did = "没有这样做" if contrast.avoid else "这样做了"
        reasoning = f"{well}次{did}都成功，{badly}次相反都失败。"
    else:
        when = f"When {condition}" if condition else f"In {kind} tasks" if kind else "In such tasks"
        text = f"{when}: {'avoid ' if contrast.avoid else ''}{action}."
        did, left = ("without it", "with it") if contrast.avoid else ("with it", "without it")
        reasoning = f"{well} episodes {did} went well, {badly} {left} did not."
    ids = [id_ for at in where for id_ in episodes[at].ids]
    seen = len(where) + len(contrast.against)
    return Lesson(
        text,
        shortened(text, _LONGEST * 2),
        reasoning,
        tuple(ids[:MOST_SOURCES]),
        len(where),
        seen,
        tags_of(f"{condition} {action}"),
        f"{contrast.condition or ''} => {contrast.action}",
    )


def _phrase(features: str | None, where: Sequence[int], clauses: Sequence[Sequence[Clause]]) -> str:
    """The shortest clause that says most of the features, of those that say them."""
    wanted = set((features or "").split("|"))
    found = [
        (-len(wanted & clause.features), clause.is_result, len(clause.text), clause.text)
        for at in where
        for clause in clauses[at]
        if wanted & clause.features
    ]
    if not found:
        return ""
    text = shortened(min(found)[3], _LONGEST)
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def errors_of(episodes: Sequence[Episode]) -> list[str]:
    """What went wrong, the commonest first; what is told alike is told once."""
    told: list[tuple[frozenset[str], str, int]] = []
    for episode in episodes:
        if episode.good is not False:
            continue
        for sentence in _of_failure(episode):
            terms = frozenset(terms_of(sentence))
            same = next((at for at, (held, _, _) in enumerate(told) if _are_alike(held, terms)), None)
            if same is None:
                told.append((terms, shortened(sentence, _LONGEST), 1))
            else:
                held, text, count = told[same]
                told[same] = (held, text, count + 1)
            break  # one an episode: the first that says what went wrong
    told.sort(key=lambda one: -one[2])
    return [text if count == 1 else f"{text} ({count}×)" for _, text, count in told[:MOST_ERRORS]]


def _of_failure(episode: Episode) -> list[str]:
    lines = [sentence for text in episode.texts for sentence in sentences(text)]
    calls = [turn.text for turn in episode.said if turn.role == "tool" and tells_result(turn.text)]
    return [line for line in (*lines, *calls) if tells_result(line)] or lines


def _are_alike(a: frozenset[str], b: frozenset[str]) -> bool:
    return bool(a and b) and len(a & b) / min(len(a), len(b)) >= _ALIKE
