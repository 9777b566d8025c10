"""Forgetting and jobs on the real service: over REST, by the command line, as Ray tasks."""

import json
import time
from pathlib import Path

import httpx

from tests.conftest import Service, rearview
from tests.rig import traces

SECONDS = 120.0


def ended(http: httpx.Client, id_: str) -> dict[str, object]:
    """A job at its end."""
    end = time.monotonic() + SECONDS
    while True:
        job = http.get(f"/v1/jobs/{id_}").json()
        if job["status"] not in ("queued", "running"):
            return job  # type: ignore[no-any-return]
        assert time.monotonic() < end, job
        time.sleep(0.2)


def test_a_snapshot_a_sweep_and_a_restore(live: Service) -> None:
    with live.client() as http:
        ids = [
            r["id"]
            for r in http.post(
                "/v1/memories", json={"memories": [{"text": f"Pelican {n} nests at pier {n}."} for n in range(20)]}
            ).json()["receipts"]
        ]
        for kind in ("snapshot", "sweep", "restore"):
            started = http.post("/v1/jobs", json={"kind": kind})
            assert started.status_code == 202
            job = ended(http, started.json()["id"])
            assert job["status"] == "done", job
        assert job["detail"]["there"] >= 20
        assert http.get(f"/v1/memories/{ids[0]}").json()["tier"] == "hot"
        assert http.get("/v1/verify").json()["ok"]


def test_what_is_forgotten_leaves_no_byte(live: Service) -> None:
    word = "Quinceañera-7341"
    with live.client() as http:
        receipts = http.post(
            "/v1/memories",
            json={"memories": [{"text": f"The {word} password hint is {n}.", "tags": ["trial"]} for n in range(3)]},
        ).json()["receipts"]
        assert all(r["id"] for r in receipts)
        assert ended(http, http.post("/v1/jobs", json={"kind": "snapshot"}).json()["id"])["status"] == "done"
        assert http.post("/v1/recall", json={"query": word}).json()["memories"]
        assert http.post("/v1/forget", json={}).status_code == 422
        dry = http.post("/v1/forget", json={"filters": {"tags": "trial"}, "dry_run": True}).json()
        assert (dry["forgotten"], len(dry["ids"])) == (0, 3)
        report = http.post("/v1/forget", json={"filters": {"tags": "trial"}}).json()
        assert report["forgotten"] == 3
        found = http.post("/v1/recall", json={"query": word, "top_k": 20, "token_budget": None}).json()["memories"]
        assert not [m for m in found if word in m["text"]]
        job = ended(http, report["purge"]["job"])
        assert job["status"] == "done", job
        assert traces(live.data, [word]) == []
        assert http.get("/v1/verify").json()["ok"]
        assert http.post("/v1/recall", json={"query": "Where does pelican 3 nest?"}).json()["memories"]


def test_memories_are_exported_and_imported(live: Service, tmp_path: Path) -> None:
    with live.client() as http:
        http.post("/v1/memories", json={"text": "The ferry to Skye leaves at noon.", "tags": ["ferry"]})
        answer = http.post("/v1/export", json={"tags": ["ferry"]})
        assert answer.headers["content-type"].startswith("application/x-ndjson")
        lines = answer.text.splitlines()
        assert ["manifest" in lines[0], "Skye" in lines[1], len(lines)] == [True, True, 2]
        assert http.post("/v1/export", json={"tagz": 1}).status_code == 422
        report = http.post("/v1/import", content=answer.content + b"what?\n").json()
        assert (report["duplicate"], report["malformed"], report["complete"]) == (1, 1, True)
    file = tmp_path / "all.jsonl"
    done = rearview("export", str(file), data=live.data)
    assert done.returncode == 0, done.stderr
    back = rearview("import", str(file), "--json", data=live.data)
    report = json.loads(back.stdout)
    assert (report["complete"], report.get("stored", 0)) == (True, 0), back.stderr
    file.write_text(file.read_text() + "{}\n")
    assert rearview("import", str(file), data=live.data).returncode == 1


def test_jobs_are_an_admins_and_a_tenants_own(live: Service) -> None:
    made = json.loads(
        rearview("token", "create", "--tenant", "acme", "--role", "writer", "--json", data=live.data).stdout
    )
    with live.client() as admin, live.client(made["token"]) as writer:
        id_ = admin.post("/v1/jobs", json={"kind": "snapshot"}).json()["id"]
        assert writer.post("/v1/jobs", json={"kind": "snapshot"}).status_code == 403
        assert writer.get(f"/v1/jobs/{id_}").status_code == 404
        assert admin.get("/v1/jobs/j_../../x").status_code == 404
        assert admin.post("/v1/jobs", json={"kind": "dance"}).status_code == 422
        ended(admin, id_)


def test_the_command_line_watches_a_job_to_its_end(live: Service) -> None:
    done = rearview("snapshot", "--json", data=live.data)
    assert json.loads(done.stdout)["status"] == "done", done.stderr
    text = rearview("sweep", data=live.data)
    assert (text.returncode, text.stdout.splitlines()[0]) == (0, "sweep: done"), text.stderr
    missing = rearview("restore", "20200101T000000Z-abcdef", data=live.data)
    assert (missing.returncode, "no such snapshot" in missing.stdout) == (1, True)
