from __future__ import annotations

import time
from contextlib import suppress

import pytest

from knickpoint.store import Store, open_store


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that moves when the test says so."""
    now = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


@pytest.mark.usefixtures("clock")
def test_a_claimed_event_is_not_claimed_again(store: Store, location: str) -> None:
    store.outbox.publish("kind", {"n": 1})
    assert [event.payload for event in store.outbox.claim(["kind"], "one", 60, 10)] == [{"n": 1}]
    with open_store(location) as other:
        assert other.outbox.claim(["kind"], "two", 60, 10) == []


def test_an_event_comes_back_when_its_lease_ends(store: Store, clock: list[float]) -> None:
    store.outbox.publish("kind", {})
    (first,) = store.outbox.claim(["kind"], "one", 60, 10)
    clock[0] += 61
    (second,) = store.outbox.claim(["kind"], "two", 60, 10)
    assert (second.id, second.attempts) == (first.id, 2)
    assert not store.outbox.done(first)
    assert store.outbox.done(second)


def test_a_failed_event_waits_longer_each_time_and_then_is_dead(store: Store, clock: list[float]) -> None:
    store.outbox.publish("kind", {})
    for _ in range(5):
        (event,) = store.outbox.claim(["kind"], "one", 60, 10)
        store.outbox.fail(event, "no luck")
        assert store.outbox.claim(["kind"], "one", 60, 10) == []
        clock[0] += 400
    (dead,) = store.outbox.dead()
    assert dead.reason == "no luck"
    assert store.outbox.retry() == 1
    assert len(store.outbox.claim(["kind"], "one", 60, 10)) == 1


def test_an_event_whose_workers_all_die_is_dead(store: Store, clock: list[float]) -> None:
    store.outbox.publish("kind", {})
    for _ in range(5):
        assert len(store.outbox.claim(["kind"], "one", 60, 10)) == 1
        clock[0] += 61
    assert store.outbox.claim(["kind"], "one", 60, 10) == []
    assert "lease" in store.outbox.dead()[0].reason


@pytest.mark.usefixtures("clock")
def test_another_consumer_gets_a_copy(store: Store) -> None:
    store.outbox.subscribe("relay", ["kind"])
    store.outbox.publish("kind", {})
    assert len(store.outbox.claim(["kind"], "one", 60, 10)) == 1
    assert len(store.outbox.claim(["kind"], "one", 60, 10, consumer="relay")) == 1


@pytest.mark.usefixtures("clock")
def test_an_event_of_an_undone_transaction_was_never_there(store: Store) -> None:
    with suppress(ZeroDivisionError), store.transaction():
        store.outbox.publish("kind", {})
        _ = 1 / 0
    assert store.outbox.claim(["kind"], "one", 60, 10) == []
