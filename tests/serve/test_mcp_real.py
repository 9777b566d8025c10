"""MCP with the official client: over HTTP to the real service, and over stdio to real processes."""

import os
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.conftest import Service, rearview


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content)


async def tour(client: Client) -> None:
    """Write, search, update, forget; as an agent would."""
    mark = uuid.uuid4().hex[:8]
    tools = {t.name for t in (await client.list_tools()).tools}
    assert tools == {
        "memory_write",
        "memory_search",
        "memory_update",
        "memory_forget",
        "memory_summarize",
        "memory_reflect",
        "memory_feedback",
    }
    [receipt] = (await call(client, "memory_write", text=f"Project {mark} deploys with blue-green.", kind="decision"))[
        "receipts"
    ]
    found = await call(client, "memory_search", query_text=f"How does project {mark} deploy?")
    assert found["memories"][0]["id"] == receipt["id"]
    [changed] = (
        await call(client, "memory_update", memory_id=receipt["id"], text=f"Project {mark} deploys with canaries.")
    )["receipts"]
    assert changed["supersedes"] == [receipt["id"]]
    assert (await call(client, "memory_forget", memory_ids=[changed["id"]]))["forgotten"] == 1
    found = await call(client, "memory_search", query_text=f"How does project {mark} deploy?")
    assert changed["id"] not in [m["id"] for m in found["memories"]]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_http(live: Service, mode: str) -> None:
    http = create_mcp_http_client(headers=live.headers)
    async with http, Client(streamable_http_client(f"{live.url}/mcp/", http_client=http), mode=mode) as client:
        assert "long-term memory" in (client.instructions or "")
        await tour(client)


async def test_over_http_without_a_token_is_401(live: Service) -> None:
    async with create_mcp_http_client() as http:
        answer = await http.post(f"{live.url}/mcp/", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"


def stdio(data: Path) -> Any:
    environment = {k: v for k, v in os.environ.items() if k.startswith(("REARVIEW_", "PATH", "HOME"))}
    return stdio_client(
        StdioServerParameters(
            command=sys.executable,
            args=["-m", "rearview_serve.cli.main", "mcp"],
            env=environment | {"REARVIEW_DATA": str(data)},
        )
    )


async def test_over_stdio_in_one_process_and_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with Client(stdio(data)) as client:
        await tour(client)
        await call(client, "memory_write", text="The archive password hint is about lighthouses.")
    async with Client(stdio(data)) as client:
        found = await call(client, "memory_search", query_text="What is the archive hint about?")
        assert "lighthouses" in found["memories"][0]["text"]
    listed = rearview("recall", "archive hint", "--json", data=data)
    assert "lighthouses" in listed.stdout


async def test_over_stdio_it_hands_over_to_the_running_service(live: Service) -> None:
    async with Client(stdio(live.data)) as client:
        await tour(client)
        found = await call(client, "memory_search", query_text="Who takes over during her vacation?")
        assert "fri-11" in [m["ref"] for m in found["memories"]]
