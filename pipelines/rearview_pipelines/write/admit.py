"""The first stage: whose each memory is, before anything is done with it."""

from collections.abc import Sequence

from rearview_pipelines.memory import Draft, SourceKind, Trust, Visibility
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.write.item import Item


def admit(principal: Principal, drafts: Sequence[Draft]) -> list[Item]:
    """Settle whose each memory is. Raises Forbidden for the whole request: nothing is stored by half."""
    principal.require_writer()
    if any(draft.visibility is Visibility.SHARED for draft in drafts):
        principal.require_share()
    return [
        Item(
            tenant=principal.tenant,
            agent=principal.settle_agent(draft.agent),
            user=principal.settle_user(draft.user),
            draft=draft,
            trust=_trust(draft),
            author=principal.id,
            is_admin=principal.role is Role.ADMIN,
        )
        for draft in drafts
    ]


def _trust(draft: Draft) -> Trust:
    if draft.source.kind is SourceKind.IMPORT:
        return Trust.IMPORTED
    return Trust.OBSERVED if draft.source.kind is SourceKind.TURN else Trust.STATED
