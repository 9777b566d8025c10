"""`rearview mcp`: the service in this process behind stdio, or a bridge to the one that runs."""

import asyncio
import logging
import sys
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from rearview_serve import folder, mcp
from rearview_serve.auth import TokenStore
from rearview_serve.cli.backend import token_of
from rearview_serve.embedded import opened
from rearview_serve.mcp_tools import Tools, specs_of
from rearview_serve.settings import Settings, recall_defaults


def run(settings: Settings) -> None:
    """Serve one MCP client until it closes. Logs go to standard error: standard output is the wire."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="rearview: %(message)s")
    owner = folder.running(settings.data)
    url = settings.url or (owner.url if owner else None)
    asyncio.run(_bridge(url, token_of(settings)) if url else _embedded(settings))


async def _embedded(settings: Settings) -> None:
    async with opened(settings) as service:
        tokens = TokenStore(settings.data)
        tokens.first_admin()
        principal = tokens.principal(f"Bearer {token_of(settings)}")
        tools = Tools(service, settings.mcp_seconds, defaults=recall_defaults(settings))
        await mcp.serve_stdio(mcp.build(tools, lambda: principal, specs_of(settings.mcp_tools)))


async def _bridge(url: str, token: str) -> None:
    """Hand every call to the running service, so that one folder has one owner and many clients."""
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    async with http, Client(streamable_http_client(f"{url}/mcp/", http_client=http)) as remote:

        async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
            return await remote.list_tools()

        async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
            return await remote.call_tool(params.name, params.arguments or {})

        await mcp.serve_stdio(mcp.named(list_tools, call_tool))
