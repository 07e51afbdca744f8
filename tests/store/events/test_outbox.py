from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from knickpoint.store import Event, EventCount, EventKind, Store, open_store
from knickpoint.store.events import FindingsDecided, TracesChanged

KIND, OTHER = EventKind.TRACES_CHANGED, EventKind.CHANGES_UPDATED


def publish(store: Store, number: int = 0) -> None:
    store.outbox.publish(TracesChanged("main", slots=(number,), runs=(), traces={"count": 0}))


def publish_other(store: Store) -> None:
    store.outbox.publish(FindingsDecided("main", decided=1, changes=(1,)))


def number_of(event: Event) -> int:
    return int(event.payload["slots"][0])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that moves when the test sets it."""
    now = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


@pytest.mark.usefixtures("clock")
def test_a_claimed_event_is_not_claimed_again(store: Store, location: str) -> None:
    publish(store, 1)
    assert [event.payload for event in store.outbox.claim([KIND], "one", 60, 10)] == [
        {"repository": "main", "slots": [1], "runs": [], "count": 0}
    ]
    with open_store(location) as other:
        assert other.outbox.claim([KIND], "two", 60, 10) == []


def test_an_event_comes_back_when_its_lease_ends(store: Store, clock: list[float]) -> None:
    publish(store)
    (first,) = store.outbox.claim([KIND], "one", 60, 10)
    clock[0] += 61
    (second,) = store.outbox.claim([KIND], "two", 60, 10)
    assert (second.id, second.attempts) == (first.id, 2)
    assert not store.outbox.done(first)
    assert store.outbox.done(second)


def test_a_failed_event_waits_longer_each_time_and_then_is_dead(store: Store, clock: list[float]) -> None:
    publish(store)
    for _ in range(5):
        (event,) = store.outbox.claim([KIND], "one", 60, 10)
        store.outbox.fail(event, "no luck")
        assert store.outbox.claim([KIND], "one", 60, 10) == []
        clock[0] += 400
    (dead,) = store.outbox.dead()
    assert dead.reason == "no luck"
    assert store.outbox.retry() == 1
    assert len(store.outbox.claim([KIND], "one", 60, 10)) == 1


def test_an_event_whose_workers_all_die_is_dead(store: Store, clock: list[float]) -> None:
    publish(store)
    for _ in range(5):
        assert len(store.outbox.claim([KIND], "one", 60, 10)) == 1
        clock[0] += 61
    assert store.outbox.claim([KIND], "one", 60, 10) == []
    assert "lease" in store.outbox.dead()[0].reason


@pytest.mark.usefixtures("clock")
def test_another_consumer_gets_a_copy(store: Store) -> None:
    store.outbox.subscribe("relay", [KIND])
    publish(store)
    assert len(store.outbox.claim([KIND], "one", 60, 10)) == 1
    assert len(store.outbox.claim([KIND], "one", 60, 10, consumer="relay")) == 1


@pytest.mark.usefixtures("clock")
def test_an_event_of_an_undone_transaction_was_never_there(store: Store) -> None:
    with suppress(ZeroDivisionError), store.transaction():
        publish(store)
        _ = 1 / 0
    assert store.outbox.claim([KIND], "one", 60, 10) == []


@pytest.mark.usefixtures("clock")
def test_events_in_order_are_not_taken_while_an_older_one_is_held(store: Store) -> None:
    for number in range(3):
        publish(store, number)
    (first,) = store.outbox.claim([KIND], "one", 60, 1, in_order=True)
    assert store.outbox.claim([KIND], "two", 60, 10, in_order=True) == []
    store.outbox.done(first)
    assert [number_of(event) for event in store.outbox.claim([KIND], "two", 60, 10, in_order=True)] == [1, 2]


def test_events_in_order_wait_for_an_older_one_that_failed(store: Store, clock: list[float]) -> None:
    for number in range(2):
        publish(store, number)
    (first,) = store.outbox.claim([KIND], "one", 60, 1, in_order=True)
    store.outbox.fail(first, "not now")
    assert store.outbox.claim([KIND], "one", 60, 10, in_order=True) == []
    clock[0] += 2
    assert [number_of(event) for event in store.outbox.claim([KIND], "one", 60, 10, in_order=True)] == [0, 1]


@pytest.mark.usefixtures("clock")
def test_a_released_event_has_not_used_up_an_attempt(store: Store) -> None:
    publish(store)
    for _ in range(20):
        (event,) = store.outbox.claim([KIND], "one", 60, 10)
        assert event.attempts == 1
        store.outbox.release(event)
    assert store.outbox.dead() == []


@pytest.mark.usefixtures("clock")
def test_a_consumer_keeps_no_events_of_kinds_that_it_gave_up(store: Store) -> None:
    store.outbox.subscribe("relay", [KIND, OTHER])
    publish(store)
    publish_other(store)
    store.outbox.subscribe("relay", [OTHER])
    assert [each for each in store.outbox.pending() if each.consumer == "relay"] == [EventCount("relay", OTHER, 1)]


def test_old_events_are_forgotten_but_not_those_that_a_worker_holds(store: Store, clock: list[float]) -> None:
    publish_other(store)
    publish(store)
    clock[0] += 1000
    publish(store)
    store.outbox.claim([OTHER], "one", 60, 10)
    assert store.outbox.forget(500, 100) == [EventCount("main", KIND, 1)]
    assert store.outbox.pending() == [EventCount("main", OTHER, 1), EventCount("main", KIND, 1)]


def test_dead_events_are_forgotten_with_time(store: Store, clock: list[float]) -> None:
    publish(store)
    for _ in range(5):
        (event,) = store.outbox.claim([KIND], "one", 60, 10)
        store.outbox.fail(event, "no luck")
        clock[0] += 400
    assert len(store.outbox.dead()) == 1
    store.outbox.forget(500, 100)
    assert store.outbox.dead() == []


@pytest.mark.usefixtures("clock")
def test_of_too_many_events_the_newest_stay(store: Store) -> None:
    for number in range(5):
        publish(store, number)
    publish_other(store)
    assert store.outbox.forget(1000, 2) == [EventCount("main", KIND, 3)]
    assert [number_of(event) for event in store.outbox.claim([KIND], "one", 60, 10)] == [3, 4]


def test_two_workers_at_once_do_not_overtake_each_other(store: Store, location: str) -> None:
    for number in range(60):
        publish(store, number)
    done: list[int] = []

    def work(name: str) -> None:
        with open_store(location) as opened:
            while len(done) < 60:
                for event in opened.outbox.claim([KIND], name, 60, 7, in_order=True):
                    done.append(number_of(event))
                    opened.outbox.done(event)

    with ThreadPoolExecutor(2) as threads:
        for outcome in [threads.submit(work, name) for name in ("one", "two")]:
            outcome.result(timeout=60)
    assert done == list(range(60))


def test_workers_that_die_lose_no_event_of_those_in_order(store: Store, clock: list[float]) -> None:
    publish(store)
    for _ in range(20):
        assert len(store.outbox.claim([KIND], "one", 60, 10, in_order=True)) == 1
        clock[0] += 61
    assert store.outbox.dead() == []
