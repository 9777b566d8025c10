"""Embedding models of a process: the one that it is configured with, and one that the store has moved to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rearview_pipelines.errors import InvalidInput, SetupError, Unavailable
from rearview_pipelines.lifecycle.migrate import Migrations
from rearview_pipelines.models.export import cached, is_cached
from rearview_pipelines.models.late import LateEncoder
from rearview_pipelines.models.opening import open_embedder
from rearview_pipelines.ports import Embedder
from rearview_pipelines.stores.milvus import MilvusIndex


class Named(Protocol):
    """What an embedder is, loaded or not."""

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...


@dataclass
class Models:
    """`ModelSource`. `configured`: the embedder of the settings; `late`: folder of late interaction, None for none.

    A model is opened from its exported folder: nothing is converted here, which would take torch.
    """

    configured: Embedder
    migrations: Migrations
    cache: Path
    threads: int
    late: Path | None

    def __post_init__(self) -> None:
        self._opened: dict[str, Embedder] = {}

    async def open_model(self, name: str) -> Embedder:
        if name not in self._opened:
            if not is_cached("embedder", name, self.cache):
                remedy = f"write it first: `rearview models export {name} DIR`, and name DIR"
                raise InvalidInput.one("model", "is not there as ONNX", remedy)
            late = LateEncoder(self.late, self.threads) if self.late is not None else None
            try:
                folder = cached("embedder", name, self.cache)
                self._opened[name] = open_embedder(folder, None, self.threads, late, gentle=True)
            except SetupError as error:
                raise InvalidInput.one("model", "cannot be opened", error.detail) from error
        return self._opened[name]

    async def by_identity(self, identity: str) -> Embedder:
        if self.configured.name == identity:
            return self.configured
        now, moved = await self.migrations.get(), await self.migrations.in_force()
        named = now.model if now is not None and now.to == identity else None
        if named is None and moved is not None and moved.identity == identity:
            named = moved.model
        if named is None:
            raise Unavailable(f"the store is of the model {identity}, which this process does not know")
        return await self.open_model(named)


async def models_of_store(migrations: Migrations, configured: str) -> tuple[str, ...]:
    """Identities that the store may be of: the configured model's, and that of the one it has moved to from there."""
    moved = await migrations.in_force()
    return (configured, moved.identity) if moved is not None and moved.before == configured else (configured,)


async def opened_index(
    uri: str, configured: Named, migrations: Migrations, *, token: str = "", seconds: float = 10.0, create: bool = True
) -> MilvusIndex:
    """The index of a store: of the model that is configured, or of the one that it has moved to from there.

    Raises SetupError for any other.
    """
    allowed = await models_of_store(migrations, configured.name)
    index = await MilvusIndex.open(
        uri,
        model=configured.name if len(allowed) == 1 else "",
        dimension=configured.dimension,
        token=token,
        seconds=seconds,
        create=create,
    )
    if index.model not in allowed:
        raise SetupError(f"this store is of the embedding model {index.model}, not {configured.name}")
    return index
