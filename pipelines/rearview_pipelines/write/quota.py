"""The tenant's quota: how many memories it may keep, hot and cold together."""

from collections import Counter

from rearview_pipelines.write.item import Tools, Work


async def within_quota(work: Work, tools: Tools) -> None:
    """Reject what would be one memory too many; what replaces another takes its place."""
    if tools.quota is None:
        return
    added: Counter[str] = Counter()
    for item in work.open:
        if item.previous is not None or item.edits:
            continue
        if tools.ledger.head.count(item.tenant) + added[item.tenant] >= tools.quota:
            item.reject("quota")
            for change in [c for c in work.others.values() if c.after.superseded_by == item.id]:
                del work.others[(change.before.tenant, change.before.id)]
        else:
            added[item.tenant] += 1
