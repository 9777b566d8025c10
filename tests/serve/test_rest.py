"""REST on the real service: Ray Serve, Milvus Lite and the packaged model."""

import json
import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import Service, rearview, wait_for


@pytest.fixture
def http(live: Service) -> Any:
    with live.client() as client:
        yield client


def token_for(live: Service, *arguments: str) -> str:
    done = rearview("token", "create", *arguments, "--json", data=live.data)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["token"])


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = dict(answer.json())
    assert {"type", "title", "status", "detail", "errors", "retryable"} <= set(body)
    assert body["status"] == status
    return body


def write(http: httpx.Client, **memory: Any) -> dict[str, Any]:
    answer = http.post("/v1/memories", json=memory)
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["receipts"][0])


def recall(http: httpx.Client, query: str, **fields: Any) -> list[dict[str, Any]]:
    answer = http.post("/v1/recall", json={"query": query} | fields)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["memories"])


def test_it_is_alive_ready_and_measured(live: Service) -> None:
    with httpx.Client(base_url=live.url, trust_env=False) as nobody:
        assert nobody.get("/livez").status_code == 200
        assert nobody.get("/readyz").json() == {"ready": True, "missing": []}
        metrics = nobody.get("/metrics").text
        for name in (
            "rearview_requests_total",
            "rearview_request_seconds_bucket",
            "rearview_writes_total",
            "rearview_rejected_rows",
        ):
            assert name in metrics
        assert nobody.get("/docs").status_code == 200


def test_the_sample_was_written_and_is_found(http: httpx.Client) -> None:
    refs = [m["ref"] for m in recall(http, "Who takes over during her vacation?")]
    assert "fri-11" in refs[:3]


def test_a_memory_lives_through_every_verb(http: httpx.Client) -> None:
    receipt = write(
        http, text="The staging database is called heron.", kind="fact", tags=["db"], ref="x-1", data={"a": [1]}
    )
    assert receipt["status"] == "stored"
    id_ = receipt["id"]
    got = http.get(f"/v1/memories/{id_}")
    memory = got.json()
    assert (memory["text"], memory["data"], memory["version"]) == (
        "The staging database is called heron.",
        {"a": [1]},
        1,
    )
    assert got.headers["etag"] == '"1"'
    [hit] = recall(http, "What is the staging database called?", top_k=1)
    assert (hit["id"], hit["ref"]) == (id_, "x-1")
    assert 0 < hit["score"] <= 1
    assert (
        http.patch(f"/v1/memories/{id_}", json={"tags": ["db", "staging"]}, headers={"If-Match": "1"}).json()["version"]
        == 2
    )
    problem(http.patch(f"/v1/memories/{id_}", json={"tags": []}, headers={"If-Match": '"1"'}), 409)
    listed = http.get("/v1/memories", params={"tags": "staging"}).json()["memories"]
    assert [m["id"] for m in listed] == [id_]
    assert http.delete(f"/v1/memories/{id_}").json()["forgotten"] == 1
    problem(http.get(f"/v1/memories/{id_}"), 404)
    assert id_ not in [m["id"] for m in recall(http, "What is the staging database called?")]
    again = write(http, text="The staging database is called heron.", kind="fact")
    assert (again["id"], again["status"]) == (id_, "stored")


def test_a_batch_answers_in_order(http: httpx.Client) -> None:
    memories = [{"text": f"batch fact {n}"} for n in (1, 2, 1)]
    receipts = http.post("/v1/memories", json={"memories": memories}).json()["receipts"]
    assert [r["status"] for r in receipts] == ["stored", "stored", "duplicate"]
    assert receipts[0]["id"] == receipts[2]["id"]


def test_a_batch_with_one_bad_item_stores_nothing(http: httpx.Client) -> None:
    name = uuid.uuid4().hex
    body = problem(http.post("/v1/memories", json={"memories": [{"text": name}, {"text": name, "colour": "red"}]}), 422)
    assert body["errors"][0]["field"] == "memories[1].colour"
    assert body["errors"][0]["remedy"]
    assert recall(http, name, mode="exact") == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"text": ""}', "text"),
        (b'{"text": " \\n "}', "text"),
        (json.dumps({"text": "x" * 16_385}).encode(), "text"),
        (b'{"text": "a\\u0000b"}', "text"),
        (b'{"text": "a\\ud800b"}', "text"),
        (b'{"text": "a", "colour": 1}', "colour"),
        (b'{"text": 1}', "text"),
        (b"{", "body"),
        (b'{"text": "\xff"}', "body"),
        (b"[1]", "body"),
        (b'{"memories": []}', "memories"),
    ],
)
def test_bad_writes(http: httpx.Client, body: bytes, field: str) -> None:
    errors = problem(http.post("/v1/memories", content=body), 422)["errors"]
    assert errors[0]["field"] == field
    assert errors[0]["remedy"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"top_k": 0}, "top_k"),
        ({"top_k": 1000}, "top_k"),
        ({"filters": {"colour": 1}}, "filters.colour"),
        ({"query": ""}, "query"),
    ],
)
def test_bad_recalls(http: httpx.Client, change: dict[str, Any], field: str) -> None:
    errors = problem(http.post("/v1/recall", json={"query": "x"} | change), 422)["errors"]
    assert errors[0]["field"] == field


def test_a_body_over_the_limit(http: httpx.Client) -> None:
    problem(http.post("/v1/memories", content=b'{"text": "' + b"x" * (17 * 2**20) + b'"}'), 413)


@pytest.mark.parametrize("id_", ["m_" + "a" * 32, "nonsense", "m_%22%20or%201", "x" * 500])
def test_unknown_ids_answer_alike(http: httpx.Client, id_: str) -> None:
    for answer in (
        http.get(f"/v1/memories/{id_}"),
        http.delete(f"/v1/memories/{id_}"),
        http.patch(f"/v1/memories/{id_}", json={"tags": []}),
    ):
        body = problem(answer, 404)
        assert body["detail"] == "no such memory"


def test_unknown_paths_and_methods_are_problems_too(http: httpx.Client) -> None:
    problem(http.get("/v1/nothing"), 404)
    problem(http.put("/v1/recall"), 405)


def test_who_may_do_what(live: Service, http: httpx.Client) -> None:
    mine = write(http, text=f"private to the default tenant {uuid.uuid4()}")
    reader = token_for(live, "--role", "reader")
    user = token_for(live, "--role", "writer", "--agent", "a", "--user", "u")
    other = token_for(live, "--tenant", "other", "--role", "admin")
    with httpx.Client(base_url=live.url, trust_env=False) as nobody:
        problem(nobody.post("/v1/recall", json={"query": "x"}), 401)
        assert nobody.get("/v1/stats").headers["www-authenticate"] == "Bearer"
    with live.client("rv_wrong") as wrong:
        problem(wrong.post("/v1/recall", json={"query": "x"}), 401)
    with live.client(other) as http_:
        wait_for(lambda: http_.get("/v1/stats").status_code == 200, 5)  # a running service knows within 5 s
    with live.client(reader) as http_:
        assert http_.get(f"/v1/memories/{mine['id']}").status_code == 200
        problem(http_.post("/v1/memories", json={"text": "x"}), 403)
        problem(http_.delete(f"/v1/memories/{mine['id']}"), 403)
        problem(http_.get("/v1/memories", params={"state": "superseded"}), 403)
    with live.client(user) as http_:
        problem(http_.post("/v1/memories", json={"text": "x", "user": "v"}), 403)
        problem(http_.post("/v1/recall", json={"query": "x", "filters": {"user": "v"}}), 403)
        problem(http_.post("/v1/memories", json={"text": "x", "visibility": "shared"}), 403)
        assert write(http_, text="u likes tea")["status"] == "stored"
    with live.client(other) as http_:
        unknown = http_.get("/v1/memories/m_" + "a" * 32)
        theirs = http_.get(f"/v1/memories/{mine['id']}")
        assert (unknown.status_code, unknown.json()) == (theirs.status_code, theirs.json())
        assert recall(http_, "private to the default tenant") == []
        assert http_.get("/v1/stats").json()["memories"]["active"] == 0


def test_fifty_parallel_writers_make_one_memory(live: Service) -> None:
    text = f"written by fifty {uuid.uuid4()}"

    def one(_: int) -> dict[str, Any]:
        with live.client() as client:
            return write(client, text=text)

    with ThreadPoolExecutor(50) as pool:
        receipts = list(pool.map(one, range(50)))
    assert len({r["id"] for r in receipts}) == 1
    assert [r["status"] for r in receipts].count("stored") == 1


ODD = [
    'say "hi" \\ and \\" or tenant != ""',
    "100%_*?",
    "{x} ${y} {{z}}",
    "🦀🦀🦀",
    "مرحبا بالعالم",
    "\u202eright to left",
    "550e8400-e29b-41d4-a716-446655440000",
    "'; DROP TABLE memories; --",
    '"] or array_contains(tags, "',
    "\\",
    "'",
    "%",
    "line one\nline two\ttab\r",
]


@pytest.mark.parametrize("text", ODD)
def test_odd_text_is_stored_and_found_as_it_is(http: httpx.Client, text: str) -> None:
    receipt = write(http, text=text, tags=[text.strip()[:64]], key=text, metadata={text: text})
    assert http.get(f"/v1/memories/{receipt['id']}").json()["text"] == text
    assert receipt["id"] in [m["id"] for m in recall(http, text, mode="exact")]
    assert receipt["id"] in [m["id"] for m in recall(http, text, top_k=10)]
    filters = {"tags": [text.strip()[:64]], "key": text, "metadata": {text: text}}
    assert [m["id"] for m in recall(http, text, filters=filters)] == [receipt["id"]]


def test_a_long_text_is_found_by_a_sentence_near_its_end(http: httpx.Client) -> None:
    filler = "The meeting went on about the budget of the second quarter and the parking lot. "
    text = filler * 188 + "The spare key hangs behind the blue boiler."
    assert 15_000 < len(text) < 16_384
    receipt = write(http, text=text)
    [best, *_] = recall(http, "Where does the spare key hang?")
    assert best["id"] == receipt["id"]
    assert "blue boiler" in best["text"]
    assert best["excerpt"]["of"] == len(text)
    whole = recall(http, "Where does the spare key hang?", token_budget=None)
    assert whole[0]["text"] == text


def test_chinese_is_found_by_keyword_alone(http: httpx.Client) -> None:
    found = recall(http, "外币汇率换算", mode="keyword")
    assert found[0]["ref"] in ("thu-7", "thu-10")
    assert "汇率" in recall(http, "汇率", mode="keyword")[0]["text"]
    stored = http.get("/v1/memories", params={"ref": "thu-7"}).json()["memories"][0]
    assert stored["text"] == "外币汇率换算用哪个来源？上次有客户投诉金额不对。"


def test_context_is_a_block_within_its_budget(http: httpx.Client) -> None:
    body = http.post(
        "/v1/context", json={"query": "When do releases of the help center go out?", "token_budget": 120}
    ).json()
    assert body["tokens"] <= 120
    assert "Tuesday" in body["text"]
    assert body["memories"]


def test_an_idempotency_key_gives_the_first_answer(http: httpx.Client) -> None:
    body = {"text": f"once {uuid.uuid4()}"}
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    first = http.post("/v1/memories", json=body, headers=headers).json()
    assert http.post("/v1/memories", json=body, headers=headers).json() == first
    problem(http.post("/v1/memories", json={"text": "other"}, headers=headers), 422)


def test_reflection_says_that_it_is_not_built(http: httpx.Client) -> None:
    problem(http.post("/v1/reflect", json={"task": "no such task"}), 404)
    problem(http.post("/v1/reflect", json={"task": "t", "session": "s"}), 422)


def test_openapi_describes_what_is_answered(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    assert {"/v1/memories", "/v1/memories/{id}", "/v1/recall", "/v1/context", "/v1/stats", "/readyz"} <= set(
        document["paths"]
    )
    post = document["paths"]["/v1/recall"]["post"]
    examples = post["requestBody"]["content"]["application/json"]["examples"]
    for example in examples.values():
        assert http.post("/v1/recall", json=example["value"]).status_code == 200
    fields = document["components"]["schemas"]["Draft"]["properties"]
    assert {"text", "layer", "kind", "tags", "occurred_at"} <= set(fields)
    known = set(document["components"]["schemas"])
    for reference in _references(document):
        assert reference.removeprefix("#/components/schemas/") in known
    for example in document["paths"]["/v1/memories"]["post"]["requestBody"]["content"]["application/json"][
        "examples"
    ].values():
        assert http.post("/v1/memories", json=example["value"]).status_code == 201


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [r for v in node.values() for r in _references(v)]
    return [r for v in node for r in _references(v)] if isinstance(node, list) else []


def test_a_recall_can_be_traced_and_judged(http: httpx.Client, live: Service) -> None:
    text = f"The zebra crossing {uuid.uuid4()} was painted green."
    id_ = write(http, text=text)["id"]
    answer = http.post("/v1/recall", json={"query": "Which colour is the zebra crossing?", "top_k": 1}).json()
    trace = http.get(f"/v1/recalls/{answer['recall_id']}").json()
    assert [m["id"] for m in trace["memories"]] == [m["id"] for m in answer["memories"]]
    assert text not in json.dumps(trace)
    judged = http.post("/v1/feedback", json={"recall_id": answer["recall_id"], "id": id_, "helpful": True})
    assert judged.json() == {"id": id_, "used": 1, "helpful": 1, "unhelpful": 0}
    metrics = http.get("/metrics").text
    assert 'rearview_feedback_total{verdict="helpful"}' in metrics
    assert "rearview_recalled_unused" in metrics
    problem(http.get("/v1/recalls/r_unknown"), 404)
    problem(http.post("/v1/feedback", json={"id": "m_unknown", "used": True}), 404)
    assert problem(http.post("/v1/feedback", json={"id": id_}), 422)["errors"][0]["remedy"]
    with live.client(token_for(live, "--tenant", "default", "--agent", "other", "--role", "reader")) as other:
        problem(other.get(f"/v1/recalls/{answer['recall_id']}"), 404)


def test_late_interaction_ran_and_says_so(http: httpx.Client) -> None:
    answer = http.post("/v1/recall", json={"query": "what about the refund?", "explain": True}).json()
    assert answer["degraded"] == []
    explain = answer["explain"]
    assert explain["late"].startswith("answerai-colbert-small-v1@")
    assert explain["routes"]["late"] == explain["considered"] > 50
    assert {"late", "keyword", "dense"} <= set(answer["memories"][0]["explain"]["shares"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "   "}, "query"),
        ({"query": "x" * 16_385}, "query"),
        ({"query": "tea", "top_k": 101}, "top_k"),
        ({"query": "tea", "timezone": "Mars/Olympus"}, "timezone"),
        ({"query": "tea", "as_of": "2999-01-01T00:00:00Z"}, "as_of"),
        ({"query": "tea", "filters": {"since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}}, "filters"),
    ],
)
def test_a_bad_question_is_named(http: httpx.Client, body: dict[str, Any], field: str) -> None:
    for path in ("/v1/recall", "/v1/context"):
        assert problem(http.post(path, json=body), 422)["errors"][0]["field"] == field


@pytest.mark.parametrize(
    "query",
    ["the of and", "?!…", "🎉", "x" * 10_240, "สวัสดีชาวโลก", "مرحبا", '" OR 1=1 --', "%_\\"],
)
def test_an_odd_question_is_answered_and_never_with_everything(http: httpx.Client, query: str) -> None:
    answer = http.post("/v1/recall", json={"query": query, "top_k": 100, "token_budget": None})
    assert answer.status_code == 200, answer.text
    stored = http.get("/v1/stats").json()["memories"]["active"]
    assert len(answer.json()["memories"]) < stored


def test_contradictory_filters_and_a_tiny_budget_are_no_errors(http: httpx.Client) -> None:
    write(http, text="The budget test memory has more than four tokens in it.", tags=["budget-test"])
    filters = {"tags": ["budget-test"]}
    none = http.post("/v1/recall", json={"query": "budget", "filters": filters | {"kind": "decision"}}).json()
    assert none["memories"] == []
    tiny = http.post("/v1/recall", json={"query": "budget", "filters": filters, "token_budget": 1}).json()
    assert (tiny["memories"], tiny["hidden"]["budget"]) == ([], 1)


def test_every_metric_of_the_alert_rules_is_shown(http: httpx.Client) -> None:
    rules = (Path(__file__).parents[2] / "docs" / "examples" / "alerts.yaml").read_text()
    shown = http.get("/metrics").text
    named = set(re.findall(r"\brearview_\w+", "\n".join(line for line in rules.splitlines() if "expr:" in line)))
    assert len(named) >= 3
    for name in named:
        assert re.search(rf"\b{name.removesuffix('_bucket')}\b", shown), name
    assert 'route="/v1/recall"' in shown
