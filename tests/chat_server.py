"""A scripted OpenAI-compatible server on loopback: answers what a test tells it to, and notes what it was asked."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Answer = str | int | float | dict[str, Any]
"""A text; a status; seconds of silence; or a whole body of an error with its `status`."""


@dataclass
class Script:
    """`answers`: in order, the last one again and again; or a function of the request."""

    answers: list[Answer | Callable[[dict[str, Any]], Answer]]
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    url: str = ""


@asynccontextmanager
async def scripted(*answers: Answer | Callable[[dict[str, Any]], Answer]) -> AsyncIterator[Script]:
    script = Script(list(answers))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(re.search(r"(?i)content-length: *(\d+)", head)[1])
                asked = json.loads(await reader.readexactly(length))
                script.asked.append(asked)
                script.headers.append(head)
                answer = script.answers[min(len(script.asked) - 1, len(script.answers) - 1)]
                if callable(answer):
                    answer = answer(asked)
                if isinstance(answer, float):
                    await asyncio.sleep(answer)
                    return
                status, body = _body(answer)
                raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
                writer.write(head.encode() + raw)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        yield script


def _body(answer: Answer) -> tuple[int, Any]:
    if isinstance(answer, int):
        return answer, {"error": {"message": "no", "type": "x"}}
    if isinstance(answer, dict):
        return int(answer["status"]), {"error": {"message": answer["message"], "type": "x", "code": answer.get("code")}}
    message = {"role": "assistant", "content": answer}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 70, "completion_tokens": 30, "total_tokens": 100}
    made = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    return 200, made
