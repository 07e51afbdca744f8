"""Benchmarks that stopped while others are still measured or commits go on, by how often traces are measured."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line, Repository
from knickpoint.model.frame import Trace
from knickpoint.model.query import parse_query
from knickpoint.store import Store
from knickpoint.store.traces.trace_chunks import CHUNK

# How often traces are measured: where their first and their newest values lie.
#
# The values of all traces are read for that, 400 MB of an instance of 400,000 traces, to keep a tenth of it. A process
# that is asked again and again keeps the habits of each chunk of 1,024 traces, with the digest of what the chunk holds
# (:meth:`knickpoint.store.points.frames.Frames.chunk_digests`), and reads those chunks alone that hold something else
# now.


RECENT: Final = 20
"""How many of the newest gaps between values show what is usual."""

_KEPT_CHUNKS: Final = 1024
"""Chunks whose habits a process keeps: 96 MB, a million traces."""

_MOSTLY: Final = 0.9
"""Share of the places of chunks that has to be asked for."""

_BLOCK_CHUNKS: Final = 16
"""Chunks that are read at a time."""

_WIDTH: Final = 2 * (RECENT + 1)
"""Newest commits that are looked at first: traces that are measured at every other one have all newest values there."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How often traces are measured, by row.

    ``active`` is true at the positions with any value. Of each trace, ``counts`` has the number of values and ``first``
    the position of the oldest one, -1 without any. ``newest`` (traces x 21) has the positions of the newest ones,
    oldest first; a trace with fewer has -1 in front of them.
    """

    active: NDArray[np.bool_]
    counts: NDArray[np.int32]
    newest: NDArray[np.int32]
    first: NDArray[np.int32]

    @classmethod
    def of(cls, held: NDArray[np.bool_]) -> Habits:
        """Return the habits of the rows of ``held``, which is true where traces x commits have a value."""
        counts = np.count_nonzero(held, axis=1).astype(np.int32)
        first = np.where(counts > 0, held.argmax(axis=1) if held.size else 0, -1).astype(np.int32)
        # Most traces have their newest values at the newest commits; all others are searched whole.
        begin = max(0, held.shape[1] - _WIDTH)
        lately = held[:, begin:]
        newest = _newest(lately)
        newest[newest >= 0] += begin
        rest = np.flatnonzero(np.count_nonzero(lately, axis=1) < np.minimum(counts, RECENT + 1))
        newest[rest] = _newest(held[rest])
        return cls(np.asarray(held.any(axis=0), dtype=np.bool_), counts, newest, first)

    @classmethod
    def joined(cls, parts: Sequence[Habits], columns: int) -> Habits:
        """Join the habits of several groups of traces at the same ``columns``."""
        everything = [cls.of(np.zeros((0, columns), dtype=np.bool_)), *parts]
        return cls(
            np.logical_or.reduce([part.active for part in everything]),
            np.concatenate([part.counts for part in everything]),
            np.concatenate([part.newest for part in everything]),
            np.concatenate([part.first for part in everything]),
        )

    @property
    def last(self) -> NDArray[np.int64]:
        """The position of the newest value of each trace, -1 without any."""
        return self.newest[:, -1].astype(np.int64)


def _newest(held: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the columns of the newest values of each row, as :attr:`Habits.newest`."""
    from_end = held[:, ::-1].cumsum(axis=1, dtype=np.int32)[:, ::-1]
    rows, columns = np.nonzero(held & (from_end <= RECENT + 1))
    newest = np.full((len(held), RECENT + 1), -1, dtype=np.int32)
    newest[rows, RECENT + 1 - from_end[rows, columns]] = columns
    return newest


@dataclass(frozen=True, slots=True)
class _ChunkHabits:
    """The habits of all traces of a chunk, by slots in place of positions, which move; ``active`` are slots as well."""

    digest: int
    active: NDArray[np.int64]
    habits: Habits


class KnownHabits:
    """The habits that a process keeps; safe for threads."""

    def __init__(self) -> None:
        self._chunks: OrderedDict[tuple[int, str, int], _ChunkHabits] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, line: Line, chunk: int, digest: int | None) -> _ChunkHabits | None:
        """Return the habits kept of a chunk, None if it holds something else now."""
        with self._lock:
            known = self._chunks.get((line.repository.id, line.name, chunk))
        return known if known is not None and known.digest == digest else None

    def put(self, line: Line, chunk: int, found: _ChunkHabits) -> None:
        """Keep the habits of a chunk; those of the chunk that was put in longest ago make room."""
        with self._lock:
            self._chunks[line.repository.id, line.name, chunk] = found
            self._chunks.move_to_end((line.repository.id, line.name, chunk))
            if len(self._chunks) > _KEPT_CHUNKS:
                self._chunks.popitem(last=False)


def read_habits(store: Store, line: Line, ids: NDArray[np.int64], known: KnownHabits | None = None) -> Habits:
    """Return the habits of the traces ``ids``, ascending, on ``line``.

    ``known`` has those of earlier calls, and gets new ones.

    Habits are kept where nearly all traces of their chunks are asked for, as without a query.
    """
    chunks = np.unique(ids // CHUNK)
    if known is None or not _MOSTLY * CHUNK * len(chunks) < len(ids) <= _KEPT_CHUNKS * CHUNK:
        return _read(store, line, ids)
    positions = _positions(line)
    bounds = np.searchsorted(ids, np.append(chunks, chunks[-1] + 1) * CHUNK).tolist()
    parts = []
    for found, (begin, end) in zip(_of_chunks(store, line, chunks, known), pairwise(bounds), strict=True):
        rows = ids[begin:end] % CHUNK
        if np.delete(found.habits.counts, rows).any():  # the other traces have values, perhaps at other commits
            parts.append(_read(store, line, ids[begin:end]))
        else:
            parts.append(_by_positions(found, rows, positions, len(line.slots)))
    return Habits.joined(parts, len(line.slots))


def _read(store: Store, line: Line, ids: NDArray[np.int64]) -> Habits:
    """Read the values of traces, some chunks at a time, and return their habits."""
    step = _BLOCK_CHUNKS * CHUNK
    blocks = (ids[begin : begin + step] for begin in range(0, len(ids), step))
    parts = [Habits.of(~np.isnan(store.frames.values(line, block))) for block in blocks]
    return Habits.joined(parts, len(line.slots))


def _of_chunks(store: Store, line: Line, chunks: NDArray[np.int64], known: KnownHabits) -> Iterator[_ChunkHabits]:
    """Yield the habits of ``chunks``: known ones, and those that have to be read, some chunks at a time."""
    digests = store.frames.chunk_digests(line, chunks * CHUNK)
    # A trace that continues another one has its values too, which are those of another chunk.
    continued = {rename.new // CHUNK for rename in store.traces.renames.all(line.repository)}
    kept = {
        chunk: None if chunk in continued else known.get(line, chunk, digests.get(chunk)) for chunk in chunks.tolist()
    }
    missing = [chunk for chunk, found in kept.items() if found is None]
    slots = np.asarray(line.slots, dtype=np.int64)
    for begin in range(0, len(missing), _BLOCK_CHUNKS):
        some = missing[begin : begin + _BLOCK_CHUNKS]
        ids = (np.array(some, dtype=np.int64)[:, None] * CHUNK + np.arange(CHUNK)).ravel()
        held = ~np.isnan(store.frames.values(line, ids))
        for number, chunk in enumerate(some):
            made = _by_slots(Habits.of(held[number * CHUNK : (number + 1) * CHUNK]), slots, digests.get(chunk, 0))
            kept[chunk] = made
            if chunk in digests and chunk not in continued:
                known.put(line, chunk, made)
    for found in kept.values():
        assert found is not None
        yield found


def _by_slots(habits: Habits, slots: NDArray[np.int64], digest: int) -> _ChunkHabits:
    """Return habits by slots; -1 stays -1."""
    table = np.append(slots, -1).astype(np.int32)
    moved = Habits(habits.active[:0], habits.counts, table[habits.newest], table[habits.first])
    return _ChunkHabits(digest, slots[habits.active], moved)


def _positions(line: Line) -> NDArray[np.int32]:
    """Return the positions of slots on a line, by slot; the last entry is -1, for the slot -1."""
    slots = np.asarray(line.slots, dtype=np.int64)
    positions = np.full(int(slots.max(initial=-1)) + 2, -1, dtype=np.int32)
    positions[slots] = np.arange(len(slots), dtype=np.int32)
    return positions


def _by_positions(found: _ChunkHabits, rows: NDArray[np.int64], positions: NDArray[np.int32], columns: int) -> Habits:
    """Return the habits of some ``rows`` of a chunk, of which the others have no value, by positions."""
    active = np.zeros(columns, dtype=np.bool_)
    active[positions[found.active]] = True
    habits = found.habits
    return Habits(active, habits.counts[rows], positions[habits.newest[rows]], positions[habits.first[rows]])


# Find benchmarks that stopped: some while others are still measured, or all of them while commits go on.
#
# Each trace sets its own pace: a silence counts when it is much longer than the gaps that the trace had before. The
# rules are in ``docs/decisions/missing-data-quarantine-canaries.md``.


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
    """The trace in ``row`` has no value at the last ``silent`` measured commits.

    ``usual`` is its longest recent gap.
    """

    row: int
    silent: int
    usual: int


def _silences(habits: Habits) -> list[Silence]:
    """Return the traces whose silence at the end is not a habit, by row."""
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
    """Find benchmarks that stopped among the traces of ``query``.

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
