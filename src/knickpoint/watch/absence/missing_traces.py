"""Find benchmarks that stopped: some while others are still measured, or all of them while commits go on.

Each trace sets its own pace: a silence counts when it is much longer than the gaps that the trace had before. The rules
are in ``docs/decisions/0128-a-job-that-stopped.md``.
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

__all__ = ["Absences", "MeasuredTraces", "MissingTrace", "Silence", "StoppedJob", "absences", "silences"]

_HABIT: Final = 5
"""Values from which gaps show a habit; a trace with fewer is never missing."""

_RECENT: Final = 20
"""How many of the newest gaps between values show what is usual."""

_PATIENCE: Final = 2
"""How many times the longest usual gap a trace may be silent."""

_SHORTEST: Final = 3
"""Commits that a silence lasts at least: measured ones for a trace, any of the line for all of them."""

_LONGEST: Final = 200
"""Measured commits after which a trace no longer counts as missing: its benchmark was removed."""

_BATCH: Final = 10
"""Commits that count as a silence however little time they span; fewer may have been pushed at once."""

_BLOCK_BYTES: Final = 32 * 2**20


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


@dataclass(frozen=True, slots=True)
class _Habits:
    """How often traces are measured: what is kept of them while blocks of values are read.

    ``active`` is true at the positions with any value. Of each trace, ``counts`` has the number of values and ``first``
    the position of the oldest one, -1 without any. ``newest`` (traces x 21) has the positions of the newest ones, oldest
    first; a trace with fewer has -1 in front of them.
    """

    active: NDArray[np.bool_]
    counts: NDArray[np.int64]
    newest: NDArray[np.int64]
    first: NDArray[np.int64]

    @classmethod
    def of(cls, held: NDArray[np.bool_]) -> _Habits:
        """Return the habits of the rows of ``held``."""
        counts = held.sum(axis=1, dtype=np.int64)
        from_end = held[:, ::-1].cumsum(axis=1, dtype=np.int32)[:, ::-1]
        # Positions of the newest values of all traces, trace by trace, and the column of each in ``newest``
        rows, positions = np.nonzero(held & (from_end <= _RECENT + 1))
        newest = np.full((len(held), _RECENT + 1), -1, dtype=np.int64)
        newest[rows, _RECENT + 1 - from_end[rows, positions]] = positions
        first = np.where(counts > 0, held.argmax(axis=1), -1) if held.size else np.full(len(held), -1)
        return cls(np.asarray(held.any(axis=0), dtype=np.bool_), counts, newest, first.astype(np.int64))

    @classmethod
    def joined(cls, parts: Sequence[_Habits], columns: int) -> _Habits:
        """Join the habits of several blocks of traces at the same ``columns``."""
        everything = [cls.of(np.zeros((0, columns), dtype=np.bool_)), *parts]
        return cls(
            np.logical_or.reduce([part.active for part in everything]),
            np.concatenate([part.counts for part in everything]),
            np.concatenate([part.newest for part in everything]),
            np.concatenate([part.first for part in everything]),
        )

    def silences(self) -> list[Silence]:
        """Return the traces whose silence at the end is no habit, by row."""
        rows = np.flatnonzero(self.counts >= _HABIT)
        if rows.size == 0:
            return []
        newest = self.newest[rows]
        ranks = np.cumsum(self.active) - 1
        measured = ranks[newest]
        silent = int(ranks[-1]) - measured[:, -1]
        usual = np.where(newest[:, :-1] >= 0, np.diff(measured, axis=1), 0).max(axis=1)
        missing = (silent >= _SHORTEST) & (silent <= _LONGEST) & (silent > _PATIENCE * usual)
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
    return _Habits.of(held).silences()


def absences(
    store: Store, repository: Repository, query: str = "", *, line: str = "", newer: Sequence[datetime] = ()
) -> Absences:
    """Return what stopped among the traces of ``query``.

    ``newer`` are the times of commits, oldest first, that follow the line in git and are not in the store yet.
    Values are read in blocks; of each trace, the positions of its newest 21 values are kept.

    Raises:
        QueryError: the query cannot be read.
        HistoryError: there is no such line.
    """
    chosen = store.commits.line(repository, line)
    ids = store.traces.select(repository, parse_query(query))
    ids = np.setdiff1d(ids, [rename.old for rename in store.traces.renames.all(repository)])
    habits = _read_habits(store, chosen, ids)
    silent = habits.silences()
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
            habits.first,
            habits.newest[:, -1],
            np.flatnonzero(habits.active),
        ),
    )


def _read_habits(store: Store, line: Line, ids: NDArray[np.int64]) -> _Habits:
    """Read the values of traces block by block, and keep how often each is measured."""
    columns = len(line.slots)
    rows = max(1, _BLOCK_BYTES // max(1, 8 * columns))
    blocks = (ids[begin : begin + rows] for begin in range(0, len(ids), rows))
    return _Habits.joined([_Habits.of(~np.isnan(store.frames.values(line, block))) for block in blocks], columns)


def _stopped_job(store: Store, line: Line, measured: NDArray[np.int64], newer: Sequence[datetime]) -> StoppedJob | None:
    """Return the job that stopped, if all measuring did; ``measured`` are the positions with any value.

    Only commits that follow the last measured one make a silence, never the time that has passed: a history that
    ended years ago and was imported today is complete.
    """
    if measured.size < _HABIT:
        return None

    # Enough commits without results?
    recent = measured[-(_RECENT + 1) :]
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
