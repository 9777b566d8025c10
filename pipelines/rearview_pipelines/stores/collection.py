"""The collection of a store: made by its writer, waited for by everyone else, tied to one embedding model."""

import json
import logging
import time

import grpc
from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

from rearview_pipelines.errors import SetupError, Unavailable
from rearview_pipelines.stores import schema

log = logging.getLogger(__name__)

COLLECTION = "rearview_memories"
_NOTE = "rearview.note"
CHANNEL = {"grpc.keepalive_time_ms": 300_000}
"""pymilvus pings every 10 s, which Milvus Lite's server answers by hanging up (ENHANCE_YOUR_CALM); no
gRPC server minds one in 5 minutes."""
_OTHERS_SECONDS = 60.0
"""How long to wait for the writer to make the collection."""


def prepare(uri: str, token: str, model: str, dimension: int, timeout: float, create: bool) -> bool:
    """Make or check the collection, load it; answers whether it has the keyword route. Blocking.

    Without `create` it is waited for. Raises SetupError if it was made with another model, Unavailable
    if nothing answers.
    """
    try:
        client = MilvusClient(uri, token=token, timeout=timeout, grpc_options=CHANNEL)
        try:
            if client.has_collection(COLLECTION):
                keyword = _check(client, model, dimension)
            elif create:
                keyword = _create(client, model, dimension)
            else:
                keyword = _await(client, model, dimension)
            client.load_collection(COLLECTION)
            return keyword
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


def _create(client: MilvusClient, model: str, dimension: int) -> bool:
    """With BM25 where the server has it, else without: the keyword route is then off."""
    for keyword in (True, False):
        note = {"rearview": schema.SCHEMA_VERSION, "model": model, "dimension": dimension, "keyword": keyword}
        layout = schema.collection_schema(dimension, keyword=keyword, note=json.dumps(note))
        try:
            client.create_collection(
                COLLECTION,
                schema=layout,
                consistency_level="Bounded",
                properties={_NOTE: json.dumps(note)},
            )
            # Not waited for: an empty collection has nothing to index, and the client sleeps .5 s an index.
            client.create_index(COLLECTION, schema.index_params(keyword=keyword), sync=False)
        except MilvusException:
            if client.has_collection(COLLECTION):  # another replica was quicker
                return _check(client, model, dimension)
            if not keyword:
                raise
            log.warning("this Milvus server takes no BM25 function; the keyword route is off")
            continue
        return keyword
    raise AssertionError("unreachable")


def _check(client: MilvusClient, model: str, dimension: int) -> bool:
    described = client.describe_collection(COLLECTION)
    # Lite keeps properties and drops the description; a server keeps the description.
    note = json.loads(described["description"] or described.get("properties", {}).get(_NOTE) or "{}")
    if note.get("rearview") != schema.SCHEMA_VERSION:
        raise SetupError(f"collection {COLLECTION} was made by another version; point REARVIEW_MILVUS_URI elsewhere")
    if (note["model"], note["dimension"]) != (model, dimension):
        raise SetupError(
            f"this store was made with the embedding model {note['model']} ({note['dimension']} "
            f"dimensions), not {model} ({dimension}): set REARVIEW_EMBED_MODEL back, or use another "
            "REARVIEW_DATA; two models' vectors cannot be compared"
        )
    return bool(note["keyword"])
