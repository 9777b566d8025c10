"""Where a command goes: to the service that owns the data folder, or into the folder itself."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager
from typing import IO, Any, Protocol, TypeVar
from urllib.parse import quote

from rearview_pipelines.errors import SetupError
from rearview_pipelines.lifecycle.transfer import lines_of
from rearview_pipelines.principal import Principal
from rearview_pipelines.requests import (
    EndRequest,
    FeedbackRequest,
    Filters,
    ForgetRequest,
    JobRequest,
    ObserveRequest,
    ReflectRequest,
    StartRequest,
    SummaryRequest,
    TranscriptRequest,
    parse,
)
from rearview_pipelines.service import MemoryService
from rearview_pipelines.sessions.requests import PutRequest
from rearview_serve import folder, wire
from rearview_serve.auth import TokenStore
from rearview_serve.client import Client
from rearview_serve.settings import Settings, recall_defaults

POLL_SECONDS = 0.2
"""Between two looks at how far a job is."""
CHUNK = 2**16
_Result = TypeVar("_Result")


class Backend(Protocol):
    """The verbs as REST objects."""

    def write(self, body: Any) -> Any: ...
    def recall(self, body: Any) -> Any: ...
    def get(self, id_: str) -> Any: ...
    def list_memories(self, query: dict[str, list[str]]) -> Any: ...
    def forget(self, body: Any) -> Any: ...
    def start_job(self, body: Any) -> Any: ...
    def reflect(self, body: Any) -> Any: ...
    def reflection(self, id_: str) -> Any: ...
    def session(self, verb: str, session: str, body: Any) -> Any: ...
    def summarize(self, body: Any) -> Any: ...
    def export(self, filters: Any) -> Iterator[bytes]: ...
    def import_(self, file: IO[bytes]) -> Any: ...
    def job(self, id_: str) -> Any: ...
    def stats(self) -> Any: ...
    def observe(self, body: Any) -> Any: ...
    def feedback(self, body: Any) -> Any: ...
    def verify(self) -> Any: ...
    def keys(self) -> Any: ...
    def rotate_key(self) -> Any: ...
    def revoke_key(self, kid: str) -> Any: ...


class RemoteBackend:
    def __init__(self, client: Client) -> None:
        self._client = client

    def write(self, body: Any) -> Any:
        return self._client.call("POST", "/v1/memories", body)

    def recall(self, body: Any) -> Any:
        return self._client.call("POST", "/v1/recall", body)

    def get(self, id_: str) -> Any:
        return self._client.call("GET", f"/v1/memories/{_segment(id_)}")

    def list_memories(self, query: dict[str, list[str]]) -> Any:
        return self._client.call("GET", "/v1/memories", params=query)

    def forget(self, body: Any) -> Any:
        return self._client.call("POST", "/v1/forget", body)

    def start_job(self, body: Any) -> Any:
        return self._client.call("POST", "/v1/jobs", body)

    def reflect(self, body: Any) -> Any:
        return self._client.call("POST", "/v1/reflect", body)

    def reflection(self, id_: str) -> Any:
        time.sleep(POLL_SECONDS)
        return self._client.call("GET", f"/v1/reflections/{_segment(id_)}")

    def session(self, verb: str, session: str, body: Any) -> Any:
        path = f"/v1/sessions/{_segment(session)}"
        if verb == "show":
            return self._client.call("GET", path)
        if verb == "put":
            return self._client.call("PUT", path, body)
        if verb == "transcript":
            return self._client.call("GET", f"{path}/transcript", params={"limit": 500})
        return self._client.call("POST", f"{path}/{verb}", body)

    def summarize(self, body: Any) -> Any:
        return self._client.call("POST", "/v1/summarize", body)

    def export(self, filters: Any) -> Iterator[bytes]:
        return self._client.lines("POST", "/v1/export", filters)

    def import_(self, file: IO[bytes]) -> Any:
        return self._client.send("POST", "/v1/import", file)

    def job(self, id_: str) -> Any:
        time.sleep(POLL_SECONDS)
        return self._client.call("GET", f"/v1/jobs/{_segment(id_)}")

    def stats(self) -> Any:
        return self._client.call("GET", "/v1/stats")

    def observe(self, body: Any) -> Any:
        return self._client.call("POST", "/v1/observe", body)

    def feedback(self, body: Any) -> Any:
        return self._client.call("POST", "/v1/feedback", body)

    def verify(self) -> Any:
        return self._client.call("GET", "/v1/verify")

    def keys(self) -> Any:
        return self._client.call("GET", "/v1/keys")

    def rotate_key(self) -> Any:
        return self._client.call("POST", "/v1/keys")

    def revoke_key(self, kid: str) -> Any:
        return self._client.call("POST", f"/v1/keys/{_segment(kid)}/revoke")


class LocalBackend:
    """The service in this process, as whoever holds the token."""

    def __init__(
        self, service: MemoryService, principal: Principal, runner: asyncio.Runner, defaults: dict[str, Any]
    ) -> None:
        self._service = service
        self._principal = principal
        self._runner = runner
        self._defaults = defaults

    def _run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        return self._runner.run(work)

    def write(self, body: Any) -> Any:
        request = wire.read_write(body)
        receipts = self._run(self._service.write(self._principal, request))
        return {"receipts": [r.model_dump(mode="json") for r in receipts]}

    def recall(self, body: Any) -> Any:
        request = wire.read_recall(body, self._defaults)
        return wire.shown_answer(self._run(self._service.recall(self._principal, request)))

    def get(self, id_: str) -> Any:
        return wire.shown(self._run(self._service.get(self._principal, id_)))

    def list_memories(self, query: dict[str, list[str]]) -> Any:
        work = self._service.list_memories(self._principal, wire.read_list(query))
        memories, cursor = self._run(work)
        return {"memories": [wire.shown(m) for m in memories], "next_cursor": cursor}

    def forget(self, body: Any) -> Any:
        report = self._run(self._service.forget(self._principal, parse(ForgetRequest, body)))
        return report.model_dump(mode="json")

    def start_job(self, body: Any) -> Any:
        return self._run(self._service.start_job(self._principal, parse(JobRequest, body)))

    def reflect(self, body: Any) -> Any:
        return self._run(self._service.reflect(self._principal, parse(ReflectRequest, body)))

    def reflection(self, id_: str) -> Any:
        async def later() -> Any:
            await asyncio.sleep(POLL_SECONDS)
            return await self._service.reflection(self._principal, id_)

        return self._run(later())

    def session(self, verb: str, session: str, body: Any) -> Any:
        sessions, who = self._service.sessions, self._principal
        if verb == "show":
            return self._run(sessions.get(who, session, None, None))
        if verb == "put":
            return self._run(sessions.put(who, session, parse(PutRequest, body)))
        if verb == "transcript":
            page = self._run(
                self._service.transcript(who, parse(TranscriptRequest, {"session": session, "limit": 500}))
            )
            return {"turns": page.turns, "next_cursor": None if page.next is None else str(page.next)}
        if verb == "end":
            receipts = self._run(sessions.end(who, session, parse(EndRequest, body)))
            return {"receipts": [receipt.model_dump(mode="json") for receipt in receipts]}
        begun = self._run(sessions.start(who, session, parse(StartRequest, body)))
        return begun | {"seeds": [wire.shown(hit) for hit in begun["seeds"]]}

    def summarize(self, body: Any) -> Any:
        return self._run(self._service.sessions.summarize(self._principal, parse(SummaryRequest, body)))

    def export(self, filters: Any) -> Iterator[bytes]:
        lines = self._service.export(self._principal, parse(Filters, filters))

        async def following() -> bytes | None:
            return await anext(lines, None)

        while (line := self._run(following())) is not None:
            yield line

    def import_(self, file: IO[bytes]) -> Any:
        async def chunks() -> AsyncIterator[bytes]:
            while chunk := file.read(CHUNK):
                yield chunk

        return self._run(self._service.import_lines(self._principal, lines_of(chunks())))

    def job(self, id_: str) -> Any:
        async def later() -> Any:  # the job runs here, and only while this loop does
            await asyncio.sleep(POLL_SECONDS)
            return await self._service.job(self._principal, id_)

        return self._run(later())

    def stats(self) -> Any:
        return self._run(self._service.stats(self._principal))

    def observe(self, body: Any) -> Any:
        receipts = self._run(self._service.observe(self._principal, parse(ObserveRequest, body)))
        return {"receipts": [r.model_dump(mode="json") for r in receipts]}

    def feedback(self, body: Any) -> Any:
        return self._run(self._service.feedback(self._principal, parse(FeedbackRequest, body)))

    def verify(self) -> Any:
        return self._run(self._service.verify(self._principal))

    def keys(self) -> Any:
        return {"keys": self._service.keys(self._principal)}

    def rotate_key(self) -> Any:
        return self._run(self._service.rotate_key(self._principal))

    def revoke_key(self, kid: str) -> Any:
        return self._run(self._service.revoke_key(self._principal, kid))


def _segment(id_: str) -> str:
    return quote(id_, safe="")


def token_of(settings: Settings) -> str:
    """The token to use: REARVIEW_TOKEN, else the admin token of the data folder."""
    given = settings.token
    if given:
        return given
    file = settings.data / "token"
    try:
        return file.read_text().strip()
    except OSError as error:
        raise SetupError(
            f"there is no token in {file}; start `rearview up` once, or set REARVIEW_TOKEN or REARVIEW_DATA"
        ) from error


@contextmanager
def connected(settings: Settings) -> Iterator[Backend]:
    """REARVIEW_URL if set, else the service that owns the data folder, else the folder opened here."""
    owner = folder.running(settings.data)
    url = settings.url or (owner.url if owner else None)
    if url:
        client = Client(url, token_of(settings))
        try:
            yield RemoteBackend(client)
        finally:
            client.close()
        return
    from rearview_serve.embedded import opened

    with asyncio.Runner() as runner:
        # One command reads too little to be worth reading a whole tenant first.
        context = opened(settings.model_copy(update={"hot_rows": 0}))
        service = runner.run(context.__aenter__())
        try:
            yield LocalBackend(service, _local_principal(settings), runner, recall_defaults(settings))
        finally:
            runner.run(context.__aexit__(None, None, None))


def _local_principal(settings: Settings) -> Principal:
    """Who works on a folder of their own: the holder of the token, made on first use."""
    tokens = TokenStore(settings.data)
    tokens.first_admin()
    return tokens.principal(f"Bearer {token_of(settings)}")
