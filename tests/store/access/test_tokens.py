from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from knickpoint.model.access import Permission, Token
from knickpoint.model.errors import AbsentError, BusyError, InputError
from knickpoint.store import Store, create_store, open_store

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
DIGEST = "ab" * 32


def token(name: str = "ci", **values: object) -> Token:
    kept: dict[str, object] = {"scopes": frozenset({Permission.UPLOAD}), "repositories": ("main", "other")}
    return Token(**{"name": name, "created": NOW, "created_by": "ada", **kept, **values})  # type: ignore[arg-type]


def test_a_token_reads_back_as_it_was_written(store: Store) -> None:
    written = token(expires=NOW + timedelta(days=90), scopes=frozenset(Permission))
    store.tokens.insert(written, DIGEST)
    assert store.tokens.find(DIGEST) == written
    assert store.tokens.all() == [written]


def test_an_unknown_digest_finds_no_token(store: Store) -> None:
    store.tokens.insert(token(), DIGEST)
    assert store.tokens.find("cd" * 32) is None


def test_a_name_is_used_once_even_after_its_token_was_revoked(store: Store) -> None:
    store.tokens.insert(token(), DIGEST)
    with pytest.raises(InputError, match="there is a token"):
        store.tokens.insert(token(), "cd" * 32)
    store.tokens.revoke("ci", NOW)
    with pytest.raises(InputError, match="there was a token"):
        store.tokens.insert(token(), "cd" * 32)


def test_a_token_is_revoked_once(store: Store) -> None:
    store.tokens.insert(token(), DIGEST)
    assert store.tokens.revoke("ci", NOW).revoked == NOW
    assert [kept.revoked for kept in store.tokens.all()] == [NOW]
    with pytest.raises(InputError, match="was revoked at 2026-05-01T12:00:00"):
        store.tokens.revoke("ci", NOW)


def test_an_unknown_token_cannot_be_revoked(store: Store) -> None:
    with pytest.raises(AbsentError, match="no token 'ci'"):
        store.tokens.revoke("ci", NOW)


def test_all_tokens_are_revoked_at_once_and_earlier_times_stay(store: Store) -> None:
    store.tokens.insert(token("one"), DIGEST)
    store.tokens.insert(token("two"), "cd" * 32)
    store.tokens.revoke("one", NOW)
    assert store.tokens.revoke_all(NOW + timedelta(days=1)) == 1
    assert [kept.revoked for kept in store.tokens.all()] == [NOW, NOW + timedelta(days=1)]


def test_the_last_use_never_goes_back(store: Store) -> None:
    store.tokens.insert(token(), DIGEST)
    store.tokens.used("ci", NOW)
    store.tokens.used("ci", NOW - timedelta(hours=1))
    assert [kept.last_used for kept in store.tokens.all()] == [NOW]


def test_a_use_is_not_waited_for_while_another_process_writes(tmp_path: Path) -> None:
    with create_store(tmp_path / "store.db") as store, open_store(tmp_path / "store.db") as other:
        store.tokens.insert(token(), DIGEST)
        with other.transaction(), pytest.raises(BusyError):
            store.tokens.used("ci", NOW)
        store.tokens.used("ci", NOW)
        assert [kept.last_used for kept in store.tokens.all()] == [NOW]
