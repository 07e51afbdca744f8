"""Find benchmarks that stopped: some while others are still measured, or all of them while commits go on.

Each trace sets its own pace: a silence counts when it is much longer than the gaps that the trace had before. The rules
are in ``docs/decisions/missing-data-quarantine-canaries.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line, Repository
from knickpoint.model.frame import Trace
from knickpoint.model.query import parse_query
from knickpoint.store import Store
from knickpoint.watch.absence.habits import RECENT, Habits, KnownHabits, read_habits

__all__ = ["Absences", "MeasuredTraces", "MissingTrace", "Silence", "StoppedJob", "absences", "silences"]

_HABIT: Final = 5
"""Values from which gaps show a habit; a trace with fewer is never missing."""

_PATIENCE: Final = 2
"""How many times the longest usual gap a trace may be silent."""

_SHORTEST: Final = 3
"""Commits that a silence lasts at least: measured ones for a trace, any of the line for all of them."""

_LONGEST: Final = 200
"""Measured commits after which a trace no longer counts as missing: its benchmark was removed."""

_BATCH: Final = 10
"""Commits that count as a silence however little time they span; fewer may have been pushed at once."""


@dataclass(frozen=True, slots=True)
class MissingTrace:
    """A trace without results at the newest ``silent`` measured commits; ``usual`` is its longest recent gap."""

    trace: Trace
    last_slot: int
    silent: int
    usual: int


@dataclass(frozen=True, slots=True)
class StoppedJob:
    """All traces without results at the newest ``silent`` commits of the line; ``usual`` is the longest recent gap."""

    last_slot: int
    silent: int
    usual: int


@dataclass(frozen=True, slots=True)
class MeasuredTraces:
    """Where traces have their first and last value: arrays of equal length, by ascending id; -1 without a value.

    ``active`` are the positions of the line at which any of them has a value.
    """

    ids: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    active: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Absences:
    """What is missing: single traces, the longest silent first, and the job that measured all, None while it runs.

    ``measured`` are all traces that were looked at, the missing ones included.
    """

    traces: tuple[MissingTrace, ...]
    job: StoppedJob | None
    measured: MeasuredTraces


class Silence(NamedTuple):
    """The trace in ``row`` has no value at the last ``silent`` measured commits; ``usual`` is its longest recent gap."""

    row: int
    silent: int
    usual: int


def _silences(habits: Habits) -> list[Silence]:
    """Return the traces whose silence at the end is no habit, by row."""
    rows = np.flatnonzero(habits.counts >= _HABIT)
    if rows.size == 0:
        return []
    # Few traces have been silent for long enough, and the gaps of those alone are compared.
    ranks = np.cumsum(habits.active) - 1
    silent = int(ranks[-1]) - ranks[habits.last[rows]]
    long = (silent >= _SHORTEST) & (silent <= _LONGEST)
    rows, silent = rows[long], silent[long]
    newest = habits.newest[rows]
    usual = np.where(newest[:, :-1] >= 0, np.diff(ranks[newest], axis=1), 0).max(axis=1, initial=0)
    missing = silent > _PATIENCE * usual
    return [
        Silence(int(row), int(pause), int(gap))
        for row, pause, gap in zip(rows[missing], silent[missing], usual[missing], strict=True)
    ]


def silences(held: NDArray[np.bool_]) -> list[Silence]:
    """Return the traces that are missing, by row.

    ``held`` is true where traces x commits have a value; commits without any do not count. A trace is
    missing when it has at least five values and its silence at the end is at least three commits, more than twice
    the longest of its last twenty gaps, and at most 200 commits: after that its benchmark counts as removed.
    """
    return _silences(Habits.of(held))


def absences(
    store: Store,
    repository: Repository,
    query: str = "",
    *,
    line: str = "",
    newer: Sequence[datetime] = (),
    known: KnownHabits | None = None,
) -> Absences:
    """Return what stopped among the traces of ``query``.

    ``newer`` are the times of commits, oldest first, that follow the line in git and are not in the store yet.
    Values are read in blocks; ``known`` spares those that are as they were at an earlier call.

    Raises:
        QueryError: the query cannot be read.
        HistoryError: there is no such line.
    """
    chosen = store.commits.line(repository, line)
    ids = store.traces.select(repository, parse_query(query))
    ids = ids[~np.isin(ids, [rename.old for rename in store.traces.renames.all(repository)])]
    habits = read_habits(store, chosen, ids, known)
    silent = _silences(habits)
    traces = store.traces.get(ids[[silence.row for silence in silent]]) if silent else []
    missing = [
        MissingTrace(trace, chosen.slots[int(habits.newest[silence.row, -1])], silence.silent, silence.usual)
        for trace, silence in zip(traces, silent, strict=True)
    ]
    return Absences(
        tuple(sorted(missing, key=lambda found: (-found.silent, found.trace.id))),
        _stopped_job(store, chosen, np.flatnonzero(habits.active), newer),
        MeasuredTraces(
            ids,
            habits.first.astype(np.int64),
            habits.last,
            np.flatnonzero(habits.active),
        ),
    )


def _stopped_job(store: Store, line: Line, measured: NDArray[np.int64], newer: Sequence[datetime]) -> StoppedJob | None:
    """Return the job that stopped, if all measuring did; ``measured`` are the positions with any value.

    Only commits that follow the last measured one make a silence, never the time that has passed: a history that
    ended years ago and was imported today is complete.
    """
    if measured.size < _HABIT:
        return None

    # Enough commits without results?
    recent = measured[-(RECENT + 1) :]
    gaps = np.diff(recent)
    silent, usual = len(line.slots) + len(newer) - 1 - int(recent[-1]), int(gaps.max())
    if not max(_SHORTEST, _PATIENCE * usual + 1) <= silent <= _LONGEST * int(np.median(gaps)):
        return None

    # A few commits may have been pushed at once and wait for their results: they have to span an unusually long time.
    times = store.commits.times(line.repository, [line.slots[position] for position in (*recent, len(line.slots) - 1)])
    newest = newer[-1].timestamp() if newer else float(times[-1])
    pause = float(np.diff(times[:-1]).max())
    if silent < _BATCH and newest - float(times[-2]) <= _PATIENCE * pause:
        return None
    return StoppedJob(line.slots[int(recent[-1])], silent, usual)
