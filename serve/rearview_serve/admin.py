"""What an admin does over REST: verify, quarantine, keys."""

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from rearview_pipelines.errors import NotFound
from rearview_pipelines.forgets import ForgetReport
from rearview_pipelines.principal import Principal
from rearview_pipelines.requests import ForgetRequest, TokenRequest, parse
from rearview_serve import openapi, wire
from rearview_serve.auth import TokenRecord

if TYPE_CHECKING:
    from rearview_serve.ingress import Ingress


def covers(principal: Principal, record: TokenRecord) -> bool:
    """Whether an admin may see and revoke a token: of its tenant, and of its own agent and user where it has them."""
    own = principal.agent in (None, record.agent) and principal.user in (None, record.user)
    return record.tenant == principal.tenant and own


def router(parts: "Ingress") -> APIRouter:
    made = APIRouter(prefix="/v1", tags=["admin"])

    @made.get("/verify", **openapi.errors())
    async def verify(request: Request) -> dict[str, Any]:
        """Check your tenant's memories and the whole ledger: altered, missing, replayed, unsigned, chain."""
        return await parts.service.verify(parts.reader(request))

    @made.get("/quarantine", **openapi.errors())
    async def quarantine(request: Request) -> Any:
        """What is held back: memories that screening suspects, and rows that are not as they were written."""
        held = await parts.service.quarantine(parts.reader(request))
        return JSONResponse({"memories": [wire.shown(m) for m in held["memories"]], "tampered": held["tampered"]})

    @made.post("/quarantine/{id}/release", response_model=wire.MemoryOut, **openapi.errors())
    async def release(id: str, request: Request) -> Any:
        """Let a quarantined memory be recalled."""
        return JSONResponse(wire.shown(await parts.service.release(parts.writer(request), id)))

    @made.post("/quarantine/{id}/forget", response_model=ForgetReport, **openapi.errors())
    async def forget(id: str, request: Request) -> Any:
        """Forget a quarantined memory."""
        principal = parts.writer(request)
        principal.require_admin()
        report = await parts.service.forget(principal, ForgetRequest(ids=(id,)))
        return JSONResponse(report.model_dump(mode="json"))

    @made.post("/tokens", status_code=201, **openapi.token())
    async def create_token(request: Request) -> Any:
        principal = parts.writer(request)
        principal.require_admin()
        asked = parse(TokenRequest, await parts.body(request))
        token, record = parts.tokens.create(
            principal.tenant,
            asked.role,
            principal.settle_agent(asked.agent) or None,
            principal.settle_user(asked.user) or None,
            tuple(right.value for right in asked.rights),
        )
        return JSONResponse({"token": token, "id": record.id}, 201)

    @made.get("/tokens", **openapi.errors())
    async def tokens(request: Request) -> Any:
        """Tokens of your tenant, without the tokens themselves."""
        principal = parts.reader(request)
        principal.require_admin()
        return {"tokens": [r.public() for r in parts.tokens.list_tokens() if covers(principal, r)]}

    @made.post("/tokens/{id}/revoke", **openapi.errors())
    async def revoke_token(id: str, request: Request) -> dict[str, str]:
        """Revoke a token of your tenant; every process knows within 5 seconds."""
        principal = parts.writer(request)
        principal.require_admin()
        if not any(r.id == id and covers(principal, r) for r in parts.tokens.list_tokens()):
            raise NotFound("no such token")
        parts.tokens.revoke(id)
        return {"revoked": id}

    @made.get("/keys", **openapi.errors())
    async def keys(request: Request) -> dict[str, Any]:
        """Signing keys by id and state: active, verify-only, revoked."""
        return {"keys": parts.service.keys(parts.reader(request))}

    @made.post("/keys", status_code=201, **openapi.errors())
    async def rotate(request: Request) -> Any:
        """A new active key; the old one goes on verifying, and what it signed is signed anew."""
        return JSONResponse(await parts.service.rotate_key(parts.writer(request)), 201)

    @made.post("/keys/{kid}/revoke", **openapi.errors())
    async def revoke(kid: str, request: Request) -> dict[str, Any]:
        """Trust a key no more."""
        return await parts.service.revoke_key(parts.writer(request), kid)

    return made
