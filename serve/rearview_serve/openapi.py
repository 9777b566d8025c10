"""What /openapi.json says of bodies, answers and errors: schemas from the models, examples by us."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from swagger_ui_bundle import swagger_ui_path

from rearview_pipelines.memory import Draft
from rearview_pipelines.requests import (
    EndRequest,
    FeedbackRequest,
    Filters,
    ForgetRequest,
    JobRequest,
    ObserveRequest,
    RecallRequest,
    ReflectRequest,
    StartRequest,
    SummaryRequest,
    TokenRequest,
    WriteRequest,
)
from rearview_pipelines.sessions.requests import PutRequest
from rearview_serve.wire import Problem

DESCRIPTION = (
    "Write what was learned, recall it later in a few hundred tokens, correct it, forget it. "
    "Every request under /v1 needs `Authorization: Bearer TOKEN`. Errors are `application/problem+json`."
)
_MODELS: tuple[type[BaseModel], ...] = (
    Draft,
    WriteRequest,
    ObserveRequest,
    RecallRequest,
    FeedbackRequest,
    Filters,
    ForgetRequest,
    JobRequest,
    TokenRequest,
    StartRequest,
    PutRequest,
    EndRequest,
    SummaryRequest,
    TokenRequest,
    ReflectRequest,
    Problem,
)
_REF = "#/components/schemas/{model}"
_STATUSES = {
    401: "No valid credential.",
    403: "Not allowed to this credential.",
    404: "Unknown, or not yours.",
    409: "Version conflict.",
    413: "Body too large.",
    422: "Invalid: names field and remedy.",
    429: "Too many requests; Retry-After says when.",
    503: "Try again later.",
}
_MEMORY = {
    "text": "The user prefers window seats on morning flights.",
    "kind": "preference",
    "tags": ["travel"],
    "ref": "chat-17/3",
}


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    content = {"application/problem+json": {"schema": {"$ref": _REF.format(model="Problem")}}}
    return {s: {"description": _STATUSES[s], "content": content} for s in statuses}


def _body(schema: dict[str, Any], examples: dict[str, Any]) -> dict[str, Any]:
    named = {name: {"value": value} for name, value in examples.items()}
    content = {"application/json": {"schema": schema, "examples": named}}
    return {"openapi_extra": {"requestBody": {"required": True, "content": content}}}


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}


def errors() -> dict[str, Any]:
    return {"responses": _problems(401, 403, 404, 409, 429, 503)}


def write() -> dict[str, Any]:
    schema = {"oneOf": [_ref(Draft), _ref(WriteRequest)]}
    two = [_MEMORY, {"text": "用户喜欢绿茶。", "kind": "preference"}]
    return {
        "summary": "Write one memory or up to 256",
        "responses": _problems(401, 403, 413, 422, 429, 503),
        **_body(schema, {"one": _MEMORY, "many": {"memories": two}}),
    }


def observe() -> dict[str, Any]:
    example = {
        "session": "chat-17",
        "turns": [
            {"role": "user", "text": "Hi! I moved to Leeds last month."},
            {"role": "tool", "text": "exit code 1: disk full", "tool_calls": [{"name": "backup", "ok": False}]},
        ],
    }
    return {
        "summary": "Observe turns: what is worth it is remembered, all go to the session's transcript",
        "responses": {
            202: {"description": "With wait: false; works after the reply."},
            **_problems(401, 403, 413, 422, 429, 503),
        },
        **_body(_ref(ObserveRequest), {"session": example}),
    }


def forget() -> dict[str, Any]:
    return {
        "summary": "Forget by ids, session, last turns, user or filters; answers when nothing of it can be recalled",
        "responses": _problems(401, 403, 404, 413, 422, 429, 503),
        **_body(
            _ref(ForgetRequest),
            {
                "session": {"session": "chat-17"},
                "last turns": {"session": "chat-17", "last_turns": 2},
                "filters, dry run": {"filters": {"tags": ["trial"]}, "dry_run": True},
            },
        ),
    }


def export() -> dict[str, Any]:
    return {
        "summary": "Your memories as NDJSON under a signed manifest; a body of filters narrows them",
        "responses": _problems(401, 403, 422, 429, 503),
        "openapi_extra": {
            "requestBody": {"required": False, "content": {"application/json": {"schema": _ref(Filters)}}}
        },
    }


def import_() -> dict[str, Any]:
    schema = {"schema": {"type": "string", "description": "One memory a line; an optional first line is a manifest."}}
    return {
        "summary": "Write a stream of NDJSON; bad lines are counted and the first described, the others are stored",
        "responses": _problems(401, 403, 429, 503),
        "openapi_extra": {"requestBody": {"required": True, "content": {"application/x-ndjson": schema}}},
    }


def token() -> dict[str, Any]:
    return {
        "summary": "Make a token of your tenant; it is shown this once",
        "responses": _problems(401, 403, 422, 429, 503),
        **_body(_ref(TokenRequest), {"an agent's": {"role": "writer", "agent": "support-bot"}}),
    }


def job() -> dict[str, Any]:
    return {
        "summary": "Begin long work: sweep, snapshot, restore, purge and others. Admins only",
        "responses": _problems(401, 403, 409, 422, 429, 503),
        **_body(
            _ref(JobRequest), {"snapshot": {"kind": "snapshot"}, "restore": {"kind": "restore", "snapshot": "latest"}}
        ),
    }


def start_session() -> dict[str, Any]:
    return {
        "summary": "Begin a session: its state, and memories that bear on its goal",
        "responses": _problems(401, 403, 422, 429, 503),
        **_body(_ref(StartRequest), {"goal": {"goal": "Move the billing database to Frankfurt."}}),
    }


def get_session() -> dict[str, Any]:
    return {
        "summary": "A session's working memory; 404 after 30 idle minutes",
        "responses": _problems(401, 403, 404, 422, 429, 503),
        "openapi_extra": {
            "parameters": [
                {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}
                for name in ("agent", "user")
            ]
        },
    }


def put_session() -> dict[str, Any]:
    example = {"version": 3, "state": {"goal": "Move the billing database.", "next_step": "Stop the writers."}}
    return {
        "summary": "Replace a session's state, if it is still at that version",
        "responses": _problems(401, 403, 404, 409, 413, 422, 429, 503),
        **_body(_ref(PutRequest), {"state": example}),
    }


def end_session() -> dict[str, Any]:
    return {
        "summary": "End a session: an episode in one line, and the facts that were stated in it",
        "responses": _problems(401, 403, 404, 422, 429, 503),
        **_body(_ref(EndRequest), {"outcome": {"outcome": "success"}}),
    }


def reflect() -> dict[str, Any]:
    return {
        "summary": "Reflect on a task, a kind of task or a session: two episodes suffice",
        "responses": _problems(401, 403, 404, 409, 422, 429, 503),
        **_body(_ref(ReflectRequest), {"kind of task": {"task_type": "deploy"}, "task": {"task": "deploy-17"}}),
    }


def summarize() -> dict[str, Any]:
    return {
        "summary": "Up to ten statements of a session or a text, with the turns that say them",
        "responses": _problems(401, 403, 404, 413, 422, 429, 503),
        **_body(_ref(SummaryRequest), {"session": {"session": "chat-17", "store": True}}),
    }


def transcript() -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "query", "required": False, "schema": {"type": "integer"}} for name in ("limit", "cursor")
    ]
    return {
        "summary": "A session's turns as kept, in order",
        "responses": _problems(401, 403, 404, 422, 429, 503),
        "openapi_extra": {"parameters": parameters},
    }


def listing() -> dict[str, Any]:
    names = [n for n in Filters.model_fields]
    parameters = [
        {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}
        for name in [*names, "limit", "cursor"]
    ]
    return {
        "summary": "List memories, newest first",
        "responses": _problems(401, 403, 422, 429, 503),
        "openapi_extra": {"parameters": parameters},
    }


def patch() -> dict[str, Any]:
    return {
        "summary": "Change a memory; a new text answers a new id",
        "responses": _problems(401, 403, 404, 409, 422, 503),
        **_body(
            {"type": "object"},
            {"tags": {"tags": ["travel", "seat"]}, "text": {"text": "The user prefers aisle seats."}},
        ),
    }


def delete() -> dict[str, Any]:
    return {"summary": "Forget a memory", "responses": _problems(401, 403, 404, 503)}


def recall() -> dict[str, Any]:
    examples = {
        "question": {"query": "Which seat does the user like?"},
        "narrow": {"query": "部署为什么失败", "top_k": 3, "filters": {"tags": ["deploy"]}, "explain": True},
    }
    return {
        "summary": "Recall the few memories that matter",
        "responses": _problems(401, 403, 413, 422, 429, 503),
        **_body(_ref(RecallRequest), examples),
    }


def context() -> dict[str, Any]:
    return {
        "summary": "The same as a block of text for a prompt",
        "responses": _problems(401, 403, 413, 422, 429, 503),
        **_body(_ref(RecallRequest), {"question": {"query": "What do I know about the user's travel?"}}),
    }


def trace() -> dict[str, Any]:
    return {"summary": "What a recall handed out and where it came from", "responses": _problems(401, 404, 429, 503)}


def feedback() -> dict[str, Any]:
    example = {"recall_id": "r_0f3c", "id": "m_2kq", "used": True, "helpful": True}
    return {
        "summary": "Say whether a memory was used, and whether it helped",
        "responses": _problems(401, 403, 404, 413, 422, 429, 503),
        **_body(_ref(FeedbackRequest), {"helped": example}),
    }


def serve_docs(app: FastAPI) -> None:
    """The page at /docs, with its scripts from a package instead of the network."""
    app.mount("/docs/static", StaticFiles(directory=swagger_ui_path))

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return get_swagger_ui_html(
            openapi_url="/openapi.json",
            title="Rearview",
            swagger_js_url="/docs/static/swagger-ui-bundle.js",
            swagger_css_url="/docs/static/swagger-ui.css",
            swagger_favicon_url="/docs/static/favicon-32x32.png",
        )


def install(app: FastAPI) -> None:
    """Make the app's OpenAPI hold the models that bodies are parsed with, and the credential."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(
                title=app.title,
                version=app.version,
                summary=app.summary,
                description=app.description,
                routes=app.routes,
            )
            _, definitions = models_json_schema([(m, "validation") for m in _MODELS], ref_template=_REF)
            components = made.setdefault("components", {})
            components["schemas"] = definitions["$defs"] | components.get("schemas", {})
            components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            made["security"] = [{"token": []}]
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's own way to extend the document
