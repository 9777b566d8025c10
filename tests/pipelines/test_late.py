"""Late interaction: MaxSim over held token vectors, batched, let go of when forgotten."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.ports import Changes, Tokens, Vector
from rearview_pipelines.recall import late, maxsim
from rearview_pipelines.recall.late import LateService
from rearview_pipelines.recall.maxsim import best, gather


def tokens(*axes: int) -> Tokens:
    made = np.zeros((len(axes), 4), np.int8)
    made[np.arange(len(axes)), axes] = 127
    return made


class Encoder:
    name, languages, marks, dimension = "fake-late", frozenset({"en"}), 0, 4

    def __init__(self) -> None:
        self.queries: list[str] = []

    def query(self, text: str) -> Vector:
        self.queries.append(text)
        return np.eye(4, dtype=np.float32)[[int(c) for c in text]]


class Store:
    """Counts how it is read."""

    def __init__(self, held: dict[str, Tokens]) -> None:
        self.held, self.by_key, self.whole = held, 0, 0
        self.failing = False

    async def tokens(
        self, tenant: str, name: str, ids: Sequence[str] | None = None, *, most: int | None = None
    ) -> dict[str, Tokens] | None:
        if self.failing:
            raise Unavailable("down")
        if ids is None:
            self.whole += 1
            return None if most is not None and len(self.held) > most else dict(self.held)
        self.by_key += 1
        return {id_: self.held[id_] for id_ in ids if id_ in self.held}


class Log:
    def __init__(self) -> None:
        self.answer = Changes("e", 0, ())

    async def changes(self, tenant: str, epoch: str, since: int) -> Changes:
        return self.answer


def service(held: dict[str, Tokens], log: Any = None, limit: int = 1000) -> tuple[LateService, Store, Encoder]:
    store, encoder = Store(held), Encoder()
    return LateService(encoder, store, log, limit), store, encoder  # type: ignore[arg-type]


def test_the_best_of_each_query_token_in_each_memory() -> None:
    held = {"a": tokens(0, 1), "b": tokens(2), "none": np.zeros((0, 4), np.int8)}
    found = best(gather(["b", "none", "a", "gone"], held), np.eye(4, dtype=np.float32)[[0, 2]])
    assert np.array_equal(found, [[0, 1], [np.nan, np.nan], [1, 0], [np.nan, np.nan]], equal_nan=True)


async def test_many_at_once_are_answered_each_with_its_own() -> None:
    late_, _, encoder = service({"a": tokens(0), "b": tokens(1)})
    found = await asyncio.gather(*(late_.best("t", q, ["a", "b"]) for q in ("0", "1", "01", "0")))
    assert [f.tolist() for f in found] == [[[1], [0]], [[0], [1]], [[1, 0], [0, 1]], [[1], [0]]]
    assert sorted(encoder.queries) == ["0", "01", "1"]  # the same query is encoded once


async def test_one_read_serves_a_whole_scope_and_nothing_is_read_twice() -> None:
    held = {f"m{n}": tokens(n % 4) for n in range(late.FEW + 10)}
    late_, store, _ = service(held)
    for _ in range(3):
        await late_.best("t", "0", list(held))
    assert (store.whole, store.by_key) == (1, 0)


async def test_a_few_are_read_by_key_and_the_rest_in_the_background() -> None:
    late_, store, _ = service({"a": tokens(0), "b": tokens(1)})
    await late_.best("t", "0", ["a"])
    await asyncio.gather(*(h.loading for h in late_._held.values() if h.loading))
    await late_.best("t", "0", ["b"])
    assert (store.whole, store.by_key) == (1, 1)


async def test_what_was_forgotten_is_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late, "FOLLOW_SECONDS", 0.0)
    log = Log()
    late_, store, _ = service({"a": tokens(0)}, log)
    await late_.best("t", "0", ["a"])
    await asyncio.gather(*late_._following)
    del store.held["a"]
    log.answer = Changes("e", 1, ("a",))
    await late_.best("t", "0", [])
    await asyncio.gather(*late_._following)
    assert "a" not in late_._held["t"].tokens
    log.answer = Changes("another", 0, None)
    late_._held["t"].tokens["b"] = tokens(1)
    await late_.best("t", "0", [])
    await asyncio.gather(*late_._following)
    assert not late_._held["t"].tokens


async def test_a_store_that_does_not_answer_is_said_and_asked_again() -> None:
    late_, store, _ = service({"a": tokens(0)})
    store.failing = True
    with pytest.raises(Unavailable):
        await late_.best("t", "0", ["a"])
    store.failing = False
    assert (await late_.best("t", "0", ["a"])).tolist() == [[1]]


async def test_more_than_the_limit_is_not_held() -> None:
    late_, _, _ = service({f"m{n}": tokens(0) for n in range(5)}, limit=3)
    for tenant in ("t", "u"):
        await late_.best(tenant, "0", ["m0", "m1", "m2"])
    assert list(late_._held) == ["u"]


async def test_what_goes_wrong_is_said_to_who_asked_and_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    late_, _, _ = service({"a": tokens(0)})

    def broken(*_: Any) -> Vector:
        raise ValueError("no")

    monkeypatch.setattr(late, "best", broken)
    given_up = asyncio.ensure_future(late_.best("t", "0", ["a"]))
    waiting = [asyncio.ensure_future(late_.best("t", "1", ["a"])) for _ in range(3)]
    await asyncio.sleep(0)
    given_up.cancel()
    async with asyncio.timeout(5):
        found = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(error, Unavailable) for error in found)
    monkeypatch.undo()
    assert (await late_.best("t", "0", ["a"])).tolist() == [[1]]


async def test_token_vectors_of_another_width_are_of_no_use() -> None:
    late_, _, _ = service({"a": tokens(0), "b": np.zeros((3, 2), np.int8)})
    found = await late_.best("t", "0", ["a", "b"])
    assert np.array_equal(found, [[1], [np.nan]], equal_nan=True)


async def test_a_load_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    held = {f"m{n}": tokens(n % 4) for n in range(late.FEW + 10)}
    late_, store, _ = service(held)
    sound = store.tokens

    async def once(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(store, "tokens", sound)
        raise ValueError("not what it should be")

    monkeypatch.setattr(store, "tokens", once)
    assert not np.isnan(await late_.best("t", "0", list(held))).any()
    await late_.best("t", "0", list(held))
    await asyncio.gather(*(h.loading for h in late_._held.values() if h.loading))
    assert late_._held["t"].whole


async def test_what_is_forgotten_while_it_is_read_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    log, gate = Log(), asyncio.Event()
    late_, store, _ = service({"a": tokens(0), "b": tokens(1)}, log)
    sound = store.tokens

    async def slow(tenant: str, name: str, ids: Any = None, *, most: Any = None) -> Any:
        found = await sound(tenant, name, ids, most=most)
        if ids is None:
            await gate.wait()
        return found

    monkeypatch.setattr(store, "tokens", slow)
    await late_.best("t", "0", ["b"])
    await asyncio.gather(*late_._following)
    loading = late_._held["t"].loading
    assert loading is not None
    log.answer = Changes("e", 1, ("a",))
    await late_._follow("t", late_._held["t"])
    gate.set()
    await loading
    log.answer = Changes("e", 1, ())
    await late_._follow("t", late_._held["t"])
    assert set(late_._held["t"].tokens) == {"b"}


async def test_what_is_written_while_something_is_read_is_compared_at_once() -> None:
    log = Log()
    late_, store, _ = service({"a": tokens(0)}, log)
    await late_.best("t", "0", ["a"])
    await asyncio.gather(*late_._following)
    store.held["new"] = tokens(1)
    log.answer = Changes("e", 1, ("new",))
    held = late_._held["t"]
    found, _ = await asyncio.gather(late_.best("t", "1", ["a", "new"]), late_._follow("t", held))
    assert found.tolist() == [[0], [1]]
    for _ in range(2):
        assert (await late_.best("t", "1", ["a", "new"])).tolist() == [[0], [1]]
        await late_._follow("t", held)


async def test_who_gives_up_waiting_leaves_no_work_behind() -> None:
    late_, _, _ = service({})

    def slow(text: str) -> Vector:
        time.sleep(0.05)
        return Encoder().query(text)

    late_._queries._encode = slow
    given_up = [asyncio.ensure_future(late_.prepare(str(n % 4) * (n + 1))) for n in range(100)]
    await asyncio.sleep(0.01)
    for each in given_up:
        each.cancel()
    async with asyncio.timeout(2):
        await late_.prepare("3" * 200)


def test_many_are_compared_a_chunk_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    random_ = np.random.default_rng(7)
    held = {f"m{n}": random_.integers(-127, 128, (n % 7, 4)).astype(np.int8) for n in range(60)}
    ids, query = [*held, "gone"], np.eye(4, dtype=np.float32)
    monkeypatch.setattr(maxsim, "CHUNK_TOKENS", 10)
    assert np.array_equal(maxsim.best_of_many(ids, held, query), best(gather(ids, held), query), equal_nan=True)
