"""Tokens: who holds one is whom, and nothing of it is kept but a hash."""

import json
import os
from pathlib import Path

import pytest

from rearview_pipelines.errors import InvalidInput, NotFound, SetupError, Unauthenticated
from rearview_pipelines.principal import Right, Role
from rearview_serve import auth
from rearview_serve.auth import TokenStore


def test_a_token_names_its_principal(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    token, record = store.create("acme", "writer", agent="bot", user="u1", rights=("share",))
    principal = TokenStore(tmp_path).principal(f"Bearer {token}")
    assert (principal.tenant, principal.role, principal.agent, principal.user) == ("acme", Role.WRITER, "bot", "u1")
    assert principal.rights == {Right.SHARE}
    assert principal.id == record.id


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "Bearer rv_wrong", "rv_wrong"])
def test_anything_else_is_nobody_with_one_and_the_same_word(tmp_path: Path, header: str | None) -> None:
    store = TokenStore(tmp_path)
    store.create("acme", "admin")
    with pytest.raises(Unauthenticated) as caught:
        store.principal(header)
    assert caught.value.detail == auth.NO_CREDENTIAL


def test_only_hashes_are_kept_and_only_the_owner_reads_them(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    token, record = store.create("acme", "reader")
    kept = (tmp_path / "tokens.json").read_text()
    assert token not in kept
    assert "hash" not in record.public()
    assert (tmp_path / "tokens.json").stat().st_mode & 0o777 == 0o600


def test_the_first_admin_is_made_once(tmp_path: Path) -> None:
    first = TokenStore(tmp_path).first_admin()
    assert TokenStore(tmp_path).first_admin() == first
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    assert len(TokenStore(tmp_path).list_tokens()) == 1


def test_a_running_service_learns_of_new_and_revoked_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "RELOAD_SECONDS", 0.0)
    running, elsewhere = TokenStore(tmp_path), TokenStore(tmp_path)
    token, record = elsewhere.create("acme", "reader")
    assert running.principal(f"Bearer {token}").tenant == "acme"
    elsewhere.revoke(record.id)
    with pytest.raises(Unauthenticated):
        running.principal(f"Bearer {token}")
    with pytest.raises(NotFound):
        elsewhere.revoke(record.id)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"tenant": " ", "role": "reader"}, "tenant"),
        ({"tenant": "t", "role": "king"}, "role"),
        ({"tenant": "t", "role": "reader", "agent": "x" * 129}, "agent"),
        ({"tenant": "t", "role": "reader", "rights": ("fly",)}, "right"),
    ],
)
def test_a_bad_token_request_names_the_field(tmp_path: Path, fields: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        TokenStore(tmp_path).create(**fields)  # type: ignore[arg-type]
    assert caught.value.errors[0].field == field
    assert not (tmp_path / "tokens.json").exists()


def test_a_broken_file_is_said_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "tokens.json").write_text(json.dumps([{"id": 1}]))
    with pytest.raises(SetupError, match=r"tokens\.json"):
        TokenStore(tmp_path).create("t", "reader")
    assert os.listdir(tmp_path).count("tokens.json") == 1
