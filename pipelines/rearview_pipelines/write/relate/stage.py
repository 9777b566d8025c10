"""Relate a batch to what is known: confirm, supersede, or set aside as contradicting. Facts only.

Candidates are few: the nearest by vector, the best by keyword, the same key. What decides is
`relate.decide`. Items of one batch are related to each other in their order.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence

from rearview_pipelines.ledger.events import Op
from rearview_pipelines.memory import Draft, Memory, Related, SourceKind, State
from rearview_pipelines.ports import Condition
from rearview_pipelines.write.item import Item, Tools, Work
from rearview_pipelines.write.known import is_sound, stands, waits
from rearview_pipelines.write.records import superseded
from rearview_pipelines.write.relate.decide import Relation, relation
from rearview_pipelines.write.relate.words import statement
from rearview_pipelines.write.scopes import in_scope, same_author, scope_of_item
from rearview_pipelines.write.support import confirmed

CANDIDATES = 6
"""Memories looked at a route."""
IN_BATCH = 12
"""Earlier items of the same request that are looked at."""
SAME_KEY = 200
"""Memories of one key that are looked at: below a namespace, or where none is said, it may be used by many."""
MAX_TERMS = 24
LONGEST = 600
"""Characters of a text that is still one statement; a longer one is a document, which is only itself."""


async def relate(work: Work, tools: Tools) -> None:
    earlier: defaultdict[tuple[object, ...], Earlier] = defaultdict(Earlier)
    for item in work.open:
        if _relates(item):
            scope = (item.tenant, item.agent, item.user, item.draft.namespace, item.draft.visibility)
            _relate_to_batch(item, earlier[scope].near(item))
            if item.receipt is None:
                await _relate_to_known(work, item, tools)
            if item.receipt is None:
                earlier[scope].add(item)
            await asyncio.sleep(0)  # other requests are waiting for this loop


class Earlier:
    """Items of one scope that stand earlier in the batch, found by their words: a batch has 33,000 pairs."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        self._by_key: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, item: Item) -> None:
        if item.draft.key is not None:
            self._by_key[item.draft.key].append(len(self._items))
        for word in _words(item):
            self._by_word[word].append(len(self._items))
        self._items.append(item)

    def near(self, item: Item) -> list[Item]:
        """Those of the same key, and those that share most words; in their order."""
        shared = Counter(at for word in _words(item) for at in self._by_word.get(word, ()))
        places = {at for at, _ in shared.most_common(IN_BATCH)} | set(self._by_key.get(item.draft.key or "", ()))
        return [self._items[at] for at in sorted(places)]


def _words(item: Item) -> frozenset[str]:
    return statement(item.draft.text[:LONGEST]).bag


def _relates(item: Item) -> bool:
    return item.draft.source.kind is not SourceKind.TURN and not item.suspected


async def _relate_to_known(work: Work, item: Item, tools: Tools) -> None:
    now = tools.clock.now()
    for memory in await _candidates(item, tools):
        held = work.now(memory)
        gone = {m.id for m in item.supersedes}
        if held.id in gone or held.id == item.id or not in_scope(held, item) or not stands(held, now):
            continue
        what = _relation(item, held)
        if what is Relation.NONE or not is_sound(memory, tools):
            continue
        if what is Relation.DUPLICATE:
            _confirm(work, item, memory, tools)
            return
        if what is Relation.SUPERSEDES and same_author(held, item) and _began(item.draft, held):
            item.supersedes.append(held)
            work.change(Op.SUPERSEDE, memory, superseded(held, item, now))
        elif what is Relation.CONTRADICTION and held.state is State.ACTIVE:
            _link(work, item, memory, tools)


def _relation(item: Item, held: Memory) -> Relation:
    draft = item.draft
    by_key = draft.key is not None and draft.key == held.key
    if not by_key and (len(draft.text) > LONGEST or len(held.text) > LONGEST):
        return Relation.NONE
    if draft.settled_layer is not held.layer or waits(draft):
        return Relation.SUPERSEDES if by_key else Relation.NONE
    return relation(draft.text, held.text, draft.key, held.key)


def _began(new: Draft, old: Draft | Memory) -> bool:
    """A fact of an earlier time that is told late ends nothing that began after it."""
    mine, theirs = new.valid_from or new.occurred_at, old.valid_from or old.occurred_at
    return mine is None or theirs is None or mine >= theirs


async def of_same_key(item: Item, tools: Tools) -> list[Memory]:
    """Facts of the item's author and scope that stand under its key; the newest first."""
    if item.draft.key is None:
        return []
    where = scope_of_item(item).also(
        Condition("memory_key", "eq", item.draft.key), Condition("agent", "eq", item.agent)
    )
    if item.draft.namespace is not None:
        where = where.also(Condition("namespaces", "has_any", (item.draft.namespace,)))
    ids = [id_ for _, id_ in await tools.index.page(item.tenant, where, None, SAME_KEY)]
    found = await tools.index.get(item.tenant, ids) if ids else {}
    return [found[id_] for id_ in ids if id_ in found and in_scope(found[id_], item)]


async def _candidates(item: Item, tools: Tools) -> list[Memory]:
    where = scope_of_item(item)
    ids: dict[str, None] = {}
    by_key = {memory.id: memory for memory in await of_same_key(item, tools)}
    if len(item.draft.text) <= LONGEST:
        terms = list(dict.fromkeys(item.parts[0].terms.split()))[:MAX_TERMS]
        by_word = await tools.index.keyword(item.tenant, where, terms, CANDIDATES, fresh=True)
        ids.update(dict.fromkeys(match.id for match in by_word))
        by_sense = await tools.index.dense(item.tenant, where, item.parts[0].vector, CANDIDATES, fresh=True)
        ids.update(dict.fromkeys(match.id for match in by_sense))
    found = await tools.index.get(item.tenant, [id_ for id_ in ids if id_ not in by_key])
    return [*by_key.values(), *(found[id_] for id_ in ids if id_ in found)]


def _confirm(work: Work, item: Item, memory: Memory, tools: Tools) -> None:
    """The first stays, one source stronger if this one is independent; nothing is added."""
    held = work.now(memory)
    stronger = confirmed(held, item, tools)
    if stronger is not None:
        work.change(Op.CONFIRM, memory, stronger)
        held = stronger
    item.repeats(held.id, held.version, "near_duplicate")


def _link(work: Work, item: Item, memory: Memory, tools: Tools) -> None:
    """Both stay: the new one waits for somebody to decide, the old one says that it is disputed."""
    held = work.now(memory)
    item.contradicts = True
    item.related.append(Related(id=held.id, relation="contradicts"))
    item.reasons.append("contradiction")
    linked = held.model_copy(
        update={
            "related": (*held.related, Related(id=item.id, relation="contradicts")),
            "version": held.version + 1,
            "updated_at": tools.clock.now(),
        }
    )
    work.change(Op.LINK, memory, linked)


def _relate_to_batch(item: Item, earlier: Sequence[Item]) -> None:
    """What stands earlier in the same request is known by then."""
    for other in earlier:
        if other.ended_by is not None:
            continue  # what stands in its place is earlier in the request too
        draft = other.draft
        by_key = item.draft.key is not None and item.draft.key == draft.key
        if not by_key and max(len(item.draft.text), len(draft.text)) > LONGEST:
            continue
        what = relation(item.draft.text, draft.text, item.draft.key, draft.key)
        if what is Relation.DUPLICATE and draft.settled_layer is item.draft.settled_layer:
            item.repeats(other.id, 1, "near_duplicate")
            return
        if what is Relation.SUPERSEDES and _began(item.draft, draft):
            other.ended_by = item
            item.related.append(Related(id=other.id, relation="supersedes"))
            item.reasons.append("supersedes")
        elif what is Relation.CONTRADICTION:
            item.contradicts = True
            item.related.append(Related(id=other.id, relation="contradicts"))
            other.related.append(Related(id=item.id, relation="contradicts"))
            item.reasons.append("contradiction")
