"""Provenance in bytes: what one run gave to one chunk, or to all its chunks at once.

A point is the value of a trace; a *part* is where it came from: the samples of each trace as the run
reported them, their unit, and what failed or was skipped. Medians, corrections and re-runs are computed from parts.

Most runs report one sample a trace, in the trace's unit, and are alone at their commit. Then the stored point is the
sample, and the part leaves the samples out: it is *implicit*. As soon as another run shares a point, the point is the
median of several, and each part needs its own samples again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, or_, select, update

from knickpoint.store.array_codec import pack, stored_json, unpack
from knickpoint.store.database import Database
from knickpoint.store.points.tile_codec import part_name, require_intact, row_checksum
from knickpoint.store.tables.points import part as table
from knickpoint.store.traces.trace_chunks import CHUNK


def medians(samples: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the median of each group of ``samples``; group i has ``counts[i] >= 1`` neighbouring samples."""
    if len(samples) == len(counts):
        return samples
    group = np.repeat(np.arange(len(counts)), counts)
    ordered = samples[np.lexsort((samples, group))]
    starts = np.cumsum(counts) - counts
    low, high = ordered[starts + (counts - 1) // 2], ordered[starts + counts // 2]
    with np.errstate(over="ignore"):
        middle = (low + high) / 2
    middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
    return np.asarray(np.where(low == high, low, middle))


def converted(values: NDArray[np.float64], factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``values`` times ``factors``; where a factor is 1 over a whole number, divided by it, which rounds less.

    A factor of 1 leaves a value as it is, and too large a product is infinite.
    """
    if bool((factors == 1).all()):
        return values
    divisors = np.maximum(np.rint(1 / factors), 1)
    with np.errstate(over="ignore"):
        return np.where((factors < 1) & (1 / divisors == factors), values / divisors, values * factors)


@dataclass(frozen=True)
class Part:
    """The results of one run for one chunk, by place (trace id minus the chunk's first id), sorted.

    In the part of a run for all its chunks, places are trace ids.

    Attributes:
        places: of measured traces, sorted, each once.
        counts: number of samples of each.
        units: number of the unit that the samples came in.
        factors: turns a sample into the trace's unit.
        samples: all samples in a row; None where each trace has one, which is the stored point.
        failed: places of traces that failed.
        skipped: places of traces that were skipped.
        messages: why there is no value, or what the source adds to one, by place.
    """

    places: NDArray[np.int64]
    counts: NDArray[np.int64]
    units: NDArray[np.int64]
    factors: NDArray[np.float64]
    samples: NDArray[np.float64] | None
    failed: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    skipped: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    messages: Mapping[int, str] = field(default_factory=dict)

    @property
    def is_single(self) -> bool:
        """Whether each trace has one sample in its own unit, so that the point can stand for it."""
        return len(self.places) > 0 and bool((self.counts == 1).all()) and bool((self.factors == 1).all())

    @property
    def is_implicit(self) -> bool:
        """Whether the samples are to be read from the stored points."""
        return self.samples is None

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The run's values in the traces' units; not of an implicit part."""
        assert self.samples is not None
        return converted(medians(self.samples, self.counts), self.factors)

    def with_samples(self, points: NDArray[np.float64]) -> Part:
        """Return an implicit part with its samples, read from ``points``, one for each place."""
        return replace(self, samples=points) if self.is_implicit else self

    def without_samples(self) -> Part:
        """Return the part without its samples where the stored points can stand for them, else as it is."""
        return replace(self, samples=None) if self.is_single else self

    def pack(self) -> bytes:
        """Return the part as bytes."""
        messages = (
            json.dumps({str(place): text for place, text in self.messages.items()}).encode() if self.messages else b""
        )
        implicit = np.array([self.samples is None], dtype=np.int64)
        samples = self.samples if self.samples is not None else np.empty(0)
        texts = np.frombuffer(messages, dtype=np.uint8)
        return pack(
            implicit, self.places, self.counts, self.units, self.factors, samples, self.failed, self.skipped, texts
        )

    @staticmethod
    def unpack_places(data: bytes) -> NDArray[np.int64]:
        """Read only the places of bytes that :meth:`pack` made."""
        return np.asarray(unpack(data, 2)[1], dtype=np.int64)

    @staticmethod
    def unpack_without_value(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Read only the places that failed and those that were skipped, of bytes that :meth:`pack` made."""
        failed, skipped = unpack(data, 8, first=6)
        return failed, skipped

    @classmethod
    def unpack(cls, data: bytes) -> Part:
        """Read bytes that :meth:`pack` made."""
        implicit, places, counts, units, factors, samples, failed, skipped, texts = unpack(data, 9)
        by_place = stored_json(texts.astype(np.uint8).tobytes()) if len(texts) else {}
        messages = {int(place): text for place, text in by_place.items()}
        held = None if implicit[0] else samples.astype(np.float64, copy=False)
        return cls(places, counts, units, factors.astype(np.float64), held, failed, skipped, messages)


def cut(whole: Part, chunks: NDArray[np.int64]) -> Iterator[Part]:
    """Cut the part of a run, whose places are trace ids, into one for each of ``chunks``."""
    begins = np.searchsorted(whole.places, chunks * CHUNK)
    stops = np.searchsorted(whole.places, (chunks + 1) * CHUNK)
    assert whole.samples is not None
    ends = np.concatenate([[0], np.cumsum(whole.counts)])
    for chunk, begin, stop in zip(chunks.tolist(), begins.tolist(), stops.tolist(), strict=True):
        base = chunk * CHUNK
        yield Part(
            whole.places[begin:stop] - base,
            whole.counts[begin:stop],
            whole.units[begin:stop],
            whole.factors[begin:stop],
            whole.samples[int(ends[begin]) : int(ends[stop])],
            whole.failed[whole.failed // CHUNK == chunk] - base,
            whole.skipped[whole.skipped // CHUNK == chunk] - base,
            {trace - base: text for trace, text in whole.messages.items() if trace // CHUNK == chunk},
        )


# Read and write the rows of provenance: one part for each run and chunk, or one for all chunks of a run.
#
# The part of a run for all its chunks stands under the chunk ``-repository_id``; its places are trace ids.


_INSERT: Final = table.insert()
_DELETE: Final = table.delete().where(table.c.slot == bindparam("at"), table.c.run_id == bindparam("run"))
_UPDATE: Final = (
    update(table)
    .where(table.c.slot == bindparam("at"), table.c.chunk == bindparam("of"), table.c.run_id == bindparam("run"))
    .values(data=bindparam("packed"), checksum=bindparam("sum"))
)
_AT: Final = (
    select(table)
    .where(
        Database.among(table.c.slot, "slots"),
        or_(table.c.chunk == bindparam("whole"), table.c.chunk.between(bindparam("low"), bindparam("high"))),
    )
    .order_by(table.c.slot, table.c.chunk, table.c.run_id)
)


class PartRow(NamedTuple):
    """A part as it is stored."""

    slot: int
    chunk: int
    run_id: int
    data: bytes
    checksum: int | None = None

    @property
    def first_id(self) -> int:
        """The trace id of place 0."""
        return max(self.chunk, 0) * CHUNK

    @property
    def ids(self) -> NDArray[np.int64]:
        """The measured traces, sorted."""
        return Part.unpack_places(self.data) + self.first_id


class PartTable:
    """Hold the parts of all runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def at(
        self, connection: Connection, repository_id: int, slots: Collection[int], chunks: NDArray[np.int64]
    ) -> list[PartRow]:
        """Return the parts of a repository at ``slots`` that may hold traces of sorted ``chunks``.

        They are sorted by slot, chunk and run.

        Raises:
            DamagedRowError: one of them is not what was written.
        """
        if not slots or not len(chunks):
            return []
        values = {"slots": self._database.listed(sorted(slots)), "whole": -repository_id}
        values |= {"low": int(chunks[0]), "high": int(chunks[-1])}
        rows = map(PartRow._make, self._database.quick(connection, _AT, values))
        wanted = {*chunks.tolist(), -repository_id}
        return [_intact(row) for row in rows if row.chunk in wanted]

    def of_runs(self, connection: Connection, slots: Collection[int], run_ids: Collection[int]) -> list[PartRow]:
        """Return the parts of runs that are at ``slots``, by slot, chunk and run.

        Raises:
            DamagedRowError: one of them is not what was written.
        """
        if not run_ids:
            return []
        query = select(table).where(
            self._database.among(table.c.slot, "slots"), self._database.among(table.c.run_id, "runs")
        )
        listed = {"slots": self._database.listed(sorted(slots)), "runs": self._database.listed(sorted(run_ids))}
        rows = connection.execute(query.order_by(table.c.slot, table.c.chunk, table.c.run_id), listed)
        return [_intact(PartRow(*row)) for row in rows]

    def insert(self, connection: Connection, rows: Sequence[PartRow]) -> None:
        """Write new parts."""
        if len(rows) == 1:
            self._database.quick(connection, _INSERT, _checked(rows[0])._asdict())
        elif rows:
            connection.execute(_INSERT, [_checked(row)._asdict() for row in rows])

    def update(self, connection: Connection, rows: Sequence[PartRow]) -> None:
        """Replace the bytes of parts."""
        records = [
            {"at": row.slot, "of": row.chunk, "run": row.run_id, "packed": row.data, "sum": row.checksum}
            for row in map(_checked, rows)
        ]
        if records:
            connection.execute(_UPDATE, records)

    def delete(self, connection: Connection, slot: int, run_id: int) -> None:
        """Drop the parts of a run."""
        connection.execute(_DELETE, {"at": slot, "run": run_id})


def _checked(row: PartRow) -> PartRow:
    """Return a part with the checksum of its bytes."""
    return row._replace(checksum=row_checksum(part_name(row), row.data))


def _intact(row: PartRow) -> PartRow:
    """Return a part as it is. Raises ``DamagedRowError``."""
    require_intact(part_name(row), row.checksum, row.data)
    return row
