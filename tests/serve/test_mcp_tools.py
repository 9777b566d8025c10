"""The tools over fakes, with the official client in this process."""

import asyncio
from typing import Any

import pytest
from mcp import Client

from rearview_pipelines.ports import Vector
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.service import MemoryService
from rearview_pipelines.testing import HashEmbedder
from rearview_serve import mcp
from rearview_serve.mcp_tools import Tools, specs_of

ADMIN = Principal("default", Role.ADMIN)


def server(service: MemoryService, who: Principal = ADMIN, seconds: float = 3.0) -> Any:
    return mcp.build(Tools(service, seconds), lambda: who)


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content)


async def test_the_tools_and_their_hints(service: MemoryService) -> None:
    async with Client(server(service)) as client:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        assert set(tools) == {
            "memory_write",
            "memory_search",
            "memory_update",
            "memory_forget",
            "memory_summarize",
            "memory_reflect",
            "memory_feedback",
        }
        assert tools["memory_search"].annotations.read_only_hint
        assert tools["memory_forget"].annotations.destructive_hint
        parameters = {p for t in tools.values() for p in t.input_schema["properties"]}
        assert not {"tenant", "agent", "user"} & parameters
        assert "上次" in (client.instructions or "")


async def test_sharing_is_offered_only_to_who_may(service: MemoryService) -> None:
    for role, offered in ((Role.WRITER, False), (Role.ADMIN, True)):
        async with Client(server(service, Principal("t", role))) as client:
            tools = {t.name: t for t in (await client.list_tools()).tools}
            assert ("visibility" in tools["memory_write"].input_schema["properties"]) is offered


async def test_write_search_update_forget(service: MemoryService) -> None:
    async with Client(server(service)) as client:
        [receipt] = (await call(client, "memory_write", text="The user drinks green tea", tags=["drink"]))["receipts"]
        assert receipt["status"] == "stored"
        found = await call(client, "memory_search", query_text="green tea", tags=["drink"])
        assert found["memories"][0]["id"] == receipt["id"]
        assert not {"tenant", "derived"} & set(found["memories"][0])
        await call(client, "memory_update", memory_id=receipt["id"], importance=0.9)
        weak = await call(client, "memory_forget", memory_ids=[receipt["id"]], weaken=True)
        assert weak["weakened"] == 1
        found = await call(client, "memory_search", query_text="green tea")
        assert found["memories"][0]["importance"] == 0.45
        assert (await call(client, "memory_forget", memory_ids=[receipt["id"]], dry_run=True))["forgotten"] == 0
        assert (await call(client, "memory_forget", memory_ids=[receipt["id"]]))["forgotten"] == 1
        assert (await call(client, "memory_search", query_text="green tea"))["memories"] == []


async def test_names_of_other_systems_are_answered(service: MemoryService) -> None:
    async with Client(server(service)) as client:
        await call(client, "memory_store", text="tea")
        assert (await call(client, "memory_recall", query_text="tea"))["memories"]


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("memory_write", {"text": ""}, "text"),
        ("memory_write", {"text": "x", "tenant": "t"}, "tenant"),
        ("memory_write", {"text": "x", "user": "t"}, "user"),
        ("memory_search", {"query_text": "x", "top_k": 21}, "top_k"),
        ("memory_search", {"query_text": "x", "time_range": "yesterday"}, "time_range"),
        ("memory_search", {"query_text": "x", "time_range": "foo~bar"}, "time_range"),
        ("memory_search", {}, "query_text"),
        ("memory_forget", {}, "memory_ids"),
        ("memory_fly", {}, "name"),
    ],
)
async def test_bad_arguments_answer_a_problem(
    service: MemoryService, name: str, arguments: dict[str, Any], field: str
) -> None:
    async with Client(server(service)) as client:
        result = await client.call_tool(name, arguments)
        assert result.is_error
        problem = dict(result.structured_content)
        assert problem["status"] == 422
        assert problem["errors"][0]["field"] == field
        assert problem["errors"][0]["remedy"]


async def test_what_was_stored_comes_back_as_it_was(service: MemoryService) -> None:
    data = {"a": None, "b": [], "c": {"d": ""}}
    async with Client(server(service)) as client:
        await call(client, "memory_write", text="tea", data=data)
        found = await call(client, "memory_search", query_text="tea")
        assert found["memories"][0]["data"] == data
        assert found["memories"][0]["tags"] == []


async def test_weakening_a_session_leaves_its_history_alone(service: MemoryService) -> None:
    async with Client(server(service)) as client:
        [old] = (await call(client, "memory_write", text="tea at one", session="s"))["receipts"]
        [new] = (await call(client, "memory_update", memory_id=old["id"], text="tea at two"))["receipts"]
        weak = await call(client, "memory_forget", session="s", weaken=True)
        assert weak["ids"] == [new["id"]]
        unknown = await client.call_tool("memory_forget", {"memory_ids": [new["id"], "m_" + "a" * 32], "weaken": True})
        assert unknown.is_error
        found = await call(client, "memory_search", query_text="tea at two")
        assert found["memories"][0]["importance"] == 0.25


async def test_a_time_range_narrows(service: MemoryService) -> None:
    async with Client(server(service)) as client:
        for day in ("2026-11-01", "2026-11-20"):
            await call(client, "memory_write", text=f"tea on {day}", occurred_at=f"{day}T12:00:00Z")
        found = await call(client, "memory_search", query_text="tea", time_range="2026-11-20~2026-11-20")
        assert [m["text"] for m in found["memories"]] == ["tea on 2026-11-20"]


class SlowEmbedder(HashEmbedder):
    """Answers, but late."""

    async def documents(self, passages: Any) -> Any:
        await asyncio.sleep(0.5)
        return await super().documents(passages)

    async def query(self, text: str) -> Vector:
        await asyncio.sleep(30)
        return await super().query(text)


class TestLate:
    @pytest.fixture
    def embedder(self) -> HashEmbedder:
        return SlowEmbedder()

    async def test_a_late_search_answers_without_the_late_part(self, service: MemoryService) -> None:
        async with Client(server(service, seconds=0.3)) as client:
            found = await call(client, "memory_search", query_text="tea")
            assert found["memories"] == []
            assert "deadline" in found["degraded"]

    async def test_a_late_write_goes_on_and_answers_when_asked_again(self, service: MemoryService) -> None:
        async with Client(server(service, seconds=0.1)) as client:
            late = await call(client, "memory_write", text="slow tea", request_id="w1")
            assert late["retryable"] is True
            assert late["request_id"] == "w1"
            answer = late
            for _ in range(50):
                answer = await call(client, "memory_write", text="slow tea", request_id="w1")
                if "receipts" in answer:
                    break
            assert answer["receipts"][0]["status"] == "stored"


async def test_feedback_on_what_a_search_gave(service: MemoryService) -> None:
    async with Client(server(service)) as client:
        await call(client, "memory_write", text="The kettle is blue.")
        found = await call(client, "memory_search", query_text="kettle")
        [memory] = found["memories"]
        judged = await call(
            client, "memory_feedback", memory_id=memory["id"], recall_id=found["recall_id"], used=True, helpful=False
        )
        assert judged == {"id": memory["id"], "used": 1, "helpful": 0, "unhelpful": 1}
        nothing = await client.call_tool("memory_feedback", {"memory_id": memory["id"]})
        assert nothing.is_error
        unknown = await client.call_tool("memory_feedback", {"memory_id": "m_nobody", "used": True})
        assert unknown.structured_content["status"] == 404


async def test_a_setting_narrows_the_tools_to_what_is_needed_at_least(service: MemoryService) -> None:
    async with Client(mcp.build(Tools(service, 3.0), lambda: ADMIN, specs_of("core"))) as client:
        assert [t.name for t in (await client.list_tools()).tools] == [
            "memory_write", "memory_search", "memory_update", "memory_forget",
        ]  # fmt: skip
        refused = await client.call_tool("memory_feedback", {"memory_id": "m", "used": True})
        assert refused.is_error


async def test_a_search_takes_what_it_does_not_say_from_the_settings(service: MemoryService) -> None:
    tools = Tools(service, 3.0, defaults={"top_k": 2, "token_budget": None})
    async with Client(mcp.build(tools, lambda: ADMIN)) as client:
        for n in range(4):
            await call(client, "memory_write", text=f"kettle number {n}")
        assert len((await call(client, "memory_search", query_text="kettle"))["memories"]) == 2
        assert len((await call(client, "memory_search", query_text="kettle", top_k=3))["memories"]) == 3
