"""The collection of a store: made by its writer, waited for by everyone else, tied to one embedding model.

Its name is an alias. What it stands for is a generation: no store of ours gives back the bytes of what was deleted,
so now and then what is live is copied to a fresh one, the alias is moved, and the old one is dropped.
"""

import json
import logging
import time
from dataclasses import dataclass
from typing import Any

import grpc
from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

from rearview_pipelines.errors import SetupError, Unavailable
from rearview_pipelines.stores import schema

log = logging.getLogger(__name__)

COLLECTION = "rearview_memories"
GENERATION = "rearview_g"
_NOTE = "rearview.note"
CHANNEL = {"grpc.keepalive_time_ms": 300_000}
"""pymilvus pings every 10 s, which Milvus Lite's server answers by hanging up (ENHANCE_YOUR_CALM); no
gRPC server minds one in 5 minutes."""
_OTHERS_SECONDS = 60.0
"""How long to wait for the writer to make the collection."""


@dataclass(frozen=True)
class Live:
    """What the alias stands for: the collection, the model that its vectors are of, whether it finds words."""

    name: str
    model: str
    dimension: int
    keyword: bool


def prepare(uri: str, token: str, model: str, dimension: int, timeout: float, create: bool) -> Live:
    """Make or check the collection, load it; answers what it is. Blocking.

    Without `create` it is waited for. `model` of "": whichever it was made with. Raises SetupError if it was made
    with another model, Unavailable if nothing answers.
    """
    try:
        client = MilvusClient(uri, token=token, timeout=timeout, grpc_options=CHANNEL)
        try:
            if client.has_collection(COLLECTION):
                _check(client, model, dimension)
            elif create:
                _begin(client, model, dimension)
            else:
                _await(client, model, dimension)
            return live(client)
        finally:
            client.close()
    except (MilvusException, grpc.RpcError) as error:
        raise Unavailable(f"Milvus does not answer as it should: {type(error).__name__}") from error


def _await(client: MilvusClient, model: str, dimension: int) -> bool:
    end = time.monotonic() + _OTHERS_SECONDS
    while not (client.has_collection(COLLECTION) and client.list_indexes(COLLECTION)):
        if time.monotonic() > end:
            raise Unavailable("the writer has not made the collection yet")
        time.sleep(0.2)
    return _check(client, model, dimension)


def _begin(client: MilvusClient, model: str, dimension: int) -> bool:
    """The first generation, or the next after a crash that left one without the alias."""
    name = next_generation(client)
    keyword = create_generation(client, name, model, dimension)
    try:
        client.create_alias(name, COLLECTION)
    except MilvusException:
        client.drop_collection(name)
        if not client.has_collection(COLLECTION):  # else another was quicker
            raise
        return _check(client, model, dimension)
    return keyword


def live(client: MilvusClient) -> Live:
    """What the alias stands for now, loaded."""
    name = current_generation(client)
    client.load_collection(name)
    note = note_of(client, name)
    return Live(name, str(note["model"]), int(note["dimension"]), bool(note["keyword"]))


def look_up(uri: str, token: str, timeout: float) -> Live:
    """What the alias stands for now. Blocking. Raises Unavailable."""
    try:
        client = MilvusClient(uri, token=token, timeout=timeout, grpc_options=CHANNEL)
        try:
            return live(client)
        finally:
            client.close()
    except (MilvusException, grpc.RpcError) as error:
        raise Unavailable(f"Milvus does not answer as it should: {type(error).__name__}") from error


def generations(client: MilvusClient) -> list[str]:
    """Names of ours, in order of their age."""
    names = [n for n in client.list_collections() if n.startswith(GENERATION) and n[len(GENERATION) :].isdigit()]
    return sorted(names, key=lambda name: int(name[len(GENERATION) :]))


def current_generation(client: MilvusClient) -> str:
    """What the alias stands for."""
    return str(client.describe_alias(COLLECTION)["collection_name"])


def next_generation(client: MilvusClient) -> str:
    names = generations(client)
    return f"{GENERATION}{int(names[-1][len(GENERATION) :]) + 1 if names else 1}"


def create_generation(client: MilvusClient, name: str, model: str, dimension: int) -> bool:
    """With BM25 where the server has it, else without: the keyword route is then off. Answers whether it has."""
    for keyword in (True, False):
        note = {"rearview": schema.SCHEMA_VERSION, "model": model, "dimension": dimension, "keyword": keyword}
        layout = schema.collection_schema(dimension, keyword=keyword, note=json.dumps(note))
        try:
            client.create_collection(
                name,
                schema=layout,
                consistency_level="Bounded",
                properties={_NOTE: json.dumps(note)},
            )
            # Not waited for: an empty collection has nothing to index, and the client sleeps .5 s an index.
            client.create_index(name, schema.index_params(keyword=keyword), sync=False)
        except MilvusException:
            if not keyword:
                raise
            log.warning("this Milvus server takes no BM25 function; the keyword route is off")
            continue
        return keyword
    raise AssertionError("unreachable")


def note_of(client: MilvusClient, name: str) -> dict[str, Any]:
    """What a collection was made for: model, dimension, whether it has the keyword route."""
    described = client.describe_collection(name)
    # Lite keeps properties and drops the description; a server keeps the description.
    note: dict[str, Any] = json.loads(described["description"] or described.get("properties", {}).get(_NOTE) or "{}")
    return note


def _check(client: MilvusClient, model: str, dimension: int) -> bool:
    note = note_of(client, COLLECTION)
    if note.get("rearview") != schema.SCHEMA_VERSION:
        raise SetupError(f"collection {COLLECTION} was made by another version; point REARVIEW_MILVUS_URI elsewhere")
    if model and (note["model"], note["dimension"]) != (model, dimension):
        raise SetupError(
            f"this store was made with the embedding model {note['model']} ({note['dimension']} "
            f"dimensions), not {model} ({dimension}): set REARVIEW_EMBED_MODEL back and run `rearview migrate "
            "MODEL` to move it, or use another REARVIEW_DATA; two models' vectors are never compared"
        )
    return bool(note["keyword"])
