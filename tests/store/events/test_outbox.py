from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
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


@pytest.mark.usefixtures("clock")
def test_events_in_order_are_not_taken_while_an_older_one_is_held(store: Store) -> None:
    for number in range(3):
        store.outbox.publish("kind", {"n": number})
    (first,) = store.outbox.claim(["kind"], "one", 60, 1, in_order=True)
    assert store.outbox.claim(["kind"], "two", 60, 10, in_order=True) == []
    store.outbox.done(first)
    assert [event.payload["n"] for event in store.outbox.claim(["kind"], "two", 60, 10, in_order=True)] == [1, 2]


def test_events_in_order_wait_for_an_older_one_that_failed(store: Store, clock: list[float]) -> None:
    for number in range(2):
        store.outbox.publish("kind", {"n": number})
    (first,) = store.outbox.claim(["kind"], "one", 60, 1, in_order=True)
    store.outbox.fail(first, "not now")
    assert store.outbox.claim(["kind"], "one", 60, 10, in_order=True) == []
    clock[0] += 2
    assert [event.payload["n"] for event in store.outbox.claim(["kind"], "one", 60, 10, in_order=True)] == [0, 1]


@pytest.mark.usefixtures("clock")
def test_a_released_event_has_not_used_up_an_attempt(store: Store) -> None:
    store.outbox.publish("kind", {})
    for _ in range(20):
        (event,) = store.outbox.claim(["kind"], "one", 60, 10)
        assert event.attempts == 1
        store.outbox.release(event)
    assert store.outbox.dead() == []


@pytest.mark.usefixtures("clock")
def test_who_wants_no_more_events_has_none_left(store: Store) -> None:
    store.outbox.subscribe("relay", ["one", "two"])
    for kind in ("one", "two"):
        store.outbox.publish(kind, {})
    store.outbox.subscribe("relay", ["two"])
    assert {key: count for key, count in store.outbox.pending().items() if key[0] == "relay"} == {("relay", "two"): 1}


def test_old_events_are_forgotten_but_not_those_that_somebody_holds(store: Store, clock: list[float]) -> None:
    store.outbox.publish("held", {})
    store.outbox.publish("kind", {})
    clock[0] += 1000
    store.outbox.publish("kind", {})
    store.outbox.claim(["held"], "one", 60, 10)
    assert store.outbox.forget(500, 100) == {("main", "kind"): 1}
    assert store.outbox.pending() == {("main", "held"): 1, ("main", "kind"): 1}


def test_dead_events_are_forgotten_with_time(store: Store, clock: list[float]) -> None:
    store.outbox.publish("kind", {})
    for _ in range(5):
        (event,) = store.outbox.claim(["kind"], "one", 60, 10)
        store.outbox.fail(event, "no luck")
        clock[0] += 400
    assert len(store.outbox.dead()) == 1
    store.outbox.forget(500, 100)
    assert store.outbox.dead() == []


@pytest.mark.usefixtures("clock")
def test_of_too_many_events_the_newest_stay(store: Store) -> None:
    for number in range(5):
        store.outbox.publish("kind", {"n": number})
    store.outbox.publish("other", {})
    assert store.outbox.forget(1000, 2) == {("main", "kind"): 3}
    assert [event.payload["n"] for event in store.outbox.claim(["kind"], "one", 60, 10)] == [3, 4]


def test_two_workers_at_once_do_not_overtake_each_other(store: Store, location: str) -> None:
    for number in range(60):
        store.outbox.publish("kind", {"n": number})
    done: list[int] = []

    def work(name: str) -> None:
        with open_store(location) as own:
            while len(done) < 60:
                for event in own.outbox.claim(["kind"], name, 60, 7, in_order=True):
                    done.append(event.payload["n"])
                    own.outbox.done(event)

    with ThreadPoolExecutor(2) as threads:
        for outcome in [threads.submit(work, name) for name in ("one", "two")]:
            outcome.result(timeout=60)
    assert done == list(range(60))


def test_workers_that_die_lose_no_event_of_those_in_order(store: Store, clock: list[float]) -> None:
    store.outbox.publish("kind", {})
    for _ in range(20):
        assert len(store.outbox.claim(["kind"], "one", 60, 10, in_order=True)) == 1
        clock[0] += 61
    assert store.outbox.dead() == []
