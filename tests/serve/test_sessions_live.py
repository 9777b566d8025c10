"""Sessions over REST on the real service, and summaries over MCP with the official client."""

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.conftest import Service

TURNS = [
    {"role": "user", "text": "Please renew the certificate of shop.example."},
    {"role": "assistant", "text": "The renewal failed with a timeout."},
    {"role": "user", "text": "I prefer to be told by mail when it is done."},
    {"role": "assistant", "text": "The certificate is renewed, done."},
]


def test_a_session_over_rest(live: Service) -> None:
    with live.client() as http:
        begun = http.post("/v1/sessions/cert-1/start", json={"goal": "Renew the certificate."})
        assert begun.status_code == 200
        assert begun.json()["state"]["goal"] == "Renew the certificate."
        assert isinstance(begun.json()["seeds"], list)
        http.post("/v1/observe", json={"session": "cert-1", "turns": TURNS})
        held = http.get("/v1/sessions/cert-1").json()
        assert held["state"]["latest_instruction"] == TURNS[2]["text"]
        state = held["state"] | {"next_step": "Tell the user by mail."}
        put = http.put("/v1/sessions/cert-1", json={"version": held["version"], "state": state})
        assert put.json()["state"]["next_step"] == "Tell the user by mail."
        stale = http.put("/v1/sessions/cert-1", json={"version": held["version"], "state": state})
        assert stale.status_code == 409
        ended = http.post("/v1/sessions/cert-1/end").json()["receipts"]
        assert ended[0]["status"] == "stored"
        episode = http.get(f"/v1/memories/{ended[0]['id']}").json()
        assert (episode["layer"], episode["outcome"]) == ("episodic", "success")
        assert http.get("/v1/sessions/never").status_code == 404
        assert http.post("/v1/sessions/cert-2/start").status_code == 200


async def test_a_summary_over_mcp(live: Service) -> None:
    with live.client() as http:
        http.post("/v1/observe", json={"session": "cert-3", "turns": TURNS})
    async with (
        create_mcp_http_client(headers=live.headers) as http_client,
        Client(streamable_http_client(f"{live.url}/mcp/", http_client=http_client)) as client,
    ):
        answer = await client.call_tool("memory_summarize", {"session": "cert-3"})
        assert not answer.is_error
        assert answer.structured_content["mode"] == "extractive"
        assert 2 in [n for one in answer.structured_content["statements"] for n in one["turns"]]
        bad = await client.call_tool("memory_summarize", {})
        assert bad.is_error
