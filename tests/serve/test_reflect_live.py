"""Reflection on the real service: over REST, over MCP with the official client, on the command line."""

import json
import time

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.conftest import Service, rearview
from tests.pipelines.test_reflect import DEPLOYS

SECONDS = 90.0


def episodes(kind: str) -> dict[str, object]:
    of = [
        {"text": f"{text} ({kind})", "outcome": outcome, "layer": "episodic", "task_type": kind}
        for text, outcome in DEPLOYS[:6]
    ]
    return {"memories": of}


def test_over_rest(live: Service) -> None:
    with live.client() as http:
        ids = [r["id"] for r in http.post("/v1/memories", json=episodes("live-deploy")).json()["receipts"]]
        started = http.post("/v1/reflect", json={"task_type": "live-deploy"})
        assert started.status_code == 202
        end = time.monotonic() + SECONDS
        while (found := http.get(f"/v1/reflections/{started.json()['id']}").json())["status"] in ("queued", "running"):
            assert time.monotonic() < end, found
            time.sleep(0.2)
        assert (found["status"], found["mode"]) == ("done", "extractive"), found
        lesson = http.get(f"/v1/memories/{found['lessons'][0]}").json()
        assert "friday" in lesson["text"].lower()
        assert set(lesson["source"]["derived_from"]) <= set(ids)
        hits = http.post("/v1/recall", json={"query": "What to mind on a Friday?", "filters": {"kind": "rule"}}).json()
        assert lesson["id"] in [m["id"] for m in hits["memories"]]
        assert http.post("/v1/reflect", json={"task": "unheard of"}).status_code == 404
        assert http.post("/v1/reflect", json={}).status_code == 422


async def test_over_mcp(live: Service) -> None:
    with live.client() as http:
        http.post("/v1/memories", json=episodes("mcp-deploy"))
    async with (
        create_mcp_http_client(headers=live.headers) as http_client,
        Client(streamable_http_client(f"{live.url}/mcp/", http_client=http_client)) as client,
    ):
        answer = await client.call_tool("memory_reflect", {"task_type": "mcp-deploy"})
        assert not answer.is_error
        found = answer.structured_content
        assert found["status"] in ("queued", "running", "done")
        if found["status"] == "done":
            assert "riday" in found["lesson_texts"][0]
        bad = await client.call_tool("memory_reflect", {"task": "a", "session": "b"})
        assert bad.is_error


def test_on_the_command_line(live: Service) -> None:
    with live.client() as http:
        http.post("/v1/memories", json=episodes("cli-deploy"))
    done = rearview("reflect", "--task-type", "cli-deploy", data=live.data)
    assert (done.returncode, "done, extractive: 1 lessons" in done.stdout) == (0, True), done.stdout + done.stderr
    assert rearview("session", "start", "cli-1", "--goal", "Deploy it.", data=live.data).returncode == 0
    held = json.loads(rearview("session", "show", "cli-1", "--json", data=live.data).stdout)
    assert held["state"]["goal"] == "Deploy it."
    ended = rearview("session", "end", "cli-1", "--json", data=live.data)
    assert json.loads(ended.stdout)["receipts"][0]["status"] == "stored", ended.stderr
    summed = rearview("summarize", "--session", "never", data=live.data)
    assert (summed.returncode, "no such session" in summed.stderr) == (1, True)
