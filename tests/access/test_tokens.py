from __future__ import annotations

import hmac
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import event, text

from knickpoint.access.tokens import create_token, list_tokens, revoke_token, verify_token
from knickpoint.model.access import AuditKind, CallerKind, Permission
from knickpoint.model.errors import AbsentError, InputError, NotSignedInError
from knickpoint.store import Store, create_store, open_store

UPLOAD = (Permission.UPLOAD,)
SOON = datetime.now(UTC) + timedelta(days=90)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with create_store(tmp_path / "store.db") as made:
        yield made


def test_a_secret_is_accepted_as_the_token_that_it_was_made_for(store: Store) -> None:
    made = create_token(store, "ci", UPLOAD, by="ada", repositories=["main"])
    caller = verify_token(store, made.secret)
    assert (caller.kind, caller.name) == (CallerKind.TOKEN, "token:ci")
    assert caller.grants.allow(Permission.UPLOAD, "main")
    assert not caller.grants.allow(Permission.UPLOAD, "other")
    assert not caller.grants.allow_somewhere(Permission.READ)


def test_a_secret_is_stored_nowhere(store: Store, tmp_path: Path) -> None:
    made = create_token(store, "ci", UPLOAD, by="ada")
    assert made.secret.startswith("knick_")
    assert len(made.secret) > 46
    with sqlite3.connect(tmp_path / "store.db") as connection:
        dump = "\n".join(connection.iterdump())
    assert "ci" in dump
    assert made.secret not in dump
    assert made.secret not in repr(made)


def test_unknown_expired_and_revoked_tokens_get_one_message(store: Store) -> None:
    expiring = create_token(store, "expiring", UPLOAD, by="ada", expires=SOON)
    revoked = create_token(store, "revoked", UPLOAD, by="ada")
    revoke_token(store, "revoked", by="ada")
    verify_token(store, expiring.secret, now=SOON - timedelta(seconds=1))
    messages = set()
    for secret in (expiring.secret, revoked.secret, "knick_unknown", "", "knick_\ud800", "x" * 100_000):
        with pytest.raises(NotSignedInError) as refused:
            verify_token(store, secret, now=SOON)
        messages.add(str(refused.value))
    assert len(messages) == 1


def test_the_use_of_a_token_is_recorded_once_a_minute(store: Store) -> None:
    secret = create_token(store, "ci", UPLOAD, by="ada").secret
    first = datetime.now(UTC)
    used = []
    for seconds in (0, 59, 60):
        verify_token(store, secret, now=first + timedelta(seconds=seconds))
        (token,) = list_tokens(store)
        assert token.last_used is not None
        used.append(round((token.last_used - first).total_seconds()))
    assert used == [0, 0, 60]


def test_a_token_is_accepted_while_an_import_writes(store: Store, tmp_path: Path) -> None:
    secret = create_token(store, "ci", UPLOAD, by="ada").secret
    with open_store(tmp_path / "store.db") as other, other.transaction():
        assert verify_token(store, secret).name == "token:ci"
    assert [token.last_used for token in list_tokens(store)] == [None]


def test_a_token_is_accepted_while_the_disk_is_full(store: Store) -> None:
    secret = create_token(store, "ci", UPLOAD, by="ada").secret
    with store.transaction() as connection:
        full = "CREATE TRIGGER full BEFORE UPDATE ON token BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        connection.execute(text(full))
    assert verify_token(store, secret).name == "token:ci"


def test_creation_and_revocation_are_entries_of_the_audit_log(store: Store) -> None:
    made = create_token(
        store, "ci", [Permission.READ, Permission.UPLOAD], by="ada", repositories=["main"], expires=SOON
    )
    revoke_token(store, "ci", by="grace")
    second, first = store.audit.entries()
    assert (first.kind, first.who) == (AuditKind.TOKEN_CREATED, "ada")
    assert first.about == f"token ci: read, upload for main, expires {SOON.isoformat(timespec='seconds')}"
    assert (second.kind, second.who, second.about) == (AuditKind.TOKEN_REVOKED, "grace", "token ci")
    assert made.secret not in f"{first}{second}"


def test_what_fails_leaves_no_entry(store: Store) -> None:
    create_token(store, "ci", UPLOAD, by="ada")
    with pytest.raises(InputError, match="there is a token"):
        create_token(store, "ci", UPLOAD, by="ada")
    with pytest.raises(AbsentError):
        revoke_token(store, "other", by="ada")
    assert len(store.audit.entries()) == 1


@pytest.mark.parametrize(
    "name",
    ["", " ", "-x", ".x", "a b", "a\n", "\x1b[2J", "\u202etfel", "ü", "a/b", "x" * 65, "x" * 400, "upload_token"],
)
def test_a_name_that_could_mislead_is_refused(store: Store, name: str) -> None:
    with pytest.raises(InputError) as refused:
        create_token(store, name, UPLOAD, by="ada")
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 1000


def test_a_token_without_a_scope_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="needs a scope"):
        create_token(store, "ci", (), by="ada")


def test_a_token_that_would_be_expired_at_once_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="in the past"):
        create_token(store, "ci", UPLOAD, by="ada", expires=datetime.now(UTC))


def test_a_token_that_would_expire_after_the_last_year_there_is_is_refused(store: Store) -> None:
    west = timezone(-timedelta(hours=12))
    with pytest.raises(InputError, match="100 years"):
        create_token(store, "ci", UPLOAD, by="ada", expires=datetime(9999, 12, 31, 23, tzinfo=west))


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 401])
def test_a_repository_without_a_valid_name_is_refused(store: Store, name: str) -> None:
    with pytest.raises(InputError, match="not the name of a repository"):
        create_token(store, "ci", UPLOAD, by="ada", repositories=[name])


def test_a_secret_reaches_neither_the_database_nor_a_comparison(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = create_token(store, "ci", UPLOAD, by="ada").secret
    sent: list[object] = []
    compared: list[object] = []
    compare = hmac.compare_digest
    event.listen(store.database.engine, "before_cursor_execute", lambda *call: sent.append(call[2:4]))

    def recorded(*pair: str) -> bool:
        compared.append(pair)
        return compare(*pair)

    monkeypatch.setattr(hmac, "compare_digest", recorded)
    verify_token(store, secret)
    digest = sha256(secret.encode()).hexdigest()
    assert compared == [(digest, digest)]
    assert digest in str(sent)
    assert secret not in str(sent)
