"""Group what is missing by its cause: whole jobs, traces that stopped together, commits without results.

A job that stops is one entry, however many traces it measured. The rule of what counts as missing is that of
:mod:`knickpoint.watch.absence.missing_traces`: each trace, and the line, by its own rhythm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line, Repository
from knickpoint.store import Store
from knickpoint.store.traces.catalogue import ParamCodes
from knickpoint.watch.absence.missing_traces import Absences, KnownHabits, MissingTrace, absences
from knickpoint.watch.absence.renames import RenameProposal, propose_renames

_HABIT: Final = 5
"""Measured commits before a gap, from which their gaps show a habit."""

_RECENT: Final = 20
_PATIENCE: Final = 2
_LONGEST: Final = 200
"""Measured commits back to which gaps in the line are looked for."""

_LEAST_OF_JOB: Final = 2
"""Traces that make a job; a single one is a series."""


class MissingKind(Enum):
    """What is missing: all traces with some params (or all of the repository), some traces, or commits of the line."""

    JOB = "job"
    SERIES = "series"
    COMMITS = "commits"


@dataclass(frozen=True, slots=True)
class MissingEntry:
    """Something that should have results and has none.

    ``params`` are what its traces have in common and others lack, as ``name=value``. ``last`` is the slot of the last
    commit that had results, ``silent`` the number of commits without them since, measured ones for traces; ``usual`` is
    the longest recent gap. Of commits, ``until`` is the slot of the next commit with results, -1 for none.
    """

    kind: MissingKind
    params: tuple[str, ...]
    traces: tuple[MissingTrace, ...]
    last: int
    silent: int
    usual: int
    until: int = -1


@dataclass(frozen=True, slots=True)
class MissingData:
    """What is missing in one repository: the largest entries first; and the renames that may explain it."""

    line: Line
    entries: tuple[MissingEntry, ...]
    renames: tuple[RenameProposal, ...]


def find_missing_data(
    store: Store,
    repository: Repository,
    query: str = "",
    *,
    newer: Sequence[datetime] = (),
    known: KnownHabits | None = None,
) -> MissingData:
    """Find missing data among the traces of ``query``, on the default line.

    ``newer`` are the times of commits that follow the line in git and are not in the store yet. ``known`` spares values
    that are as they were at an earlier call.

    Raises:
        QueryError: the query cannot be read.
    """
    line = store.commits.line(repository)
    found = absences(store, repository, query, newer=newer, known=known)
    entries = [*_stopped(found), *_groups(store, repository, found), *_gaps(line, found)]
    ordered = sorted(entries, key=lambda each: (each.kind is MissingKind.COMMITS, -len(each.traces), -each.silent))
    return MissingData(line, tuple(ordered), tuple(propose_renames(store, line, found)))


def _stopped(found: Absences) -> list[MissingEntry]:
    """Return the job that measured everything, where it stopped."""
    if found.job is None:
        return []
    return [MissingEntry(MissingKind.JOB, (), (), found.job.last_slot, found.job.silent, found.job.usual)]


def _groups(store: Store, repository: Repository, found: Absences) -> list[MissingEntry]:
    """Group missing traces by params of which every trace is missing, then by the commit at which they stopped."""
    missing = sorted(found.traces, key=lambda each: each.trace.id)
    if not missing:
        return []
    params = store.traces.params(repository, np.array([each.trace.id for each in missing], dtype=np.int64))
    running = _running_params(store, repository, found)
    left = np.ones(len(missing), dtype=np.bool_)
    entries: list[MissingEntry] = []

    # Whole jobs: the param that covers most of the missing traces, and that no running trace has.
    while left.any():
        number, name, value = max(_most_common(params, running, left), default=(0, "", ""))
        if number < _LEAST_OF_JOB:
            break
        of_job = left & (params[name].codes == params[name].values.index(value))
        left &= ~of_job
        entries.append(_entry(MissingKind.JOB, missing, np.flatnonzero(of_job), params, running))

    # The rest: those that stopped at one commit belong together.
    by_slot: dict[int, list[int]] = defaultdict(list)
    for row in np.flatnonzero(left).tolist():
        by_slot[missing[row].last_slot].append(row)
    several = (np.array(rows, dtype=np.int64) for rows in by_slot.values())
    return entries + [_entry(MissingKind.SERIES, missing, rows, params, running) for rows in several]


def _most_common(
    params: Mapping[str, ParamCodes], running: Mapping[str, frozenset[str]], left: NDArray[np.bool_]
) -> Iterator[tuple[int, str, str]]:
    """Yield per name the value that most of the traces ``left`` have, and no running one: how many, name and value."""
    for name, (codes, values) in params.items():
        counts = np.bincount(codes[left], minlength=len(values))
        counts[[0, *(code for code, value in enumerate(values) if value in running.get(name, ()))]] = 0
        most = int(counts.max())
        if most:
            yield most, name, max(values[code] for code in np.flatnonzero(counts == most).tolist())


def _running_params(store: Store, repository: Repository, found: Absences) -> dict[str, frozenset[str]]:
    """Return name → values of the traces that have results at one of the last measured commits."""
    measured = found.measured
    if not measured.active.size:
        return {}
    missing = np.array([each.trace.id for each in found.traces], dtype=np.int64)
    lately = measured.last >= measured.active[-min(_RECENT, measured.active.size)]
    params = store.traces.params(repository, measured.ids[lately & ~np.isin(measured.ids, missing)])
    return {
        name: frozenset(values[code] for code in np.flatnonzero(np.bincount(codes, minlength=1)).tolist() if code)
        for name, (codes, values) in params.items()
    }


def _entry(
    kind: MissingKind,
    missing: Sequence[MissingTrace],
    rows: NDArray[np.int64],
    params: Mapping[str, ParamCodes],
    running: Mapping[str, frozenset[str]],
) -> MissingEntry:
    """Return the entry of the traces in ``rows`` of ``missing``, with what they have in common."""
    shared = []
    for name, (codes, values) in params.items():
        first, value = codes[rows[0]], values[int(codes[rows[0]])]
        is_distinctive = kind is not MissingKind.JOB or value not in running.get(name, ())
        if first and is_distinctive and bool((codes[rows] == first).all()):
            shared.append(f"{name}={value}")
    members = tuple(missing[row] for row in rows.tolist())
    newest = min(members, key=lambda each: each.silent)
    return MissingEntry(kind, tuple(shared), members, newest.last_slot, newest.silent, newest.usual)


def _gaps(line: Line, found: Absences) -> list[MissingEntry]:
    """Return the commits without results in a gap of more than twice the longest one before it."""
    active = found.measured.active
    entries: list[MissingEntry] = []
    for index in range(max(_HABIT, active.size - _LONGEST), active.size):
        usual = int(np.diff(active[max(0, index - 1 - _RECENT) : index]).max())
        gap = int(active[index] - active[index - 1])
        if gap > _PATIENCE * usual:
            last, until = (line.slots[int(active[place])] for place in (index - 1, index))
            entries.append(MissingEntry(MissingKind.COMMITS, (), (), last, gap - 1, usual, until))
    return entries
