from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

from knickpoint.model.errors import BusyError, StoreError
from knickpoint.store import Store, create_store, open_store
from knickpoint.store.tables import metadata


def test_the_migrations_make_the_tables_that_are_described(store: Store) -> None:
    engine = create_engine(store.database.url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_a_store_is_not_made_twice(location: str) -> None:
    with pytest.raises(StoreError, match="the store already exists"):
        create_store(location)


def test_a_store_of_a_newer_version_is_refused(store: Store, location: str) -> None:
    with store.transaction() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="Upgrade Knickpoint"):
        open_store(location)


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader, " * 1000)
    with pytest.raises(StoreError, match="not a store"):
        open_store(tmp_path / "letter.txt")


def test_an_address_of_another_database_is_refused() -> None:
    with pytest.raises(StoreError, match="postgresql://"):
        open_store("mysql://host/name")


def test_what_an_inner_transaction_wrote_is_undone_alone(store: Store) -> None:
    with store.transaction():
        store.commits.add_repository("outer")
        with suppress(ZeroDivisionError), store.transaction():
            store.commits.add_repository("inner")
            _ = 1 / 0
    assert [repository.name for repository in store.commits.repositories()] == ["outer"]


def test_a_whole_transaction_is_undone_where_an_inner_one_failed_and_the_error_was_caught(store: Store) -> None:
    def write() -> None:
        with store.transaction(whole=True):
            store.commits.add_repository("outer")
            with suppress(ZeroDivisionError), store.transaction():
                store.commits.add_repository("inner")
                _ = 1 / 0

    with pytest.raises(StoreError, match="nothing of it was written"):
        write()
    assert store.commits.repositories() == []


def test_inner_transactions_of_a_whole_one_are_kept_together(store: Store) -> None:
    with store.transaction(whole=True):
        with store.transaction():
            store.commits.add_repository("first")
        store.commits.add_repository("second")
    assert [repository.name for repository in store.commits.repositories()] == ["first", "second"]


def test_a_transaction_after_a_whole_one_has_savepoints_again(store: Store) -> None:
    with store.transaction(whole=True):
        store.commits.add_repository("whole")
    with store.transaction():
        with suppress(ZeroDivisionError), store.transaction():
            store.commits.add_repository("inner")
            _ = 1 / 0
        store.commits.add_repository("outer")
    assert [repository.name for repository in store.commits.repositories()] == ["outer", "whole"]


def test_a_transaction_that_must_not_wait_fails_while_another_one_writes(store: Store, location: str) -> None:
    with open_store(location) as other:
        with other.transaction(), pytest.raises(BusyError), store.transaction(wait=False):
            pass
        with store.transaction(wait=False):
            store.commits.add_repository("later")
        assert [repository.name for repository in other.commits.repositories()] == ["later"]


def test_a_directory_in_the_place_of_a_store_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "store.db").mkdir()
    with pytest.raises(StoreError, match="this is a directory"):
        open_store(tmp_path / "store.db")
