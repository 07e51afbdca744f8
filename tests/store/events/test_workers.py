from __future__ import annotations

import time

from sqlalchemy import update

from knickpoint.store import Store
from knickpoint.store.tables.access import worker


def test_a_worker_is_listed_until_it_is_removed(store: Store) -> None:
    store.workers.report("one", started=5.0)
    store.workers.report("one", started=5.0)
    (found,) = store.workers.all()
    assert (found.name, found.started.timestamp(), found.failures, found.failed) == ("one", 5.0, 0, None)
    store.workers.remove("one")
    assert store.workers.all() == []


def test_the_last_failure_is_kept_when_the_worker_recovers(store: Store) -> None:
    store.workers.report("one", started=5.0, failures=2, reason="the disk is full")
    store.workers.report("one", started=5.0)
    (found,) = store.workers.all()
    assert (found.failures, found.reason) == (0, "the disk is full")
    assert found.failed is not None


def test_a_worker_that_does_not_report_for_a_day_is_forgotten(store: Store) -> None:
    store.workers.report("old", started=5.0)
    with store.transaction() as connection:
        connection.execute(update(worker).values(seen=time.time() - 90_000))
    store.workers.report("new", started=6.0)
    assert [state.name for state in store.workers.all()] == ["new"]
