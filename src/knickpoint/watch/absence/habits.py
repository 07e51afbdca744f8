"""How often traces are measured: where their first and their newest values lie.

The values of all traces are read for that, 400 MB of an instance of 400,000 traces, to keep a tenth of it. A process that is
asked again and again keeps the habits of each chunk of 1,024 traces, with the digest of what the chunk holds
(:meth:`knickpoint.store.points.frames.Frames.chunk_digests`), and reads those chunks alone that hold something else now.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line
from knickpoint.store import Store
from knickpoint.store.traces.trace_chunks import CHUNK

__all__ = ["RECENT", "Habits", "KnownHabits", "read_habits"]

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
    the position of the oldest one, -1 without any. ``newest`` (traces x 21) has the positions of the newest ones, oldest
    first; a trace with fewer has -1 in front of them.
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
        """Return what is kept of a chunk, None where it holds something else now."""
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
    """Return the habits of the traces ``ids``, ascending, on ``line``; ``known`` has those of earlier calls, and gets new ones.

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
