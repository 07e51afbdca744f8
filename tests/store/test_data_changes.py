"""The name of the data on PostgreSQL: equal names are equal data, and housekeeping leaves the name as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from sqlalchemy import text
from tests.store.conftest import Cluster
from tests.store.conftest import own_cluster as own_cluster  # noqa: PLC0414  # a fixture
from tests.waiting import wait_until

from knickpoint.store import Store, create_store, open_store
from knickpoint.store.data_changes import HOUSEKEEPING
from knickpoint.store.tables import metadata

pytestmark = pytest.mark.postgres


@pytest.fixture
def location(own_cluster: Cluster) -> str:
    own_cluster.execute("CREATE DATABASE lab")
    return own_cluster.url("lab")


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    with create_store(location) as made:
        yield made


def data_id(store: Store) -> str | None:
    with store.database.reading() as connection:
        return store.database.snapshot_id(connection)


def connections(store: Store, query: str) -> set[int]:
    with store.database.reading() as connection:
        return set(connection.execute(text(query)).scalars())


def noted_connections(store: Store) -> set[int]:
    return connections(store, "SELECT backend FROM data_change")


def living_connections(store: Store) -> set[int]:
    return connections(store, "SELECT pid FROM pg_stat_activity")


def test_each_table_is_data_or_housekeeping(store: Store) -> None:
    with store.database.reading() as connection:
        noted = connection.execute(
            text("SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'data_changed'")
        ).scalars()
        assert set(noted) == set(metadata.tables) - HOUSEKEEPING


def test_housekeeping_leaves_the_name_as_it_is(store: Store) -> None:
    before = data_id(store)
    store.workers.report("one", started=1.0)
    assert data_id(store) == before


def test_a_change_that_was_undone_leaves_the_name_as_it_is(store: Store) -> None:
    before = data_id(store)
    with suppress(ZeroDivisionError), store.transaction():
        store.commits.add_repository("main")
        _ = 1 / 0
    assert data_id(store) == before


def test_each_transaction_that_changes_data_makes_another_name(store: Store, location: str) -> None:
    with open_store(location) as other:
        names = [data_id(store)]
        for number, writer in enumerate((store, other, store, other)):
            writer.commits.add_repository(f"number-{number}")
            names.append(data_id(store))
    assert len(set(names)) == 5


def test_forgetting_connections_that_are_no_more_brings_no_name_back(store: Store, location: str) -> None:
    names = [data_id(store)]
    with open_store(location) as other:
        other.commits.add_repository("main")
    names.append(data_id(store))
    store.database.forget_ended_connections()
    names.append(data_id(store))
    assert len(set(names)) == 3


def test_a_connection_that_is_no_more_is_forgotten(store: Store, location: str) -> None:
    with open_store(location) as other:
        other.commits.add_repository("others")
        ended = noted_connections(store)
    wait_until("the connections of a closed store end", lambda: not ended & living_connections(store), every=0.01)
    store.database.forget_ended_connections()
    assert not ended & noted_connections(store)


def test_a_connection_that_lives_is_not_forgotten(store: Store, location: str) -> None:
    with open_store(location) as other:
        other.commits.add_repository("others")
        living = noted_connections(store)
        store.database.forget_ended_connections()
        assert living <= noted_connections(store)
