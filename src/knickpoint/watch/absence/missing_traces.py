"""Notice benchmarks that stopped: some while others are still measured, or all of them while commits go on.

The rules are in ``docs/decisions/0128-a-job-that-stopped.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line, Repository
from knickpoint.model.frame import Trace
from knickpoint.model.query import parse_query
from knickpoint.store import Store

__all__ = ["Absences", "MissingTrace", "StoppedJob", "absences", "silences"]

_HABIT: Final = 5
"""Values that make a habit; a trace with fewer is never missed."""

_RECENT: Final = 20
"""Gaps between values, the newest ones, that tell what is usual."""

_PATIENCE: Final = 2
"""How many times the longest usual gap a trace may be silent."""

_SHORTEST: Final = 3
"""Commits that a silence lasts at least: measured ones for a trace, any of the line for all of them."""

_LONGEST: Final = 200
"""Measured commits after which a trace is no longer missed: it was taken away."""

_BATCH: Final = 10
"""Commits that may be pushed at once: so many are a silence however little time they span."""

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
class Absences:
    """What is missed: single traces, the longest silent first, and the job that measured them all, None while it runs."""

    traces: tuple[MissingTrace, ...]
    job: StoppedJob | None


@dataclass
class _Habits:
    """What is kept of each trace while values stream by: how many it has, and where its newest ones are."""

    active: NDArray[np.bool_]
    counts: list[int] = field(default_factory=list)
    newest: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, held: NDArray[np.bool_]) -> None:
        self.active |= held.any(axis=0)
        for own in held:
            places = np.flatnonzero(own)
            self.counts.append(int(places.size))
            self.newest.append(places[-(_RECENT + 1) :].copy())

    def silences(self) -> list[tuple[int, int, int]]:
        ranks = np.cumsum(self.active) - 1
        end = int(self.active.sum()) - 1
        found = []
        for row, (count, places) in enumerate(zip(self.counts, self.newest, strict=True)):
            if count < _HABIT:
                continue
            own = ranks[places]
            silent, usual = end - int(own[-1]), int(np.diff(own).max())
            if _SHORTEST <= silent <= _LONGEST and silent > _PATIENCE * usual:
                found.append((row, silent, usual))
        return found


def silences(held: NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """Return (row, silent, usual) of the traces that are missing, by row.

    ``held`` says which of traces x commits have a value; commits without any do not count. A trace is
    missing when it has at least five values and its silence at the end is at least three commits, more than twice
    the longest of its last twenty gaps, and at most 200 commits: after that it was taken away, and nobody waits for it.
    """
    habits = _Habits(np.zeros(held.shape[1], dtype=np.bool_))
    habits.add(held)
    return habits.silences()


def absences(
    store: Store, repository: Repository, query: str = "", *, line: str = "", newer: Sequence[datetime] = ()
) -> Absences:
    """Return what stopped among the traces of ``query``.

    ``newer`` are the times of commits, oldest first, that follow the line in git and are not known to the store yet.
    Values are read in blocks; of each trace, its newest 21 places are kept.

    Raises:
        QueryError: the query cannot be read.
        HistoryError: there is no such line.
    """
    own = store.commits.line(repository, line)
    ids = store.traces.select(repository, parse_query(query))
    habits = _Habits(np.zeros(len(own.slots), dtype=np.bool_))
    rows = max(1, _BLOCK_BYTES // max(1, 8 * len(own.slots)))
    for begin in range(0, len(ids), rows):
        habits.add(~np.isnan(store.frames.values(own, ids[begin : begin + rows])))
    silent = habits.silences()
    traces = store.traces.get(ids[[row for row, _, _ in silent]]) if silent else []
    found = [
        MissingTrace(trace, own.slots[int(habits.newest[row][-1])], quiet, usual)
        for trace, (row, quiet, usual) in zip(traces, silent, strict=True)
    ]
    return Absences(
        tuple(sorted(found, key=lambda one: (-one.silent, one.trace.id))),
        _stopped_job(store, own, np.flatnonzero(habits.active), newer),
    )


def _stopped_job(store: Store, line: Line, measured: NDArray[np.int64], newer: Sequence[datetime]) -> StoppedJob | None:
    """Say whether all measuring stopped, given the positions on ``line`` at which anything was measured.

    Only commits that follow the last measured one make a silence, never the time that has passed: a history that
    ended years ago and was imported today is complete.
    """
    if measured.size < _HABIT:
        return None
    recent = measured[-(_RECENT + 1) :]
    gaps = np.diff(recent)
    silent, usual = len(line.slots) + len(newer) - 1 - int(recent[-1]), int(gaps.max())
    if not max(_SHORTEST, _PATIENCE * usual + 1) <= silent <= _LONGEST * int(np.median(gaps)):
        return None

    # A few commits may have been pushed at once, and wait for their results: they have to span unusually much time.
    times = store.commits.times(line.repository, [line.slots[position] for position in (*recent, len(line.slots) - 1)])
    newest = newer[-1].timestamp() if newer else float(times[-1])
    pause = float(np.diff(times[:-1]).max())
    if silent < _BATCH and newest - float(times[-2]) <= _PATIENCE * pause:
        return None
    return StoppedJob(line.slots[int(recent[-1])], silent, usual)
