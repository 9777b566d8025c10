"""Vectors by the model, terms by us."""

from rearview_pipelines.memory import Draft, Memory, SourceKind
from rearview_pipelines.ports import Part, Passage
from rearview_pipelines.text.analyse import joined, terms_of
from rearview_pipelines.write.item import Item, Tools, Work
from rearview_pipelines.write.signing import digest_of_parts


def context_of(draft: Draft) -> str:
    """Who said it and when, in front of a turn's text: it doubles what dense search finds of dialogue."""
    if draft.source.kind is not SourceKind.TURN:
        return ""
    when = ""
    if draft.occurred_at is not None:
        when = f"({draft.occurred_at.day} {draft.occurred_at:%B %Y}) "
    return f"{when}{draft.source.speaker}: " if draft.source.speaker else when


async def embed(work: Work, tools: Tools) -> None:
    """Parts that an edit brought along are kept; those of a model that the store has moved from since are not."""
    name = tools.embedder.name
    waiting = [item for item in work.open if not item.parts or item.model not in ("", name)]
    contexts = [context_of(item.draft) for item in waiting]
    embedded = await tools.embedder.documents(
        [Passage(context, item.draft.text) for context, item in zip(contexts, waiting, strict=True)]
    )
    for item, context, pieces in zip(waiting, contexts, embedded, strict=True):
        item.model = name
        item.parts = tuple(
            Part(
                number,
                piece.start,
                piece.end,
                joined(terms_of(context + item.draft.text[piece.start : piece.end])),
                piece.vector,
                piece.tokens,
                piece.late,
            )
            for number, piece in enumerate(pieces)
        )


def draft_of(memory: Memory) -> Draft:
    """The draft that would make this record again."""
    fields = memory.model_dump(include=set(Draft.model_fields))
    return Draft.model_validate(fields | {"agent": memory.agent or None, "user": memory.user or None})


async def sound_parts(memory: Memory, tools: Tools) -> tuple[Part, ...]:
    """The parts of a verified record: as they are if its digest holds, else made again from its text."""
    parts = (await tools.index.parts(memory.tenant, [memory.id])).get(memory.id, ())
    if digest_of_parts(parts) == memory.derived:
        return parts
    again = Item(memory.tenant, memory.agent, memory.user, draft_of(memory), memory.trust, id=memory.id)
    await embed(Work([again]), tools)
    return again.parts
