"""Over REST: what becomes of memories later. Forgetting by scope, and long work as jobs."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse

from rearview_pipelines.forgets import ForgetReport
from rearview_pipelines.lifecycle.transfer import lines_of
from rearview_pipelines.requests import Filters, ForgetRequest, JobRequest, parse
from rearview_serve import openapi, wire

if TYPE_CHECKING:
    from rearview_serve.ingress import Ingress


NDJSON = "application/x-ndjson"


async def _from(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for line in rest:
        yield line


def router(parts: "Ingress") -> APIRouter:
    made = APIRouter(prefix="/v1", tags=["lifecycle"])

    @made.post("/forget", response_model=ForgetReport, **openapi.forget())
    async def forget(request: Request) -> Any:
        principal = parts.writer(request)
        report = await parts.service.forget(principal, parse(ForgetRequest, await parts.body(request)))
        return JSONResponse(report.model_dump(mode="json"))

    @made.post("/export", response_class=StreamingResponse, **openapi.export())
    async def export(request: Request) -> Any:
        principal = parts.reader(request)
        body = await parts.body(request, empty={})
        if isinstance(body, dict) and set(body) == {"filters"}:
            body = body["filters"]
        filters = parse(Filters, body)
        lines = parts.service.export(principal, filters)
        first = await anext(lines)  # what refuses it has to be said before the answer begins
        return StreamingResponse(_from(first, lines), media_type=NDJSON)

    @made.post("/import", response_model=dict[str, Any], **openapi.import_())
    async def import_(request: Request) -> Any:
        principal = parts.writer(request)
        return JSONResponse(await parts.service.import_lines(principal, lines_of(request.stream())))

    @made.post("/jobs", status_code=202, response_model=wire.Started, **openapi.job())
    async def start(request: Request) -> Any:
        principal = parts.writer(request)
        asked = parse(JobRequest, await parts.body(request))
        return JSONResponse(await parts.service.start_job(principal, asked), 202)

    @made.get("/jobs/{id}", response_model=wire.JobOut, **openapi.errors())
    async def job(id: str, request: Request) -> Any:
        """How far a job is."""
        return JSONResponse(await parts.service.job(parts.reader(request), id))

    return made
