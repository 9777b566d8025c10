"""The public conformance suite `agent-memory-integrity`: every edit of a store that it defines, none left out."""

import pytest
from agmi.attacks.at_rest import AT_REST_ATTACKS_WITH_SNAPSHOT
from agmi.check import LABELS, verdict

from tests.integrity_adapter import A, ColumnsOnly, IndexAdapter, MovedWhole, StoreAdapter, Undefended

NAMES = [attack.name for attack in AT_REST_ATTACKS_WITH_SNAPSHOT]
EXCLUDED: dict[str, str] = {}
"""Edits that we do not notice, with the reason. There are none."""


def test_the_catalogue_is_the_one_that_we_know() -> None:
    assert set(NAMES) == set(LABELS)
    assert len(NAMES) == 9
    assert len(EXCLUDED) <= 3


@pytest.mark.parametrize("adapter", [IndexAdapter, MovedWhole], ids=lambda a: a.name)
@pytest.mark.parametrize("attack", AT_REST_ATTACKS_WITH_SNAPSHOT, ids=NAMES)
def test_every_edit_is_noticed(attack: type, adapter: type[IndexAdapter]) -> None:
    store = adapter()
    result = attack().run(store)
    assert (result.guard, result.error) == (None, None)
    assert verdict(result, store) == "REPORTED"
    assert "verify: [" in result.detail


@pytest.mark.parametrize(("name", "adapter"), [("metadata_tamper", ColumnsOnly), ("snapshot_rollback", StoreAdapter)])
def test_the_sharper_forms_are_noticed_too(name: str, adapter: type[IndexAdapter]) -> None:
    [attack] = [a for a in AT_REST_ATTACKS_WITH_SNAPSHOT if a.name == name]
    store = adapter()
    result = attack().run(store)
    assert (result.guard, result.error) == (None, None)
    assert verdict(result, store) == "REPORTED"


@pytest.mark.parametrize("attack", AT_REST_ATTACKS_WITH_SNAPSHOT[:3], ids=NAMES[:3])
def test_the_edits_are_real(attack: type) -> None:
    store = Undefended()
    assert verdict(attack().run(store), store) == "ACCEPTED"


def test_writing_on_after_a_cut_hides_nothing() -> None:
    store = IndexAdapter()
    store.setup()
    try:
        store.seed(5)
        gone = store.read_all_raw()[-1].fields["id"]
        store.delete_raw(4)
        store.reload()
        store.append_genuine()
        assert not store.verify()
        assert store.verify_detail is not None
        assert gone in store.verify_detail
        assert len(store.read_all_raw()) == 5
        assert A
    finally:
        store.teardown()
