"""The embedder of a store that may move to another model: whichever its index is of."""

from collections.abc import Awaitable, Callable, Sequence

from rearview_pipelines.ports import EmbeddedPart, Embedder, Passage, Vector


class FollowingEmbedder:
    """`Embedder` that becomes another one. `find`: the embedder of a model by its name; raises Unavailable."""

    def __init__(self, first: Embedder, find: Callable[[str], Awaitable[Embedder]]) -> None:
        self._now = first
        self._find = find

    @property
    def name(self) -> str:
        return self._now.name

    @property
    def dimension(self) -> int:
        return self._now.dimension

    @property
    def languages(self) -> frozenset[str] | None:
        return self._now.languages

    async def become(self, model: str | None) -> None:
        """Be the embedder of this model; of None: stay."""
        if model is not None and model != self._now.name:
            self._now = await self._find(model)

    async def documents(self, passages: Sequence[Passage]) -> list[tuple[EmbeddedPart, ...]]:
        return await self._now.documents(passages)

    async def query(self, text: str) -> Vector:
        return await self._now.query(text)


async def follow_model(embedder: Embedder, model: str | None) -> bool:
    """Whether the embedder became another one, because the index is of another model."""
    if not isinstance(embedder, FollowingEmbedder) or model is None or embedder.name == model:
        return False
    await embedder.become(model)
    return True
