"""Moving the real service to another model, exported to a folder: it answers all the while, and after a restart."""

import json
import threading
import time
from pathlib import Path

import pytest

from tests.conftest import rearview, started
from tests.serve.test_lifecycle_live import ended
from tests.tiny_models import exported, make

TEXTS = [f"Heron {n} nests at pier {n} of the old harbour." for n in range(60)]


@pytest.mark.timeout(600)
def test_the_service_moves_while_it_answers(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    exported("embedder", make("embedder", raw), tmp_path / "tiny")
    data = tmp_path / "data"
    with started(data, "--no-sample") as service, service.client() as http:
        http.post("/v1/memories", json={"memories": [{"text": text} for text in TEXTS]})
        bad: list[object] = []
        stop = threading.Event()

        def ask() -> None:
            with service.client() as own:
                while not stop.is_set():
                    answer = own.post("/v1/recall", json={"query": "Where does heron 7 nest?", "top_k": 3})
                    if answer.status_code != 200 or not answer.json()["memories"]:
                        bad.append(answer.json())
                    time.sleep(0.05)

        asking = threading.Thread(target=ask)
        asking.start()
        body = {"kind": "migrate", "model": str(tmp_path / "tiny"), "agreement": 0.0}
        job = ended(http, http.post("/v1/jobs", json=body).json()["id"])
        time.sleep(2)
        stop.set()
        asking.join()
        assert job["status"] == "done", job
        assert job["detail"]["switched"]
        assert not bad, bad[:3]
        http.post("/v1/recall", json={"query": "heron"})
        stats = http.get("/v1/stats").json()
        assert stats["embedding_model"].startswith("tiny") or stats["embedding_model"].startswith("model")
        found = http.post("/v1/recall", json={"query": TEXTS[7], "mode": "keyword"}).json()["memories"]
        assert found[0]["text"] == TEXTS[7]
        http.post("/v1/memories", json={"text": "Herons fly at dusk."})
        assert http.get("/v1/verify").json()["ok"]
    with started(data, "--no-sample") as service, service.client() as http:
        assert http.get("/v1/stats").json()["dimension"] == stats["dimension"]
        assert http.post("/v1/recall", json={"query": "Herons at dusk"}).json()["memories"]
        back = rearview("migrate", "--rollback", "--json", data=data)
        assert json.loads(back.stdout)["status"] == "done", back.stdout + back.stderr
        assert http.post("/v1/recall", json={"query": "Where does heron 7 nest?"}).json()["memories"]
        assert http.get("/v1/verify").json()["ok"]
