"""Settings come from the environment, are documented, and hide credentials."""

import pytest

from rearview_pipelines.errors import SetupError
from rearview_serve.settings import Settings, described, read_settings


def test_the_environment_sets_and_arguments_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REARVIEW_PORT", "9000")
    assert read_settings().port == 9000
    assert read_settings(port=9001, data=None).port == 9001


@pytest.mark.parametrize(("name", "value"), [("REARVIEW_PORT", "x"), ("REARVIEW_PORT", "0"), ("REARVIEW_FLOOR", "2")])
def test_a_bad_value_names_its_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SetupError, match=name):
        read_settings()


def test_every_setting_says_what_it_means_and_no_credential_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REARVIEW_MILVUS_TOKEN", "root:hunter2")
    rows = described(read_settings())
    assert {r["name"] for r in rows} == {f"REARVIEW_{n.upper()}" for n in Settings.model_fields}
    assert all(r["meaning"] for r in rows)
    assert "hunter2" not in str(rows)
    assert "hunter2" not in repr(read_settings())
