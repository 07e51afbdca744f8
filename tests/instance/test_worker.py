from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from knickpoint.ingest import import_files
from knickpoint.instance import CONFIG_FILE, Instance, Worker, create_instance, forget_values, open_instance
from knickpoint.model.change_point import Status
from knickpoint.model.errors import BusyError
from knickpoint.model.query import Query
from knickpoint.store import EventKind
from knickpoint.store.events import FindingsDecided, PackedIds, TracesChanged

_OLD = (1_700_000_000, 1_700_000_000)


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Hurried:
    """A clock that advances by an hour with each reading."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 3600.0
        return self.now


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    create_instance(tmp_path).close()
    (tmp_path / CONFIG_FILE).write_text(
        '[history]\nas_work = true\n[ingest.sources.here]\nlocation = "results"\n', encoding="utf-8"
    )
    (tmp_path / "results").mkdir()
    with open_instance(tmp_path) as opened:
        yield opened


def pending(instance: Instance) -> dict[EventKind, int]:
    """Return how many events of each kind wait for the worker."""
    return {each.kind: each.count for each in instance.store.outbox.pending() if each.consumer == "main"}


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
    announced: list[str] = []
    worker = Worker(instance, announced.append, clock=Clock())
    assert worker.step()
    assert points(instance) == 30
    assert any("1 new change" in line for line in announced)
    assert EventKind.TRACES_CHANGED not in pending(instance)


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
    announced: list[str] = []
    worker = Worker(instance, announced.append, clock=Clock())
    worker.step()
    assert announced[0].startswith("source here: ")


def with_alerts(instance: Instance, alerts: str) -> Instance:
    path = instance.directory / CONFIG_FILE
    path.write_text(path.read_text(encoding="utf-8") + alerts, encoding="utf-8")
    return open_instance(instance.directory)


def test_findings_that_would_turn_are_named_once(instance: Instance) -> None:
    with_a_step(instance)
    Worker(instance, lambda _line: None, clock=Clock()).step()
    announced: list[str] = []
    with with_alerts(instance, '[directions.all]\nquery = "benchmark=*"\nbetter = "higher"\n') as opened:
        worker = Worker(opened, announced.append, clock=Clock())
        worker.step()
        measure(instance, 30, 20.0)
        worker.step()
    (line,) = [line for line in announced if "would turn" in line]
    assert line.startswith(
        "1 finding in 1 trace would turn, because another direction is better now, as in ,benchmark="
    )
    assert line.endswith("now higher; knick run --turn-findings accepts")


def test_an_alert_that_cannot_run_is_told_once_and_the_others_run(instance: Instance) -> None:
    with_a_step(instance)
    announced: list[str] = []
    with with_alerts(instance, '[alerts.a]\nmethod = "magic"\n[alerts.b]\n') as opened:
        worker = Worker(opened, announced.append, clock=Clock())
        worker.step()
        measure(instance, 30, 20.0)
        worker.step()
    (line,) = [line for line in announced if "magic" in line]
    assert line.startswith("alert 'a' could not run: there is no method 'magic'. The methods are: catapult, cluster")
    assert any("1 new change" in line for line in announced)


def test_a_mended_alert_catches_up_with_the_next_run_over_everything(instance: Instance) -> None:
    with_a_step(instance)
    with with_alerts(instance, '[alerts.a]\nmethod = "magic"\n') as opened:
        Worker(opened, clock=Clock()).step()
    path = instance.directory / CONFIG_FILE
    path.write_text(path.read_text(encoding="utf-8").replace("magic", "default"), encoding="utf-8")
    announced: list[str] = []
    with open_instance(instance.directory) as opened:
        Worker(opened, announced.append, clock=Clock()).step()
    assert any("1 new change" in line for line in announced)


class Broken:
    """A piece of work that fails as often as asked."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error = error
        self.times = times
        self.calls = 0

    def __call__(self) -> list[str]:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return []


def test_an_unexpected_error_is_logged_told_and_does_not_stop_the_rest(
    instance: Instance, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with_a_step(instance)
    monkeypatch.setattr(Worker, "_follow_history", lambda _worker: 1 / 0)
    announced: list[str] = []
    Worker(instance, announced.append, clock=Clock()).step()
    assert any("1 new change" in line for line in announced)
    assert any(line.startswith("history: it failed unexpectedly") for line in announced)
    assert "ZeroDivisionError" in caplog.text
    (state,) = instance.store.workers.all()
    assert (state.failures, "ZeroDivisionError" in state.reason) == (1, True)


def test_what_fails_is_tried_again_after_a_pause_that_grows_and_told_once(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Broken(OSError("the disk is gone"), 3)
    monkeypatch.setattr("knickpoint.instance.worker.worker.forget_events", lambda _instance: broken())
    announced: list[str] = []
    clock = Clock()
    worker = Worker(instance, announced.append, clock=clock)
    tried = []
    for _ in range(9):
        worker.step()
        tried.append(broken.calls)
        clock.now += 1
    assert tried == [1, 2, 2, 3, 3, 3, 3, 4, 4]
    assert [line for line in announced if line.startswith("forgetting")] == [
        "forgetting: it failed unexpectedly, the log has the details: OSError('the disk is gone')",
        "forgetting: all is well again",
    ]
    clock.now += 60
    worker.step()
    assert instance.store.workers.all()[0].failures == 0


def test_events_that_cannot_be_read_do_not_hold_up_the_others(instance: Instance) -> None:
    broken = cast(PackedIds, {"count": "many", "chunks": 5})
    instance.store.outbox.publish(TracesChanged("main", slots=(), runs=(), traces=broken))
    with_a_step(instance)
    announced: list[str] = []
    Worker(instance, announced.append, clock=Clock()).step()
    assert any("1 new change" in line for line in announced)
    assert pending(instance)[EventKind.TRACES_CHANGED] == 1


def test_events_outlive_a_store_that_is_busy(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    with_a_step(instance)

    def busy(*_arguments: object, **_keywords: object) -> None:
        raise BusyError("somebody else is writing")

    with monkeypatch.context() as patch:
        patch.setattr("knickpoint.watch.alert_run.run.run_alerts", busy)
        clock = Clock()
        worker = Worker(instance, clock=clock)
        for _ in range(9):
            worker.step()
            clock.now += 600
    assert instance.store.outbox.dead() == []
    announced: list[str] = []
    Worker(instance, announced.append, clock=Clock()).step()
    assert any("1 new change" in line for line in announced)


def test_a_worker_is_seen_while_it_works_and_not_when_it_ended(instance: Instance) -> None:
    seen: list[int] = []
    stop = threading.Event()

    class Watching(Worker):
        def step(self, stop: threading.Event | None = None) -> bool:
            busy = super().step(stop)
            seen.append(len(self.instance.store.workers.all()))
            assert stop is not None
            stop.set()
            return busy

    Watching(instance).run(stop)
    assert seen == [1]
    assert instance.store.workers.all() == []


def test_a_worker_that_cannot_even_begin_tries_again(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[str] = []
    stop = threading.Event()

    def refuse(_store: object, *, wanted: bool) -> None:
        attempts.append(str(wanted))
        if len(attempts) == 2:
            stop.set()
        raise RuntimeError("not now")

    monkeypatch.setattr("knickpoint.instance.relay.listen_to_outbox", refuse)
    announced: list[str] = []
    Worker(instance, announced.append, clock=Hurried()).run(stop)
    assert len(attempts) == 2
    assert announced == ["connection: it failed unexpectedly, the log has the details: RuntimeError('not now')"]


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
    workers = [Worker(instance, name=name, clock=Clock()) for name in ("one", "two")]
    for worker in workers:
        worker.step()
    assert points(instance) == 30
    assert pending(instance)[EventKind.CHANGES_UPDATED] == 1


def test_events_that_nobody_takes_do_not_pile_up(instance: Instance) -> None:
    path = instance.directory / CONFIG_FILE
    path.write_text(path.read_text(encoding="utf-8") + "[worker]\nmost_events = 2\n", encoding="utf-8")
    for number in range(5):
        instance.store.outbox.publish(FindingsDecided("main", decided=number, changes=()))
    announced: list[str] = []
    with open_instance(instance.directory) as opened:
        Worker(opened, announced.append, clock=Clock()).step()
    assert pending(instance) == {EventKind.CHANGES_UPDATED: 2}
    assert any("3 of kind changes-updated" in line for line in announced)


def keep_values_on(instance: Instance, commits: int) -> None:
    path = instance.directory / CONFIG_FILE
    text = path.read_text(encoding="utf-8") + f"\n[retention]\nvalues_commits = {commits}\n"
    path.write_text(text, encoding="utf-8")


def test_old_values_are_forgotten_by_rule(instance: Instance) -> None:
    with_a_step(instance)
    Worker(instance, clock=Clock()).step()
    keep_values_on(instance, 10)
    with open_instance(instance.directory) as again:
        announced: list[str] = []
        Worker(again, announced.append, clock=Clock()).step()
        assert points(again) == 10
    assert any("retention: deleted 0 samples and 20 points of main" in line for line in announced)


def test_the_evidence_of_what_somebody_decided_is_kept(instance: Instance) -> None:
    with_a_step(instance)
    Worker(instance, clock=Clock()).step()
    store = instance.store
    (change,) = store.findings.changes(store.commits.repository("main"))
    store.findings.triage.decide(
        [point.id for point in store.findings.live_members(change.id)], Status.ACKNOWLEDGED, "ann"
    )
    keep_values_on(instance, 10)
    with open_instance(instance.directory) as again:
        assert forget_values(again, dry_run=True) == {}
        Worker(again, clock=Clock()).step()
        assert points(again) == 30


# History


@pytest.fixture
def usual(tmp_path: Path) -> Iterator[Instance]:
    """Make an instance that keeps history apart, as instances do."""
    create_instance(tmp_path / "usual").close()
    (tmp_path / "usual" / CONFIG_FILE).write_text('[ingest.sources.here]\nlocation = "results"\n', encoding="utf-8")
    (tmp_path / "usual" / "results").mkdir()
    with open_instance(tmp_path / "usual") as opened:
        yield opened


def sides(instance: Instance) -> tuple[int, int]:
    """Return how many changes are history, and how many are work."""
    found = instance.store.boundaries.sides(instance.store.commits.repository("main"))
    return found.history_changes, found.work_changes


def test_a_folder_of_years_is_history(usual: Instance) -> None:
    with_a_step(usual)
    announced: list[str] = []
    Worker(usual, announced.append, clock=Clock()).step()
    assert sides(usual) == (1, 0)
    assert any("0 new changes, and 1 that are history" in line for line in announced)


@pytest.mark.long
def test_results_that_arrive_one_by_one_are_work(usual: Instance) -> None:
    clock = Clock()
    worker = Worker(usual, clock=clock)
    for number in range(30):
        measure(usual, number, (10.0 if number < 15 else 20.0) + 0.01 * (number % 3))
        worker.step()
        clock.now += 60
    assert sides(usual) == (0, 1)


@pytest.mark.long
def test_an_import_of_years_beside_a_worker_is_history(usual: Instance) -> None:
    with_a_step(usual)
    files = sorted((usual.directory / "results").iterdir())
    (usual.directory / CONFIG_FILE).write_text("", encoding="utf-8")
    with open_instance(usual.directory) as beside:
        worker = Worker(beside, clock=Clock())

        def between_files(_done: int, _total: int) -> None:
            worker.step()

        import_files(usual, files, progress=between_files)
        worker.step()
        assert sides(usual) == (1, 0)


def test_a_second_import_beside_a_worker_does_not_move_the_boundary(usual: Instance) -> None:
    with_a_step(usual)
    files = sorted((usual.directory / "results").iterdir())
    (usual.directory / CONFIG_FILE).write_text("", encoding="utf-8")
    with open_instance(usual.directory) as beside:
        worker = Worker(beside, clock=Clock())
        for some in (files[:10], files[10:]):
            import_files(usual, some)
            worker.step()
    assert sides(usual) == (0, 1)
