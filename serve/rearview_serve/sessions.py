"""Over REST: what happens in sessions. Turns observed, transcripts, working memory, summaries."""

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from rearview_pipelines.errors import RateLimited
from rearview_pipelines.principal import Principal
from rearview_pipelines.receipts import WriteAnswer
from rearview_pipelines.requests import (
    EndRequest,
    ObserveRequest,
    ReflectRequest,
    StartRequest,
    SummaryRequest,
    TranscriptRequest,
    parse,
)
from rearview_pipelines.sessions.requests import PutRequest
from rearview_serve import openapi, wire
from rearview_serve.surprise import log_surprise

if TYPE_CHECKING:
    from rearview_serve.ingress import Ingress

MAX_LATE = 64
"""Observations that are worked on after their reply at a time; the next one is asked to come again."""
log = logging.getLogger(__name__)


def session_name(id_: str) -> str:
    """A session's name from a path. Raises InvalidInput."""
    return parse(TranscriptRequest, {"session": id_}).session


def router(parts: "Ingress") -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["sessions"])
    late: set[asyncio.Task[None]] = set()

    @router.post("/observe", status_code=201, response_model=WriteAnswer, **openapi.observe())
    async def observe(request: Request) -> Any:
        principal = parts.writer(request)
        asked = parse(ObserveRequest, await parts.body(request))
        key = parts.idempotency_key(request)
        principal.require_writer()
        if not asked.wait:
            principal.settle_agent(asked.agent)
            principal.settle_user(asked.user)
            if len(late) >= MAX_LATE:
                raise RateLimited("too many observations wait to be worked on", seconds=1.0)
            task = asyncio.ensure_future(_observe_later(parts, principal, asked, key))
            late.add(task)  # a task that nobody holds may be collected before it ends
            task.add_done_callback(late.discard)
            return JSONResponse({"accepted": len(asked.turns)}, 202)
        receipts = await parts.service.observe(principal, asked, key)
        parts.metrics.wrote(receipts)
        return JSONResponse({"receipts": [r.model_dump(mode="json") for r in receipts]}, 201)

    @router.get("/sessions/{id}/transcript", response_model=wire.TranscriptPage, **openapi.transcript())
    async def transcript(id: str, request: Request) -> Any:
        principal = parts.reader(request)
        query = {k: request.query_params.getlist(k) for k in request.query_params}
        page = await parts.service.transcript(principal, wire.read_transcript(id, query))
        cursor = None if page.next is None else str(page.next)
        return JSONResponse({"turns": page.turns, "next_cursor": cursor})

    @router.post("/sessions/{id}/start", response_model=wire.SessionOut, **openapi.start_session())
    async def start(id: str, request: Request) -> Any:
        principal = parts.writer(request)
        asked = parse(StartRequest, await parts.body(request, empty={}))
        begun = await parts.service.sessions.start(principal, session_name(id), asked)
        return JSONResponse(begun | {"seeds": [wire.shown(hit) for hit in begun["seeds"]]})

    @router.get("/sessions/{id}", response_model=wire.SessionOut, **openapi.get_session())
    async def get(id: str, request: Request) -> Any:
        principal, query = parts.reader(request), request.query_params
        held = await parts.service.sessions.get(principal, session_name(id), query.get("agent"), query.get("user"))
        return JSONResponse(held)

    @router.put("/sessions/{id}", response_model=wire.SessionOut, **openapi.put_session())
    async def put(id: str, request: Request) -> Any:
        principal = parts.writer(request)
        asked = parse(PutRequest, await parts.body(request))
        return JSONResponse(await parts.service.sessions.put(principal, session_name(id), asked))

    @router.post("/sessions/{id}/end", response_model=WriteAnswer, **openapi.end_session())
    async def end(id: str, request: Request) -> Any:
        principal = parts.writer(request)
        asked = parse(EndRequest, await parts.body(request, empty={}))
        receipts = await parts.service.sessions.end(principal, session_name(id), asked)
        parts.metrics.wrote(receipts)
        return JSONResponse({"receipts": [r.model_dump(mode="json") for r in receipts]})

    @router.post("/reflect", status_code=202, response_model=wire.Started, **openapi.reflect())
    async def reflect(request: Request) -> Any:
        principal = parts.writer(request)
        asked = parse(ReflectRequest, await parts.body(request))
        return JSONResponse(await parts.service.reflect(principal, asked), 202)

    @router.get("/reflections/{id}", response_model=wire.ReflectionOut, **openapi.errors())
    async def reflection(id: str, request: Request) -> Any:
        """How far a reflection is, and what it found: lessons by id, what went wrong, what to do better."""
        return JSONResponse(await parts.service.reflection(parts.reader(request), id))

    @router.post("/summarize", response_model=wire.SummaryOut, **openapi.summarize())
    async def summarize(request: Request) -> Any:
        principal = parts.reader(request)
        asked = parse(SummaryRequest, await parts.body(request))
        return JSONResponse(await parts.service.sessions.summarize(principal, asked))

    return router


async def _observe_later(parts: "Ingress", principal: Principal, asked: ObserveRequest, key: str | None) -> None:
    try:
        parts.metrics.wrote(await parts.service.observe(principal, asked, key))
    except Exception as error:  # nobody waits for it: count it, and say nothing of what it holds
        log_surprise(log, "observed turns were not kept", error)
        parts.metrics.lost.inc(len(asked.turns))
