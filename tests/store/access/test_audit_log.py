from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Executable, delete, text, update

from knickpoint.model.access import AuditEntry, AuditKind
from knickpoint.model.errors import InputError, StoreError
from knickpoint.store import Store, acting_from
from knickpoint.store.tables.access import audit_entry

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def entry(store: Store, about: str = "something", days: int = 0, *, who: str = "ada", address: str = "") -> AuditEntry:
    with acting_from(address):
        return store.audit.append(AuditKind.DECIDED, who, about, time=NOW + timedelta(days=days))


def test_an_entry_reads_back_as_it_was_written(store: Store) -> None:
    written = entry(store, "R12: hidden", address="192.0.2.7")
    assert written == AuditEntry(written.id, NOW, AuditKind.DECIDED, "ada", "R12: hidden", "192.0.2.7")
    assert store.audit.entries() == [written]


def test_entries_come_newest_first_and_in_pages(store: Store) -> None:
    first, second, third = (entry(store, word) for word in ("first", "second", "third"))
    assert store.audit.entries(limit=2) == [third, second]
    assert store.audit.entries(before_id=second.id) == [first]


def test_entries_are_selected_by_kind_name_and_time(store: Store) -> None:
    old = entry(store, days=-9)
    other = entry(store, who="grace")
    token = store.audit.append(AuditKind.TOKEN_CREATED, "ada", "token ci", time=NOW)
    assert store.audit.entries(kind=AuditKind.TOKEN_CREATED) == [token]
    assert store.audit.entries(who="grace") == [other]
    assert store.audit.entries(since=NOW) == [token, other]
    assert store.audit.entries(who="ada", kind=AuditKind.DECIDED) == [old]


def test_an_entry_goes_with_the_transaction_that_it_records(store: Store) -> None:
    with suppress(ZeroDivisionError), store.transaction():
        entry(store)
        _ = 1 / 0
    assert store.audit.entries() == []


def test_an_entry_needs_the_name_of_who_acted(store: Store) -> None:
    with pytest.raises(InputError, match="name of the caller"):
        entry(store, who=" ")


def test_text_from_elsewhere_becomes_one_line_of_bounded_length(store: Store) -> None:
    written = entry(store, "a\nb\x1b[2J\u202ec\ud800" + "x" * 5000, who="x" * 900 + "\n")
    assert written.about.startswith(r"a\nb\x1b[2J\u202ec\ud800xxx")
    assert (len(written.about), len(written.who)) == (2000, 320)
    assert written.about.isprintable()
    assert store.audit.entries(who="x" * 900 + "\n") == [written]


def test_old_entries_are_deleted_and_counted(store: Store) -> None:
    entry(store, days=-9)
    kept = entry(store)
    assert store.audit.delete_before(NOW) == 1
    assert store.audit.entries() == [kept]


def test_the_database_refuses_to_change_or_delete_an_entry(store: Store) -> None:
    kept = entry(store)
    entry(store, days=-9)
    store.audit.delete_before(NOW)
    statements: list[Executable] = [update(audit_entry).values(who="mallory"), delete(audit_entry)]
    if not store.database.embedded:
        statements.append(text("TRUNCATE audit_entry"))
    for statement in statements:
        with pytest.raises(StoreError, match="entries of the audit log are"), store.transaction() as connection:
            connection.execute(statement)
        assert store.audit.entries() == [kept]
