"""A small instance to watch: one repository, commits in a row, values put in as runs."""

from __future__ import annotations

import hashlib
import math
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Pool, event

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint
from knickpoint.model.commit import Commit, Repository
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite, Store, create_store, open_store
from knickpoint.watch.alert_run.persistence import RunSummary
from knickpoint.watch.alert_run.run import run_alerts

QUICK = Alert("quick", method="threshold")
"""An alert that finds every jump of 5 % as soon as one value shows it."""


def levels(*parts: tuple[int, float]) -> list[float]:
    """Return ``count`` values about each level, with a small regular noise."""
    wobble = (0.0, 0.3, -0.2, 0.1, -0.3, 0.2, -0.1)
    values: list[float] = []
    for count, level in parts:
        values += [level * (1 + 0.01 * wobble[(len(values) + k) % 7]) for k in range(count)]
    return values


@dataclass
class World:
    """Hold a store with one repository; positions on its line are slots."""

    store: Store
    repository: Repository
    alerts: tuple[Alert, ...] = (QUICK,)
    units: dict[str, str] = field(default_factory=dict)

    def measure(self, values: Mapping[str, Sequence[float]], *, first: int = 0) -> None:
        """Put one run a commit, beginning at ``first``; nan is not a result."""
        with self.store.transaction():
            for offset in range(max(len(series) for series in values.values())):
                results = {name: series[offset] for name, series in values.items() if offset < len(series)}
                self.put(first + offset, {name: value for name, value in results.items() if not math.isnan(value)})

    def put(self, slot: int, results: Mapping[str, float]) -> None:
        """Put one run; a second one at the same commit with the same names is a correction."""
        table = ResultTable.of(
            Result({"benchmark": name, "kind": name[0]}, (value,), self.units.get(name, "ms"))
            for name, value in results.items()
        )
        identity = f"{slot}:{','.join(sorted(results))}"
        content = hashlib.sha256(repr(sorted(results.items())).encode()).hexdigest()
        run = RunReport(table, identity=identity)
        if results:
            self.store.runs.write(self.repository, [RunWrite(slot, run, identity, content, "test")])

    def trace(self, name: str) -> int:
        """Return the id of the trace of ``name``."""
        return self.store.traces.find(self.repository, f",benchmark={name},kind={name[0]},")[0].id

    def points(self, name: str, *, gone: bool = False) -> list[ChangePoint]:
        """Return the change points of ``name``."""
        return self.store.findings.change_points(self.trace(name), gone=gone)

    def places(self, name: str) -> list[int]:
        """Return the slots of the live change points of ``name``."""
        return [point.suspect_range.slot for point in self.points(name)]

    def run(self, *alerts: Alert) -> RunSummary:
        """Run the given alerts, or the world's own."""
        return run_alerts(self.store, alerts or self.alerts)


def make_world(place: Path | str, commits: int = 80) -> World:
    """Make a store at ``place`` with ``commits`` commits on the line main."""
    store = create_store(place)
    repository = store.commits.add_repository("project")
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    history = [
        Commit(
            hashlib.sha256(str(k).encode()).hexdigest(),
            f"author {k % 3}",
            "a@example.org",
            begin + timedelta(hours=k),
            f"Change {k}",
        )
        for k in range(commits)
    ]
    store.commits.add(repository, history)
    store.commits.set_line(repository, "main", range(commits))
    return World(store, repository)


@pytest.fixture(scope="session")
def empty_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of an instance with 80 commits and no results, to be copied."""
    place = tmp_path_factory.mktemp("world") / "store.db"
    make_world(place).store.close()
    return place


def copied(empty_world: Path, place: Path) -> World:
    """Open a copy of the empty instance at ``place``."""
    shutil.copy(empty_world, place)
    store = open_store(place)
    return World(store, store.commits.repository("project"))


@pytest.fixture
def world(empty_world: Path, tmp_path: Path) -> Iterator[World]:
    """Return an instance with 80 commits and no results."""
    made = copied(empty_world, tmp_path / "store.db")
    yield made
    made.store.close()


@pytest.fixture
def asked() -> Iterator[list[str]]:
    """Collect the statements that embedded databases get, by whatever way."""
    statements: list[str] = []

    def listen(connection: sqlite3.Connection, *_: object) -> None:
        connection.set_trace_callback(statements.append)

    def leave(connection: sqlite3.Connection, *_: object) -> None:
        connection.set_trace_callback(None)

    event.listen(Pool, "checkout", listen)
    event.listen(Pool, "checkin", leave)
    yield statements
    event.remove(Pool, "checkout", listen)
    event.remove(Pool, "checkin", leave)
