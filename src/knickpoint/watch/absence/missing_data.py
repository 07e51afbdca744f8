"""Group what is missing by what it has in common: whole jobs, traces that stopped together, and commits without results.

A job that stops is one entry, however many traces it measured. The rule of what counts as missing is that of
:mod:`knickpoint.watch.absence.missing_traces`: each trace, and the line, by its own rhythm.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

import numpy as np

from knickpoint.model.commit import Line, Repository
from knickpoint.model.params import decode_key
from knickpoint.store import Store
from knickpoint.watch.absence.missing_traces import Absences, MissingTrace, absences
from knickpoint.watch.absence.rename_proposals import RenameProposal, propose_renames

__all__ = ["MissingData", "MissingEntry", "MissingKind", "find_missing_data"]

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

    ``params`` are what its traces have in common and others lack, as ``name=value``. ``last`` is the slot of the last commit
    that had results, ``silent`` the number of commits without them since, measured ones for traces; ``usual`` is the longest
    recent gap. Of commits, ``until`` is the slot of the next commit with results, -1 for none.
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
    store: Store, repository: Repository, query: str = "", *, newer: Sequence[datetime] = ()
) -> MissingData:
    """Return what is missing among the traces of ``query``, on the default line.

    ``newer`` are the times of commits that follow the line in git and are not in the store yet.

    Raises:
        QueryError: the query cannot be read.
    """
    line = store.commits.line(repository)
    found = absences(store, repository, query, newer=newer)
    entries = [*_stopped(found), *_groups(store, found), *_gaps(line, found)]
    ordered = sorted(entries, key=lambda each: (each.kind is MissingKind.COMMITS, -len(each.traces), -each.silent))
    return MissingData(line, tuple(ordered), tuple(propose_renames(store, line, found)))


def _stopped(found: Absences) -> list[MissingEntry]:
    """Return the job that measured everything, where it stopped."""
    if found.job is None:
        return []
    return [MissingEntry(MissingKind.JOB, (), (), found.job.last_slot, found.job.silent, found.job.usual)]


def _groups(store: Store, found: Absences) -> list[MissingEntry]:
    """Group missing traces: first by params of which every trace is missing, then by the commit at which they stopped."""
    left = {each.trace.id: each for each in found.traces}
    if not left:
        return []
    facts = {key: frozenset(decode_key(each.trace.key).items()) for key, each in left.items()}
    running = _running_params(store, found)
    entries: list[MissingEntry] = []

    # Whole jobs: the param that covers most of the missing traces, and that no running trace has.
    while left:
        counts = Counter(pair for key in sorted(left) for pair in facts[key] if pair not in running)
        pair, number = max(counts.items(), key=lambda item: (item[1], item[0]), default=((("", "")), 0))
        if number < _LEAST_OF_JOB:
            break
        members = [left.pop(key) for key in sorted(left) if pair in facts[key]]
        entries.append(_entry(MissingKind.JOB, members, facts, running))

    # The rest: those that stopped at one commit belong together.
    by_slot: dict[int, list[MissingTrace]] = defaultdict(list)
    for each in left.values():
        by_slot[each.last_slot].append(each)
    return entries + [_entry(MissingKind.SERIES, members, facts, running) for members in by_slot.values()]


def _running_params(store: Store, found: Absences) -> frozenset[tuple[str, str]]:
    """Return the params of the traces that have results at one of the last measured commits."""
    measured = found.measured
    if not measured.active.size:
        return frozenset()
    missing = np.array([each.trace.id for each in found.traces], dtype=np.int64)
    lately = measured.last >= measured.active[-min(_RECENT, measured.active.size)]
    ids = measured.ids[lately & ~np.isin(measured.ids, missing)]
    return frozenset(pair for trace in store.traces.get(ids) for pair in decode_key(trace.key).items())


def _entry(
    kind: MissingKind,
    members: Sequence[MissingTrace],
    facts: dict[int, frozenset[tuple[str, str]]],
    running: frozenset[tuple[str, str]],
) -> MissingEntry:
    shared = frozenset.intersection(*(facts[each.trace.id] for each in members))
    distinctive = shared - running if kind is MissingKind.JOB else shared
    newest = min(members, key=lambda each: each.silent)
    params = tuple(f"{name}={value}" for name, value in sorted(distinctive))
    return MissingEntry(kind, params, tuple(members), newest.last_slot, newest.silent, newest.usual)


def _gaps(line: Line, found: Absences) -> list[MissingEntry]:
    """Return the commits between measured ones that lack results: a gap of more than twice the longest one before it."""
    active = found.measured.active
    entries: list[MissingEntry] = []
    for index in range(max(_HABIT, active.size - _LONGEST), active.size):
        usual = int(np.diff(active[max(0, index - 1 - _RECENT) : index]).max())
        gap = int(active[index] - active[index - 1])
        if gap > _PATIENCE * usual:
            last, until = (line.slots[int(active[place])] for place in (index - 1, index))
            entries.append(MissingEntry(MissingKind.COMMITS, (), (), last, gap - 1, usual, until))
    return entries
