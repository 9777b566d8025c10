"""`rearview up` as its user meets it: second start, side by side, refusals, Ctrl-C, SIGKILL."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

from rearview_serve import sample
from rearview_serve.milvus_process import free_port
from tests.conftest import Service, port_open, rearview, started, wait_for
from tests.tiny_models import exported, make


def descendants(pid: int) -> set[int]:
    """Every process below one, from /proc."""
    children: dict[int, set[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), set()).add(int(stat.parent.name))
    found: set[int] = set()
    queue = [pid]
    while queue:
        new = children.get(queue.pop(), set()) - found
        found |= new
        queue += new
    return found


def alive(pids: set[int]) -> set[int]:
    def runs(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    return {pid for pid in pids if runs(pid)}


def stats(service: Service) -> int:
    with service.client() as http:
        return int(http.get("/v1/stats").json()["memories"]["active"])


def test_ctrl_c_ends_everything_and_a_second_start_finds_it_all(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with started(data, "--no-sample") as service:
        with service.client() as http:
            http.post("/v1/memories", json={"text": "The lighthouse keeper is called Ines."})
        processes = descendants(service.process.pid) | {service.process.pid}
        assert len(processes) > 5
    assert service.process.returncode == 0
    wait_for(lambda: not alive(processes), 20)
    assert not port_open(int(service.url.rpartition(":")[2]))
    assert not (data / "service.json").exists()
    # With no service, the command line opens the folder itself.
    done = rearview("recall", "Who keeps the lighthouse?", "--json", data=data)
    assert "Ines" in done.stdout, done.stderr
    with started(data, "--no-sample") as service, service.client() as http:
        found = http.post("/v1/recall", json={"query": "Who keeps the lighthouse?"}).json()["memories"]
        assert found[0]["text"] == "The lighthouse keeper is called Ines."


def test_killed_in_the_middle_of_an_import_no_acknowledged_memory_is_lost(tmp_path: Path) -> None:
    data = tmp_path / "data"
    acknowledged: dict[str, str] = {}
    with started(data, "--no-sample") as service:
        processes = descendants(service.process.pid) | {service.process.pid}
        enough = threading.Event()

        def writing() -> None:
            with service.client() as http:
                for n in range(10_000):
                    texts = [f"import line {n} item {i}" for i in range(8)]
                    try:
                        answer = http.post("/v1/memories", json={"memories": [{"text": t} for t in texts]})
                    except httpx.TransportError:
                        return
                    if answer.status_code == 201:
                        ids = (r["id"] for r in answer.json()["receipts"])
                        acknowledged.update(zip(ids, texts, strict=True))
                    if len(acknowledged) > 200:
                        enough.set()

        thread = threading.Thread(target=writing)
        thread.start()
        assert enough.wait(60)
        for pid in alive(processes | descendants(service.process.pid)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # it went with its parent
        thread.join(60)
        service.process.wait(10)
    wait_for(lambda: not alive(processes), 20)
    with started(data, "--no-sample") as service, service.client() as http:
        for id_, text in acknowledged.items():
            answer = http.get(f"/v1/memories/{id_}")
            assert answer.status_code == 200, f"lost: {text}"
            assert answer.json()["text"] == text


def test_a_store_of_another_model_is_one_clear_line(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert rearview("write", "tea", data=data).returncode == 0
    exported("embedder", make("embedder", tmp_path), tmp_path / "tiny")
    done = rearview(
        "up", "--no-sample", data=data, REARVIEW_PORT=str(free_port()), REARVIEW_EMBED_MODEL=str(tmp_path / "tiny")
    )
    assert done.returncode == 1
    [line] = [text for text in done.stderr.splitlines() if text.startswith("rearview: ")]
    assert "REARVIEW_EMBED_MODEL" in line
    assert "Traceback" not in done.stderr
    one_shot = rearview("stats", data=data, REARVIEW_EMBED_MODEL=str(tmp_path / "tiny"))
    assert one_shot.returncode == 1
    assert "REARVIEW_EMBED_MODEL" in one_shot.stderr


def test_a_reranker_by_path_is_used_and_milvus_is_started_again_when_it_dies(tmp_path: Path) -> None:
    exported("reranker", make("reranker", tmp_path), tmp_path / "tiny")
    with (
        started(tmp_path / "data", "--no-sample", REARVIEW_RERANK_MODEL=str(tmp_path / "tiny")) as service,
        service.client() as http,
    ):
        for text in ("green tea", "green car", "tea in a car"):
            http.post("/v1/memories", json={"text": text})
        answer = http.post("/v1/recall", json={"query": "green tea", "explain": True}).json()
        assert answer["degraded"] == []
        assert "off" not in answer["explain"]["reranker"]
        moved = [m["explain"]["order"] != m["explain"]["fused"] for m in answer["memories"]]
        assert any(moved)
        [milvus] = [
            p for p in descendants(service.process.pid) if b"milvus_process" in Path(f"/proc/{p}/cmdline").read_bytes()
        ]
        os.kill(milvus, signal.SIGKILL)
        wait_for(lambda: http.get("/readyz").status_code == 503, 30)
        wait_for(lambda: http.get("/readyz").status_code == 200, 60)
        assert http.post("/v1/memories", json={"text": "written after"}).json()["receipts"][0]["status"] == "stored"
        found = http.post("/v1/recall", json={"query": "green tea written after"}).json()["memories"]
        assert {"green tea", "written after"} <= {m["text"] for m in found}


@pytest.mark.parametrize(("deployment", "word"), [("Rerank", "reranker"), ("Embed", "embedder")])
def test_recalls_go_on_while_a_model_is_started_again(tmp_path: Path, deployment: str, word: str) -> None:
    with started(tmp_path / "data", "--no-sample") as service, service.client() as http:
        http.post("/v1/memories", json={"memories": [{"text": "green tea"}, {"text": "the car is red"}]})

        def ask(query: str) -> httpx.Response:
            return http.post("/v1/recall", json={"query": query, "deadline_ms": 2000})

        wait_for(lambda: ask("tea, first").json()["degraded"] == [], 30)
        [replica] = [
            p
            for p in descendants(service.process.pid)
            if f"ServeReplica:rearview:{deployment}".encode() in Path(f"/proc/{p}/cmdline").read_bytes()
        ]
        os.kill(replica, signal.SIGKILL)
        seen: list[list[str]] = []

        def whole_again() -> bool:
            answer = ask(f"tea number {len(seen)}")
            assert answer.status_code == 200, answer.text
            assert answer.json()["memories"][0]["text"] == "green tea"
            seen.append(answer.json()["degraded"])
            return seen[-1] == [] and len(seen) > 1

        wait_for(whole_again, 90)
        assert any(word in degraded for degraded in seen)


def test_the_parent_alone_killed_leaves_no_orphan(tmp_path: Path) -> None:
    with started(tmp_path / "data", "--no-sample") as service:
        processes = descendants(service.process.pid)
        service.process.kill()
        service.process.wait(10)
    wait_for(lambda: not alive(processes), 120)  # Ray's two agents look for their raylet once a minute


def test_two_services_live_side_by_side(live: Service, tmp_path: Path) -> None:
    with started(tmp_path / "second", "--no-sample") as second:
        assert stats(second) == 0
        with second.client() as http:
            http.post("/v1/memories", json={"text": "only in the second"})
        assert stats(second) == 1
        with live.client() as http:
            assert (
                http.post("/v1/recall", json={"query": "only in the second", "mode": "exact"}).json()["memories"] == []
            )
            assert http.get("/readyz").status_code == 200


def test_a_taken_port_is_one_clear_line(live: Service, tmp_path: Path) -> None:
    done = rearview("up", data=tmp_path / "data", REARVIEW_PORT=live.url.rpartition(":")[2])
    assert done.returncode == 1
    [line] = [text for text in done.stderr.splitlines() if text]
    assert "REARVIEW_PORT" in line
    assert live.url.rpartition(":")[2] in line


def test_a_locked_folder_is_one_clear_line(live: Service) -> None:
    done = rearview("up", "--port", "18999", data=live.data)
    assert done.returncode == 1
    [line] = [text for text in done.stderr.splitlines() if text]
    assert str(live.data) in line
    assert "REARVIEW_DATA" in line


def test_everything_of_ours_listens_on_loopback_only(live: Service) -> None:
    """HAProxy's and Milvus's ports; Ray's own processes listen everywhere and ask for a token."""
    ours: set[int] = set()
    for pid in descendants(live.process.pid):
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        if "haproxy" in command or "milvus_process" in command:
            ours |= {
                int(os.readlink(f)[8:-1])
                for f in Path(f"/proc/{pid}/fd").iterdir()
                if os.readlink(f).startswith("socket:")
            }
    assert ours
    seen = 0
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for row in Path(table).read_text().splitlines()[1:]:
            fields = row.split()
            if fields[3] == "0A" and int(fields[9]) in ours:
                address = fields[1].partition(":")[0]
                assert address.endswith("7F") or address == "0" * 24 + "01000000", row
                seen += 1
    assert seen >= 4  # the service, HAProxy's statistics and metrics, Milvus


def test_the_sample_is_about_eighty_turns_with_refs_and_five_questions() -> None:
    turns = list(sample.lines(sample.path("support-week.jsonl")))
    questions = list(sample.lines(sample.path("support-week.questions.jsonl")))
    refs = {t["ref"] for t in turns}
    assert 75 <= len(turns) == len(refs)
    assert len({t["session"] for t in turns}) >= 4
    assert any("\u4e00" <= c <= "\u9fff" for t in turns for c in t["text"])
    assert len(questions) == 5
    assert all(set(q["refs"]) <= refs for q in questions)


def test_the_sample_was_shown_with_five_right_answers(live: Service) -> None:
    out = (live.data.parent / f"{live.data.name}.out").read_text()
    assert "5 of 5 questions answered" in out
    assert "82 stored" in out
    assert f"{live.url}/mcp/" in out
    assert f"{live.url}/docs" in out
    assert live.token in out
    for word in ("models", "Milvus", "Ray", "ready in"):
        assert word in out


def test_the_command_line_speaks_to_the_running_service(live: Service, tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    file.write_text("".join(json.dumps({"text": f"imported fact {n} about otters"}) + "\n" for n in range(130)))
    done = rearview("import", str(file), "--json", data=live.data)
    report = json.loads(done.stdout)
    assert (report["lines"], report["stored"], report["manifest"]) == (130, 130, "none"), done.stderr
    assert json.loads(rearview("import", str(file), "--json", data=live.data).stdout)["duplicate"] == 130
    wrote = json.loads(
        rearview("write", "Otters hold hands.", "--kind", "fact", "--tag", "animal", "--json", data=live.data).stdout
    )
    id_ = wrote["receipts"][0]["id"]
    assert json.loads(rearview("get", id_, "--json", data=live.data).stdout)["tags"] == ["animal"]
    listed = rearview("list", "--filter", "tags=animal", data=live.data)
    assert "Otters hold hands." in listed.stdout
    assert "Otters hold hands." in rearview("recall", "What do otters do with hands?", data=live.data).stdout
    forgot = rearview("forget", id_, data=live.data)
    assert forgot.stdout.splitlines() == ["forgotten: 1", "in: 1 hot", "bytes: gone"], forgot.stderr
    missing = rearview("get", id_, data=live.data)
    assert (missing.returncode, missing.stderr.strip()) == (1, "rearview: no such memory")
    assert json.loads(rearview("stats", "--json", data=live.data).stdout)["memories"]["active"] > 130


def test_exit_codes(live: Service, tmp_path: Path) -> None:
    assert rearview("write", "", data=live.data).returncode == 2
    assert rearview("recall", data=live.data).returncode == 2
    assert rearview("recall", "x", "--filters", "{", data=live.data).returncode == 2
    assert rearview("import", str(tmp_path / "none"), data=live.data).returncode == 2
    unreachable = rearview("stats", data=live.data, REARVIEW_URL="http://127.0.0.1:9")
    assert unreachable.returncode == 3
    assert "REARVIEW_PORT" in unreachable.stderr
    refused = rearview("stats", "--json", data=live.data, REARVIEW_TOKEN="rv_wrong")
    assert refused.returncode == 1
    assert json.loads(refused.stderr)["status"] == 401


def test_tokens_are_made_listed_and_revoked(tmp_path: Path) -> None:
    made = json.loads(
        rearview("token", "create", "--tenant", "acme", "--role", "reader", "--json", data=tmp_path).stdout
    )
    assert set(made) == {"token", "id"}
    [row] = json.loads(rearview("token", "list", "--json", data=tmp_path).stdout)["tokens"]
    assert (row["id"], row["tenant"], row["role"]) == (made["id"], "acme", "reader")
    assert rearview("token", "revoke", made["id"], data=tmp_path).returncode == 0
    assert rearview("token", "revoke", made["id"], data=tmp_path).returncode == 1


def test_nothing_connects_or_loads_torch_at_import() -> None:
    modules = "rearview_serve.app, rearview_serve.cli.main, rearview_serve.embedded"
    code = f"import sys, {modules}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "False", done.stderr
