"""What recalls handed out is remembered for seven days, by id, and survives a restart."""

from datetime import timedelta

from rearview_pipelines.testing import FakeClock, ObjectStoreInMemory
from rearview_pipelines.write.handouts import KEPT, Handout, Handouts


def handout(clock: FakeClock, number: int, session: str = "", ids: tuple[str, ...] = ("m_a",)) -> Handout:
    return Handout(f"r_{number}", clock.now().isoformat(), "t", "tok", "", "", session, ids)


async def test_who_was_handed_what(clock: FakeClock) -> None:
    kept = Handouts()
    await kept.note(handout(clock, 1, "s1"))
    assert kept.was_handed("t", "m_a", "tok", "s1")
    assert kept.was_handed("t", "m_a", "tok", None)
    assert not kept.was_handed("t", "m_a", "tok", "s2")
    assert not kept.was_handed("t", "m_a", "other", "s1")
    assert not kept.was_handed("u", "m_a", "tok", "s1")
    await kept.note(handout(clock, 2, "", ("m_b", "m_a")))
    assert kept.lately("t", "tok", "s2", 5) == ["m_b", "m_a"]
    found = kept.find("t", "r_1")
    assert found is not None
    assert found.session == "s1"
    assert kept.find("u", "r_1") is None


async def test_it_survives_a_restart_and_ends_after_its_days(clock: FakeClock) -> None:
    store = ObjectStoreInMemory()
    first = Handouts(store)
    await first.note(handout(clock, 1))
    await first.flush()
    again = Handouts(store)
    await again.load(clock.now())
    assert again.was_handed("t", "m_a", "tok", None)
    await Handouts(store).load(clock.now() + KEPT + timedelta(days=1))
    assert store.objects == {}


async def test_a_store_that_is_down_loses_nothing_that_it_may_write_later(clock: FakeClock) -> None:
    store = ObjectStoreInMemory()
    kept = Handouts(store)
    await kept.note(handout(clock, 1))
    store.failing = True
    await kept.flush()
    store.failing = False
    await kept.flush()
    assert len(store.objects) == 1
