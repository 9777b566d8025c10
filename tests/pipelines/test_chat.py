"""A language model over the wire: what it is asked, how its answer is read, and every way in which it may fail."""

import asyncio

import pytest
from pydantic import BaseModel

from rearview_pipelines.models.chat import ModelFailed, OpenAIChat, TooLong, read_answer
from rearview_pipelines.models.chat_options import ChatOptions
from tests.chat_server import scripted


class Out(BaseModel):
    rules: list[str]


def chat(url: str, **changes: object) -> OpenAIChat:
    return OpenAIChat(ChatOptions(**{"url": url, "model": "m", "key": "sk-1", "seconds": 20, "retries": 1, **changes}))  # type: ignore[arg-type]


async def test_it_is_asked_with_a_schema_and_the_key() -> None:
    async with scripted('{"rules": ["a"]}') as server:
        model = chat(server.url)
        assert (await model.ask("s", "q", Out)).rules == ["a"]
        [asked] = server.asked
        assert (asked["model"], [m["role"] for m in asked["messages"]]) == ("m", ["system", "user"])
        assert asked["response_format"]["json_schema"]["schema"]["properties"]["rules"]
        assert "sk-1" in server.headers[0]
        assert model.spent == 100


@pytest.mark.parametrize(
    "text",
    [
        '{"rules": ["a"]}',
        'Here you are:\n```json\n{"rules": ["a"]}\n```\nAnything else?',
        '{"rules": ["a",]}',
        "{'rules': ['a']}",
        '{"rules": ["a"',
        '["a"]',
        '{"rules": ["a"], "comment": "x"}',
    ],
)
def test_what_is_nearly_json_is_read(text: str) -> None:
    assert read_answer(text, Out).rules == ["a"]


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "empty"), ("I cannot help with that.", "json"), ('{"rules": 5}', "schema"), ("{" * 5000, "schema")],
)
def test_what_is_not_is_named(text: str, why: str) -> None:
    with pytest.raises(ModelFailed) as caught:
        read_answer(text, Out)
    assert caught.value.why in (why, "json")


async def test_a_server_that_knows_no_schema_is_asked_more_plainly() -> None:
    async with scripted(400, 400, '{"rules": []}', '{"rules": []}') as server:
        model = chat(server.url)
        await model.ask("s", "q", Out)
        await model.ask("s", "q", Out)
        kinds = [asked.get("response_format", {}).get("type") for asked in server.asked]
        assert kinds == ["json_schema", "json_object", None, None]


async def test_a_429_and_a_500_are_tried_again_and_named_when_they_stay() -> None:
    async with scripted(429, '{"rules": []}') as server:
        model = chat(server.url)
        await model.ask("s", "q", Out)
    for status, why in ((429, "rate_limited"), (503, "status_503"), (401, "status_401")):
        async with scripted(status) as server:
            model = chat(server.url)
            with pytest.raises(ModelFailed) as caught:
                await model.ask("s", "q", Out)
            assert caught.value.why == why
            assert "sk-1" not in str(caught.value)


async def test_a_question_that_is_too_long_is_told_apart() -> None:
    said = {
        "status": 400,
        "message": "This model's maximum context length is 2048 tokens",
        "code": "context_length_exceeded",
    }
    async with scripted(said) as server:
        model = chat(server.url)
        with pytest.raises(TooLong):
            await model.ask("s", "q", Out)


async def test_silence_and_nobody_there_end_in_time() -> None:
    async with scripted(5.0) as server:
        model = chat(server.url, seconds=0.1, retries=0)
        with pytest.raises(ModelFailed) as caught:
            await model.ask("s", "q", Out)
        assert caught.value.why == "timeout"
    model = chat("http://127.0.0.1:9/v1", retries=0)
    with pytest.raises(ModelFailed) as caught:
        await model.ask("s", "q", Out)
    assert caught.value.why == "unreachable"


async def test_a_day_has_so_many_tokens() -> None:
    async with scripted('{"rules": []}') as server:
        model = chat(server.url, tokens_a_day=150)
        await model.ask("s", "q", Out)
        await model.ask("s", "q", Out)
        with pytest.raises(ModelFailed) as caught:
            await model.ask("s", "q", Out)
        assert caught.value.why == "budget"
        assert len(server.asked) == 2


async def test_only_so_many_answers_are_waited_for_at_once() -> None:
    async with scripted('{"rules": []}') as server:
        model = chat(server.url, concurrency=1)
        await asyncio.gather(*(model.ask("s", "q", Out) for _ in range(4)))
        assert len(server.asked) == 4


def test_no_key_is_shown() -> None:
    assert "sk-1" not in repr(ChatOptions("u", "m", key="sk-1"))
