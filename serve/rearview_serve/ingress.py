"""REST and MCP over one ASGI app: wire → service → wire. Knows no Ray; `app.py` puts it in a replica."""

import contextvars
import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from mcp.server.transport_security import TransportSecuritySettings
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from rearview_pipelines.errors import (
    InvalidInput,
    NotFound,
    RateLimited,
    RearviewError,
    TooLarge,
    Unauthenticated,
)
from rearview_pipelines.forgets import ForgetReport
from rearview_pipelines.principal import Principal
from rearview_pipelines.recall.answers import ContextAnswer
from rearview_pipelines.receipts import Receipt, WriteAnswer
from rearview_pipelines.requests import FeedbackRequest, ForgetRequest, parse
from rearview_pipelines.service import MemoryService
from rearview_serve import __version__, admin, lifecycle, mcp, openapi, sessions, wire
from rearview_serve.auth import TokenStore
from rearview_serve.errors import RETRY_AFTER_SECONDS, status_of
from rearview_serve.limits import Limits
from rearview_serve.mcp_tools import Tools, specs_of
from rearview_serve.metrics import Metrics
from rearview_serve.surprise import log_surprise

PROBLEM = "application/problem+json"
log = logging.getLogger(__name__)
_asking: contextvars.ContextVar[Principal] = contextvars.ContextVar("principal")


@dataclass(frozen=True)
class Ingress:
    """What the app needs. `parts`: checks of readiness by name, each raising when not ready."""

    service: MemoryService
    tokens: TokenStore
    metrics: Metrics
    parts: Mapping[str, Callable[[], Awaitable[object]]]
    max_body: int
    mcp_seconds: float
    mcp_hosts: tuple[str, ...]
    recall_defaults: Mapping[str, Any]
    limits: Limits
    mcp_tools: str = "all"

    def reader(self, request: Request) -> Principal:
        """Who asks to read, if they have not asked too often. Raises Unauthenticated, RateLimited."""
        return self._counted(request, "recall")

    def writer(self, request: Request) -> Principal:
        """Who asks to change something, if they have not asked too often."""
        return self._counted(request, "write")

    async def body(self, request: Request, empty: Any = None) -> Any:
        """The JSON of a request; `empty`, unless None, where there is no body. Raises InvalidInput, TooLarge."""
        return await read_body(self.max_body, request, empty)

    @staticmethod
    def idempotency_key(request: Request) -> str | None:
        """The key that a retry repeats; None where none was sent. Raises InvalidInput."""
        return idempotency_key(request)

    def _counted(self, request: Request, what: str) -> Principal:
        principal = self.tokens.principal(request.headers.get("authorization"))
        self.limits.take(principal, what)
        return principal


def create_app(parts: Ingress) -> FastAPI:
    tools = Tools(parts.service, parts.mcp_seconds, parts.metrics, parts.limits, parts.recall_defaults)
    server = mcp.build(tools, _asking.get, specs_of(parts.mcp_tools))
    hosts = ["127.0.0.1:*", "localhost:*", "[::1]:*", *parts.mcp_hosts]
    security = TransportSecuritySettings(
        allowed_hosts=hosts, allowed_origins=[f"{s}://{h}" for h in hosts for s in ("http", "https")]
    )
    mcp_app = server.streamable_http_app(
        streamable_http_path="/",
        stateless_http=True,
        json_response=True,
        transport_security=security,
        max_request_body_size=parts.max_body,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    app = FastAPI(
        title="Rearview",
        version=__version__,
        summary="Long-term memory for AI agents.",
        description=openapi.DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own page loads its scripts from a network that may not be there
        redoc_url=None,
    )
    openapi.serve_docs(app)
    app.include_router(_memories(parts))
    app.include_router(_recalls(parts))
    app.include_router(admin.router(parts))
    app.include_router(lifecycle.router(parts))
    app.include_router(sessions.router(parts))
    app.include_router(_operations(parts))
    app.mount("/mcp", _authenticated(mcp_app, parts.tokens))
    app.add_exception_handler(RearviewError, _on_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.middleware("http")(_measured(parts.metrics))
    openapi.install(app)
    return app


def _memories(parts: Ingress) -> APIRouter:
    router = APIRouter(prefix="/v1/memories", tags=["memories"])

    @router.post("", status_code=201, response_model=WriteAnswer, **openapi.write())
    async def write(request: Request) -> Any:
        principal = parts.writer(request)
        asked = wire.read_write(await parts.body(request))
        receipts = await parts.service.write(principal, asked, idempotency_key(request))
        parts.metrics.wrote(receipts)
        return JSONResponse({"receipts": [r.model_dump(mode="json") for r in receipts]}, 201)

    @router.get("", response_model=wire.MemoryPage, **openapi.listing())
    async def list_memories(request: Request) -> Any:
        principal = parts.reader(request)
        query = {k: request.query_params.getlist(k) for k in request.query_params}
        memories, cursor = await parts.service.list_memories(principal, wire.read_list(query))
        return JSONResponse({"memories": [wire.shown(m) for m in memories], "next_cursor": cursor})

    @router.get("/{id}", response_model=wire.MemoryOut, **openapi.errors())
    async def get(id: str, request: Request) -> Any:
        reveal = _flag(request, "reveal")
        memory = await parts.service.get(parts.reader(request), id, reveal=reveal)
        return JSONResponse(wire.shown(memory), headers={"ETag": f'"{memory.version}"'})

    @router.patch("/{id}", response_model=Receipt, **openapi.patch())
    async def patch(id: str, request: Request) -> Any:
        principal = parts.writer(request)
        changes = await parts.body(request)
        if not isinstance(changes, dict):
            raise InvalidInput.one("body", "is not an object", "send the fields to change")
        receipt = await parts.service.patch(principal, id, changes, _if_match(request))
        return JSONResponse(receipt.model_dump(mode="json"))

    @router.get("/{id}/history", response_model=wire.History, **openapi.errors())
    async def history(id: str, request: Request) -> Any:
        """What superseded what, oldest first."""
        chain = await parts.service.history(parts.reader(request), id)
        return JSONResponse({"memories": [wire.shown(m) for m in chain]})

    @router.get("/{id}/provenance", **openapi.errors())
    async def provenance(id: str, request: Request) -> dict[str, Any]:
        """Where it came from, who supports it, and every recorded event."""
        return await parts.service.provenance(parts.reader(request), id)

    @router.delete("/{id}", response_model=ForgetReport, **openapi.delete())
    async def delete(id: str, request: Request) -> Any:
        report = await parts.service.forget(parts.writer(request), ForgetRequest(ids=(id,)))
        return JSONResponse(report.model_dump(mode="json"))

    return router


def _recalls(parts: Ingress) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["recall"])

    @router.post("/recall", response_model=wire.RecallOut, **openapi.recall())
    async def recall(request: Request) -> Any:
        principal = parts.reader(request)
        answer = await parts.service.recall(
            principal, wire.read_recall(await parts.body(request), parts.recall_defaults)
        )
        parts.metrics.answered(len(answer.memories), answer.degraded)
        return JSONResponse(wire.shown_answer(answer))

    @router.get("/recalls/{id}", response_model=wire.RecallTrace, **openapi.trace())
    async def recalled(id: str, request: Request) -> Any:
        """What a recall handed out, and where each memory came from. Kept for seven days."""
        return JSONResponse(await parts.service.recalled(parts.reader(request), id))

    @router.post("/feedback", response_model=wire.FeedbackOut, **openapi.feedback())
    async def feedback(request: Request) -> Any:
        principal = parts.writer(request)
        asked = parse(FeedbackRequest, await parts.body(request))
        answer = await parts.service.feedback(principal, asked)
        parts.metrics.judged(asked.used, asked.helpful)
        return JSONResponse(answer)

    @router.post("/context", response_model=ContextAnswer, **openapi.context())
    async def context(request: Request) -> Any:
        principal = parts.reader(request)
        answer = await parts.service.context(
            principal, wire.read_recall(await parts.body(request), parts.recall_defaults)
        )
        parts.metrics.answered(len(answer.memories), answer.degraded)
        return JSONResponse(answer.model_dump(mode="json"))

    return router


def _operations(parts: Ingress) -> APIRouter:
    router = APIRouter(tags=["operations"])

    @router.get("/v1/stats", **openapi.errors())
    async def stats(request: Request) -> dict[str, Any]:
        """Counts of your tenant's memories by state, and the models in use."""
        return await parts.service.stats(parts.reader(request))

    @router.get("/livez")
    async def livez() -> dict[str, bool]:
        """Whether the process answers at all."""
        return {"ok": True}

    @router.get("/readyz", responses={503: {"description": "Which part is missing."}})
    async def readyz() -> Any:
        """200 exactly when writes and recalls are answered."""
        missing = []
        for name, check in parts.parts.items():
            try:
                await check()
            except RearviewError:
                missing.append(name)
        return JSONResponse({"ready": not missing, "missing": missing}, 503 if missing else 200)

    @router.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Prometheus text."""
        return Response(
            parts.metrics.page(parts.service.rejected_rows, parts.service.tampered, parts.service.remembered),
            media_type="text/plain; version=0.0.4",
        )

    return router


async def read_body(most: int, request: Request, empty: Any = None) -> Any:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise TooLarge(f"the body is over {most} bytes; send it in several requests")
    return empty if empty is not None and not body else wire.read_json(bytes(body))


def idempotency_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= 128:
        raise InvalidInput.one("Idempotency-Key", "is empty or too long", "send 1 to 128 characters")
    return key


def _flag(request: Request, name: str) -> bool:
    value = request.query_params.get(name, "false").lower()
    if value not in ("true", "false"):
        raise InvalidInput.one(name, "is not true or false", "send true or false")
    return value == "true"


def _if_match(request: Request) -> int | None:
    value = request.headers.get("if-match")
    if value is None or value == "*":
        return None
    text = value.removeprefix("W/").strip('"')
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise InvalidInput.one("If-Match", "is not a version", "send the memory's version, such as 3")
    return int(text)


def _authenticated(app: ASGIApp, tokens: TokenStore) -> ASGIApp:
    """Let only holders of a token through to MCP; the tools then ask who that was."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        try:
            principal = tokens.principal(Request(scope).headers.get("authorization"))
        except Unauthenticated as error:
            await _answer(error)(scope, receive, send)
            return
        mark = _asking.set(principal)
        try:
            await app(scope, receive, send)
        finally:
            _asking.reset(mark)

    return guard


def _measured(metrics: Metrics) -> Callable[[Request, Any], Awaitable[Response]]:
    async def measure(request: Request, call_next: Any) -> Response:
        started = time.perf_counter()
        try:
            response: Response = await call_next(request)
        except Exception as error:
            log_surprise(log, "a request failed unexpectedly", error)
            response = await _on_surprise(request, Exception())
        route = getattr(request.scope.get("route"), "path", "other")
        metrics.seconds.labels(route, request.method).observe(time.perf_counter() - started)
        metrics.requests.labels(route, request.method, str(response.status_code)).inc()
        return response

    return measure


def _answer(error: RearviewError) -> JSONResponse:
    status = status_of(error)
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, RateLimited):
        headers["Retry-After"] = str(max(1, math.ceil(error.seconds)))
    elif error.retryable:
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return JSONResponse(wire.problem(error, status), status, headers, media_type=PROBLEM)


async def _on_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RearviewError)
    return _answer(error)


async def _on_http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return _answer(NotFound("no such path; see /openapi.json"))
    body = wire.problem(RearviewError(str(error.detail)), error.status_code)
    return JSONResponse(body, error.status_code, error.headers, media_type=PROBLEM)


async def _on_surprise(_: Request, __: Exception) -> Response:
    body = wire.problem(RearviewError("the request failed unexpectedly; the log says why"), 500)
    return JSONResponse(body, 500, media_type=PROBLEM)
