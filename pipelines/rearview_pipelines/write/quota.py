"""The tenant's quota: how many memories it may keep, hot and cold together; its history is not counted."""

from collections import Counter

from rearview_pipelines.ledger.head import KEPT
from rearview_pipelines.receipts import Status
from rearview_pipelines.write.item import Item, Tools, Work

CODE = "quota"


async def within_quota(work: Work, tools: Tools) -> None:
    """Reject what would be one memory too many; what replaces another takes its place."""
    if tools.quota is None:
        return
    # From the beginning after each: what was ended by a rejected one stands then, and takes a place.
    while (item := _one_too_many(work, tools, tools.quota)) is not None:
        _reject(work, item)


def _one_too_many(work: Work, tools: Tools, quota: int) -> Item | None:
    added: Counter[str] = Counter()
    for item in work.open:
        more = _is_new(item) - sum(memory.state in KEPT for memory in item.supersedes)
        if more > 0 and tools.ledger.head.count(item.tenant) + added[item.tenant] + more > quota:
            return item
        added[item.tenant] += more
    return None


def _is_new(item: Item) -> bool:
    """Whether it takes a place that is not taken yet: what a later item of the request ends takes none."""
    taken = item.previous is not None and item.previous.state in KEPT
    return not taken and item.ended_by is None


def _reject(work: Work, item: Item) -> None:
    """Take an item out of its batch, and what was settled by its being there."""
    item.reject(CODE)
    for key, change in list(work.others.items()):
        if change.after.superseded_by == item.id or any(r.id == item.id for r in change.after.related):
            del work.others[key]
    for other in work.items:
        repeats = other.receipt is not None and other.receipt.status is Status.DUPLICATE
        if repeats and other.receipt is not None and other.receipt.id == item.id:
            other.reject(CODE)
        if other.ended_by is item:
            other.ended_by = None
        other.related = [r for r in other.related if r.id != item.id]
        other.contradicts = other.contradicts and any(r.relation == "contradicts" for r in other.related)
