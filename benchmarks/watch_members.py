"""Measure which traces join a cluster: generated groups of traces in which it is known which of them moved.

A part of ``make bench-watch``. In each group of 300 traces, some move together by 5 to 15 %, twice as many move by 0.3
% at the same commit, some move at another commit, and the others not at all. The clusters are those that a run keeps in
a store. The peer is k-means alone: its cluster with the traces that Knickpoint leaves out.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.model.cluster import MemberState
from knickpoint.model.commit import Commit
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite, create_store
from knickpoint.watch.alert_run.run import run_alerts
from table import Row

__all__ = ["member_rows"]

_SEED: Final = 20261123
_TRACES, _COMMITS, _PLACE, _ELSEWHERE = 300, 120, 80, 40
_ALERT: Final = Alert("together", method="cluster", parameters={"interesting": 10.0})
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_K_MEANS: Final = "k-means alone"


@dataclass(frozen=True, slots=True)
class _Counts:
    """How many traces moved, how many are members, and how many of the members moved; the same with those left out."""

    moved: int
    members: int
    right: int
    with_left_out: int
    right_with_left_out: int


def _group(random: np.random.Generator, moving: int, noise: float) -> NDArray[np.float64]:
    """Return a group of traces, of which the first ``moving`` move together."""
    levels = np.exp(random.uniform(0, 7, (_TRACES, 1)))
    values = 1 + noise * random.standard_normal((_TRACES, _COMMITS))
    values[:moving, _PLACE:] *= 1 + random.uniform(0.05, 0.15, (moving, 1))
    values[moving : 3 * moving, _PLACE:] *= 1.003
    values[3 * moving : 4 * moving, _ELSEWHERE:] *= 1.1
    moved: NDArray[np.float64] = values * levels
    return moved


def _counted(values: NDArray[np.float64], moving: int) -> _Counts:
    """Return what a run over ``values`` keeps at the place of the change."""
    with (
        tempfile.TemporaryDirectory(prefix="knickpoint-members-") as place,
        create_store(Path(place) / "s.db") as store,
    ):
        repository = store.commits.add_repository("group")
        commits = [
            Commit(f"{number:040x}", "Ada", "", _START + timedelta(hours=number), "Change")
            for number in range(_COMMITS)
        ]
        slots = list(store.commits.add(repository, commits).values())
        store.commits.set_line(repository, "main", slots)
        with store.transaction():
            for column, slot in enumerate(slots):
                results = [
                    Result({"benchmark": f"b{row:03}"}, (float(values[row, column]),), "ms") for row in range(_TRACES)
                ]
                name = str(column)
                store.runs.write(
                    repository, [RunWrite(slot, RunReport(ResultTable.of(results)), name, name, "benchmark")]
                )
        run_alerts(store, [_ALERT], as_work=True)
        found = store.findings.clusters.of_alert(repository, _ALERT.name)
        line = store.commits.line(repository)
    here = [each for each in found if abs(line.positions[each.suspect_range.slot] - _PLACE) <= 2 and not each.gone]
    moved = {f",benchmark=b{row:03}," for row in range(moving)}
    members = {each.key for kept in here for each in kept.members if each.state is MemberState.MEMBER}
    judged = {each.key for kept in here for each in kept.members}
    return _Counts(moving, len(members), len(members & moved), len(judged), len(judged & moved))


def member_rows() -> list[Row]:
    """Return precision and recall of the members of generated clusters, for small and large groups and two noises."""
    rows = []
    random = np.random.default_rng(_SEED)
    for noise in (0.01, 0.03):
        counts = [_counted(_group(random, moving, noise), moving) for moving in (10, 25, 60) for _ in range(2)]
        name = f"clusters of 10 to 60 among {_TRACES} traces, noise {noise:.0%}"
        members, judged = sum(each.members for each in counts), sum(each.with_left_out for each in counts)
        right, among = sum(each.right for each in counts), sum(each.right_with_left_out for each in counts)
        moved = sum(each.moved for each in counts)
        precision = right / members if members else None
        rows += [
            Row(f"{name}: precision", "", precision, among / judged if judged else None, _K_MEANS),
            Row(f"{name}: recall", "", right / moved, among / moved, _K_MEANS),
        ]
    return rows
