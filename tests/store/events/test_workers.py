from __future__ import annotations

import time

from sqlalchemy import update

from knickpoint.store import Store
from knickpoint.store.tables.workers import worker


def test_a_worker_is_seen_until_it_leaves(store: Store) -> None:
    store.workers.saw("one", started=5.0)
    store.workers.saw("one", started=5.0)
    (found,) = store.workers.all()
    assert (found.name, found.started.timestamp(), found.failures, found.failed) == ("one", 5.0, 0, None)
    store.workers.left("one")
    assert store.workers.all() == []


def test_what_failed_last_is_kept_when_the_worker_is_well_again(store: Store) -> None:
    store.workers.saw("one", started=5.0, failures=2, reason="the disk is full")
    store.workers.saw("one", started=5.0)
    (found,) = store.workers.all()
    assert (found.failures, found.reason) == (0, "the disk is full")
    assert found.failed is not None


def test_a_worker_that_nobody_saw_for_a_day_is_forgotten(store: Store) -> None:
    store.workers.saw("old", started=5.0)
    with store.transaction() as connection:
        connection.execute(update(worker).values(seen=time.time() - 90_000))
    store.workers.saw("new", started=6.0)
    assert [one.name for one in store.workers.all()] == ["new"]
