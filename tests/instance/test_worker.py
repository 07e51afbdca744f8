from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from knickpoint.instance import CONFIG_FILE, Instance, Worker, create_instance, forget_values, open_instance
from knickpoint.model.errors import ServiceError
from knickpoint.model.query import Query
from knickpoint.model.regression import Status
from knickpoint.store import Event

_OLD = (1_700_000_000, 1_700_000_000)


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    create_instance(tmp_path).close()
    (tmp_path / CONFIG_FILE).write_text('[ingest.sources.here]\nlocation = "results"\n', encoding="utf-8")
    (tmp_path / "results").mkdir()
    with open_instance(tmp_path) as opened:
        yield opened


def measure(instance: Instance, number: int, value: float) -> None:
    """Put a results file of the commit ``number`` into the watched folder."""
    path = instance.directory / "results" / f"{number:03}.json"
    results = [{"key": {"benchmark": "sort", "unit": "ms"}, "measurement": value}]
    path.write_text(json.dumps({"version": 1, "git_hash": f"CP:{number}", "results": results}), encoding="utf-8")
    os.utime(path, _OLD)


def with_a_step(instance: Instance) -> None:
    for number in range(30):
        measure(instance, number, (10.0 if number < 15 else 20.0) + 0.01 * (number % 3))


def points(instance: Instance) -> int:
    store = instance.store
    repository = store.commits.repository("main")
    frame = store.frames.read(store.commits.line(repository), store.traces.select(repository, Query()))
    return int((frame.values == frame.values).sum())


def test_a_round_takes_in_what_arrived_and_finds_what_changed(instance: Instance) -> None:
    with_a_step(instance)
    told: list[str] = []
    worker = Worker(instance, told.append, clock=Clock())
    assert worker.step()
    assert points(instance) == 30
    assert any("1 new regressions" in line for line in told)
    assert instance.store.outbox.pending().get(("main", "traces-changed"), 0) == 0


def test_a_second_round_finds_nothing_to_do(instance: Instance) -> None:
    with_a_step(instance)
    worker = Worker(instance, clock=Clock())
    worker.step()
    assert not worker.step()


def test_sources_are_looked_at_when_their_time_has_come(instance: Instance) -> None:
    clock = Clock()
    worker = Worker(instance, clock=clock)
    worker.step()
    measure(instance, 1, 1.0)
    assert not worker.step()
    clock.now += 61
    assert worker.step()


def test_a_source_that_fails_is_told_and_does_not_stop_the_rest(instance: Instance) -> None:
    (instance.directory / "results").rmdir()
    told: list[str] = []
    worker = Worker(instance, told.append, clock=Clock())
    worker.step()
    assert told[0].startswith("source here: ")


def test_findings_are_delivered_once(instance: Instance) -> None:
    with_a_step(instance)
    delivered: list[Event] = []
    worker = Worker(instance, notify=delivered.append, clock=Clock())
    worker.step()
    worker.step()
    assert [event.kind for event in delivered] == ["regressions-changed"]


def test_a_delivery_that_fails_is_told_and_kept(instance: Instance) -> None:
    with_a_step(instance)
    told: list[str] = []

    def refuse(_event: Event) -> None:
        raise ServiceError("the mail server does not answer")

    Worker(instance, told.append, refuse, clock=Clock()).step()
    assert "notification: the mail server does not answer" in told
    assert instance.store.outbox.pending()["main", "regressions-changed"] == 1


def test_an_alert_that_cannot_run_keeps_its_events(instance: Instance) -> None:
    (instance.directory / CONFIG_FILE).write_text(
        '[ingest.sources.here]\nlocation = "results"\n[alerts.a]\nmethod = "magic"\n', encoding="utf-8"
    )
    measure(instance, 1, 1.0)
    told: list[str] = []
    with open_instance(instance.directory) as opened:
        Worker(opened, told.append, clock=Clock()).step()
    assert any("magic" in line for line in told)
    assert instance.store.outbox.pending()["main", "traces-changed"] >= 1


def test_a_worker_that_is_told_to_stop_ends(instance: Instance) -> None:
    stop = threading.Event()
    worker = Worker(instance, lambda _line: stop.set())
    measure(instance, 1, 1.0)
    thread = threading.Thread(target=worker.run, args=(stop,))
    thread.start()
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_two_workers_do_not_do_the_same_work(instance: Instance) -> None:
    with_a_step(instance)
    delivered: list[Event] = []
    workers = [Worker(instance, notify=delivered.append, name=name, clock=Clock()) for name in ("one", "two")]
    for worker in workers:
        worker.step()
    assert points(instance) == 30
    assert len(delivered) == 1


def test_events_that_nobody_takes_do_not_pile_up(instance: Instance) -> None:
    path = instance.directory / CONFIG_FILE
    path.write_text(path.read_text(encoding="utf-8") + "[worker]\nmost_events = 2\n", encoding="utf-8")
    for number in range(5):
        instance.store.outbox.publish("regressions-changed", {"n": number})
    told: list[str] = []
    with open_instance(instance.directory) as opened:
        Worker(opened, told.append, clock=Clock()).step()
    assert instance.store.outbox.pending() == {("main", "regressions-changed"): 2}
    assert any("3 of kind regressions-changed" in line for line in told)


def keep_values_on(instance: Instance, commits: int) -> None:
    path = instance.directory / CONFIG_FILE
    told = path.read_text(encoding="utf-8") + f"\n[retention]\nvalues_commits = {commits}\n"
    path.write_text(told, encoding="utf-8")


def test_old_values_are_forgotten_by_rule(instance: Instance) -> None:
    with_a_step(instance)
    Worker(instance, clock=Clock()).step()
    keep_values_on(instance, 10)
    with open_instance(instance.directory) as again:
        told: list[str] = []
        Worker(again, told.append, clock=Clock()).step()
        assert points(again) == 10
    assert any("retention: 0 samples and 20 points of main are forgotten" in line for line in told)


def test_the_evidence_of_what_somebody_decided_is_kept(instance: Instance) -> None:
    with_a_step(instance)
    Worker(instance, clock=Clock()).step()
    store = instance.store
    (regression,) = store.findings.regressions(store.commits.repository("main"))
    store.findings.decide(
        [point.id for point in store.findings.live_members(regression.id)], Status.ACKNOWLEDGED, "ann"
    )
    keep_values_on(instance, 10)
    with open_instance(instance.directory) as again:
        assert forget_values(again, dry_run=True) == {}
        Worker(again, clock=Clock()).step()
        assert points(again) == 30
