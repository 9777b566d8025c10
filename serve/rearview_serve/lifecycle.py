"""Over REST: what becomes of memories later. Forgetting by scope, and long work as jobs."""

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from rearview_pipelines.forgets import ForgetReport
from rearview_pipelines.requests import ForgetRequest, JobRequest, parse
from rearview_serve import openapi, wire

if TYPE_CHECKING:
    from rearview_serve.ingress import Ingress


def router(parts: "Ingress") -> APIRouter:
    made = APIRouter(prefix="/v1", tags=["lifecycle"])

    @made.post("/forget", response_model=ForgetReport, **openapi.forget())
    async def forget(request: Request) -> Any:
        principal = parts.writer(request)
        report = await parts.service.forget(principal, parse(ForgetRequest, await parts.body(request)))
        return JSONResponse(report.model_dump(mode="json"))

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
