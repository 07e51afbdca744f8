"""Measure what a file of results takes whose traces all belong to a large change, on an embedded store.

A part of ``make bench-watch``. A commit moves all traces by 10 %, and the results of each commit come in files of 250
traces. The peer is the same file where the change has no other traces: whoever reads all members of a change for each
file takes longer the more there are. Two phases are measured: the commits at which the change settles, trace by trace,
and one at which nothing is new.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.model.commit import Commit, Repository
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite, Store, create_store
from knickpoint.watch.alert_run.run import run_alerts
from table import Reach, Row

__all__ = ["growth_rows"]

_SEED: Final = 20261127
_FILE: Final = 250
_SIZES: Final = (2_000, 10_000)
_BEFORE, _SETTLES, _QUIET = 40, 3, 1
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_ALERTS: Final = (Alert("steps"),)
_ALONE: Final = f"a change of these {_FILE} alone"
_AT_MOST: Final = 3.0


@dataclass(frozen=True, slots=True)
class _Times:
    """Mean processor seconds of a file while the change settles, and after that."""

    settling: float
    quiet: float


def _put(store: Store, repository: Repository, slot: int, values: NDArray[np.float64], first: int) -> None:
    """Store the results of one file: ``values`` of the traces from ``first`` on."""
    results = [Result({"benchmark": f"b{first + row:06}"}, (value,), "ms") for row, value in enumerate(values.tolist())]
    name = f"{slot} {first}"
    store.runs.write(repository, [RunWrite(slot, RunReport(ResultTable.of(results)), name, name, "benchmark")])


def _ids(store: Store, repository: Repository, rows: Sequence[int]) -> list[int]:
    keys = [f",benchmark=b{row:06}," for row in rows]
    found = store.traces.find_ids(repository, keys)
    return [found[key][0] for key in keys]


def _timed(traces: int) -> _Times:
    """Replay the arrival of the commits of a change of so many traces."""
    commits = _BEFORE + _SETTLES + _QUIET
    values = 100 * (1 + 0.01 * np.random.default_rng(_SEED).standard_normal((traces, commits)))
    values[:, _BEFORE:] *= 1.1
    with (
        tempfile.TemporaryDirectory(prefix="knickpoint-growth-") as place,
        create_store(Path(place) / "s.db") as store,
    ):
        repository = store.commits.add_repository("growing")
        history = [
            Commit(f"{number:040x}", "Ada", "", _START + timedelta(hours=number), "Change") for number in range(commits)
        ]
        slots = list(store.commits.add(repository, history).values())
        store.commits.set_line(repository, "main", slots)
        with store.transaction():
            for column, slot in enumerate(slots[:_BEFORE]):
                _put(store, repository, slot, values[:, column], 0)
        run_alerts(store, _ALERTS)
        files = [range(first, first + _FILE) for first in range(0, traces, _FILE)]
        ids = [_ids(store, repository, rows) for rows in files]
        taken = np.zeros((commits - _BEFORE, len(files)))
        for commit, column in enumerate(range(_BEFORE, commits)):
            for number, rows in enumerate(files):
                _put(store, repository, slots[column], values[rows.start : rows.stop, column], rows.start)
                begin = time.process_time()
                run_alerts(store, _ALERTS, traces=ids[number])
                taken[commit, number] = time.process_time() - begin
        largest = max(len(each.members) for each in store.findings.changes(repository))
        assert largest > 0.9 * traces, f"the largest change has {largest} traces of {traces}"
    # The later half of the files of each commit: in these, most members of the change are there.
    late = taken[:, len(files) // 2 :]
    return _Times(float(late[:_SETTLES].mean()), float(late[_SETTLES:].mean()))


def growth_rows() -> list[Row]:
    """Return rows about files of traces that are part of a small and of a large change."""
    alone = _timed(_FILE)
    rows: list[Row] = []
    for size in _SIZES:
        found = _timed(size)
        name = f"a file of {_FILE} traces of a change of {size:,}"
        for phase, ours, peer in (
            ("while it settles", found.settling, alone.settling),
            ("afterwards", found.quiet, alone.quiet),
        ):
            rows.append(Row(f"{name}, {phase}", "s", ours, peer, _ALONE, Reach.AT_MOST_TIMES, _AT_MOST))
    return rows
