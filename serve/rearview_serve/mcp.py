"""The MCP server: lists the tools, checks arguments, answers results and problems. HTTP and stdio."""

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from rearview_pipelines.errors import InvalidInput, RearviewError
from rearview_pipelines.principal import Principal
from rearview_pipelines.requests import parse
from rearview_serve import __version__
from rearview_serve.errors import status_of
from rearview_serve.mcp_text import INSTRUCTIONS
from rearview_serve.mcp_tools import ALIASES, SPECS, Tools, ToolSpec, schema_for
from rearview_serve.surprise import log_surprise
from rearview_serve.wire import problem

log = logging.getLogger(__name__)


def build(tools: Tools, principal: Callable[[], Principal], specs: Sequence[ToolSpec] = SPECS) -> Server[Any]:
    """A server over `tools`; `principal` says on each call who is asking. `specs`: the tools that are listed."""
    by_name = {spec.name: spec for spec in specs}

    async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        asking = principal()
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=spec.name,
                    description=spec.description,
                    input_schema=schema_for(spec, asking),
                    annotations=types.ToolAnnotations(
                        read_only_hint=spec.read_only,
                        destructive_hint=spec.destructive,
                        idempotent_hint=spec.idempotent,
                        open_world_hint=False,
                    ),
                )
                for spec in specs
            ]
        )

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            spec = by_name.get(ALIASES.get(params.name, params.name))
            if spec is None:
                names = ", ".join(by_name)
                raise InvalidInput.one("name", "is not a tool", f"call one of {names}")
            arguments = parse(spec.arguments, params.arguments or {})
            asking = principal()
            if tools.limits is not None:
                tools.limits.take(asking, "recall" if spec.read_only else "write")
            return _result(await spec.call(tools, asking, arguments))
        except RearviewError as error:
            return _result(problem(error, status_of(error)), is_error=True)
        except Exception as error:
            log_surprise(log, f"tool {params.name if params.name in by_name else '(unknown)'} failed", error)
            return _result(problem(RearviewError("the call failed unexpectedly; see the log"), 500), is_error=True)

    return named(list_tools, call_tool)


def named(list_tools: Any, call_tool: Any) -> Server[Any]:
    """A server of our name and instructions over two handlers."""
    return Server(
        "rearview",
        version=__version__,
        title="Rearview memory",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _result(value: dict[str, Any], *, is_error: bool = False) -> types.CallToolResult:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=value, is_error=is_error
    )


async def serve_stdio(server: Server[Any]) -> None:
    """Speak MCP on standard input and output until the client closes them."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
