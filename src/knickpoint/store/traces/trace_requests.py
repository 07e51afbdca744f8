"""Ask for the trace of each result: the results as columns, the traces that answer, and the plan for new ones.

Everything here is pure: arrays in, frozen results out. :mod:`knickpoint.store.traces.trace_resolver` reads and writes
the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from knickpoint.model.unit_names import Better
from knickpoint.store.database import Database
from knickpoint.store.tables.commits import identity as table
from knickpoint.store.traces.units import StoredUnit

# Find traces by key: one row a trace, reached by the digest of the key and the dimension of the values.
#
# A key is looked up by its 128-bit digest, so no text is compared. A key has one trace for each dimension that its
# values came in (time, bytes, …); dimension 0 stands for a trace that was never measured so far.


@dataclass(frozen=True, slots=True)
class IdentityRows:
    """Hold rows of the identity table as columns, sorted by high and then by trace."""

    high: NDArray[np.int64]
    low: NDArray[np.int64]
    dimension: NDArray[np.int64]
    trace: NDArray[np.int64]
    unit: NDArray[np.int64]
    better: NDArray[np.int64]

    def match(self, digests: NDArray[np.int64], dimensions: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return the row of each digest (and dimension, where given), -1 for none; of several, the oldest trace."""
        found = np.full(len(digests), -1, dtype=np.int64)
        if not len(self.high):
            return found
        first = np.searchsorted(self.high, digests[:, 0], "left")
        counts = np.searchsorted(self.high, digests[:, 0], "right") - first
        # All rows that share the upper half of a digest are tried, the newest first: the oldest one stays.
        for step in range(int(counts.max(initial=0)) - 1, -1, -1):
            row = np.minimum(first + step, len(self.high) - 1)
            good = (step < counts) & (self.low[row] == digests[:, 1])
            if dimensions is not None:
                good &= self.dimension[row] == dimensions
            found[good] = row[good]
        return found


_C: Final = table.c
_OF_DIGESTS: Final = select(_C.high, _C.low, _C.dimension, _C.trace_id, _C.unit_id, _C.better).where(
    _C.repository_id == bindparam("owner"), Database.among(_C.high)
)


class Identities:
    """Read the rows of traces by the digests of their keys."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, connection: Connection, repository_id: int, digests: NDArray[np.int64]) -> IdentityRows:
        """Return the rows of all traces whose keys may have one of ``digests``."""
        values = {"owner": repository_id, "numbers": self._database.listed(np.unique(digests[:, 0]))}
        rows = self._database.quick(connection, _OF_DIGESTS, values).fetchall()
        columns = np.array(rows, dtype=np.int64).reshape(-1, 6)
        columns = columns[np.lexsort((columns[:, 3], columns[:, 0]))]
        return IdentityRows(*(np.ascontiguousarray(columns[:, number]) for number in range(6)))


# Digests of trace keys: how a key finds its trace without a comparison of texts.


_SIZE: Final = 16


def digest_each(keys: Sequence[str]) -> NDArray[np.int64]:
    """Return the 128-bit digest of each key as two signed halves, shape (len(keys), 2).

    At 40 million keys the chance that two of them share a digest is below 10⁻²³, so the digest counts as
    the key's identity.
    """
    joined = b"".join([blake2b(key.encode(), digest_size=_SIZE).digest() for key in keys])
    return np.frombuffer(joined, "<i8").reshape(-1, 2)


def digest_all(keys: Sequence[str], *more: bytes) -> tuple[int, int]:
    """Return one 128-bit digest of all ``keys`` in their order and of ``more`` bytes.

    Keys hold no control characters, so a line feed between them keeps lists apart.
    """
    whole = sha256("\n".join(keys).encode())
    for part in more:
        whole.update(b"\x00" + len(part).to_bytes(8, "little") + part)
    high, low = np.frombuffer(whole.digest()[:_SIZE], "<i8").tolist()
    return int(high), int(low)


BETTERS: Final = tuple(Better)
"""Directions by their code."""
UNKNOWN: Final = BETTERS.index(Better.UNKNOWN)


@dataclass(frozen=True, slots=True)
class ResolvedTraces:
    """The trace of each result: ids and the traces' units, both of the results' length.

    ``new`` has the ids of the traces that were made for these results, sorted; ``other_units`` those among them whose
    keys have older traces, in units that do not convert.
    """

    ids: NDArray[np.int64]
    units: NDArray[np.int64]
    new: NDArray[np.int64]
    other_units: NDArray[np.int64]


@dataclass(frozen=True)
class TraceRequests:
    """The results that need a trace each, as columns of one length.

    ``unit_codes`` are indices of ``units``, ``betters`` codes of ``list(Better)``; ``measured`` is false for results
    that failed or were skipped.
    """

    keys: Sequence[str]
    units: Sequence[StoredUnit]
    unit_codes: NDArray[np.int64]
    betters: NDArray[np.integer[Any]]
    measured: NDArray[np.bool_]

    @cached_property
    def digests(self) -> NDArray[np.int64]:
        """The digests of the keys, shape (results, 2)."""
        return digest_each(self.keys)

    @cached_property
    def unit_ids(self) -> NDArray[np.int64]:
        """The unit of each result, by number."""
        numbers = np.array([unit.id for unit in self.units], dtype=np.int64)
        return numbers[self.unit_codes]

    @cached_property
    def dimensions(self) -> NDArray[np.int64]:
        """The dimension of each result's unit, by number."""
        numbers = np.array([unit.dimension for unit in self.units], dtype=np.int64)
        return numbers[self.unit_codes]

    @cached_property
    def stated(self) -> NDArray[np.int64]:
        """The directions that differ from what the unit implies, UNKNOWN elsewhere.

        Only these are stored: the direction of a unit is looked up when a trace is read, so that Knickpoint can learn
        it later.
        """
        codes = self.betters.astype(np.int64)
        implied = np.array([BETTERS.index(unit.unit.better) for unit in self.units], dtype=np.int64)[self.unit_codes]
        return np.where(self.measured & (codes == implied), UNKNOWN, codes)

    def facts(self, firsts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return unit, dimension and stated direction of traces that begin with the results ``firsts``, a row each.

        A trace that begins with a failed or skipped result has no unit yet: unit and dimension are 0.
        """
        found = np.column_stack([self.unit_ids[firsts], self.dimensions[firsts], self.stated[firsts]])
        found[~self.measured[firsts], :2] = 0
        return found


@dataclass(frozen=True, slots=True)
class Adoption:
    """Results that give a unit to traces which only failed so far.

    ``rows`` are the rows of these traces, ``firsts`` the first measured result of each; the results ``results`` belong
    to the trace of row ``rows[numbers]``.
    """

    rows: NDArray[np.int64]
    firsts: NDArray[np.int64]
    results: NDArray[np.int64]
    numbers: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NewTraces:
    """Traces to make: ``firsts`` is the result that each begins with, ``numbers`` the new trace of each result."""

    firsts: NDArray[np.int64]
    numbers: NDArray[np.int64]


def plan_adoption(rows: IdentityRows, requests: TraceRequests, missing: NDArray[np.int64]) -> Adoption:
    """Match the measured ones of the results ``missing`` with traces of their keys that were never measured.

    The first result decides about the dimension of such a trace; a result of another dimension needs one of its own.
    """
    pending = rows.match(requests.digests[missing], np.zeros(len(missing), dtype=np.int64))
    numbers: dict[int, int] = {}
    firsts: list[int] = []
    adopting: list[tuple[int, int]] = []
    for index in np.flatnonzero(requests.measured[missing] & (pending >= 0)).tolist():
        result, row = int(missing[index]), int(pending[index])
        number = numbers.setdefault(row, len(firsts))
        if number == len(firsts):
            firsts.append(result)
        if requests.dimensions[firsts[number]] == requests.dimensions[result]:
            adopting.append((result, number))
    results, which = np.array(adopting, dtype=np.int64).reshape(-1, 2).T
    return Adoption(np.array(list(numbers), dtype=np.int64), np.array(firsts, dtype=np.int64), results, which)


def plan_new_traces(requests: TraceRequests, missing: NDArray[np.int64], same: Mapping[int, int]) -> NewTraces:
    """Group the results ``missing`` by the trace that they need: one for each key and dimension.

    Failed and skipped results belong to the first trace of their key that a measured one needs, so measured results
    come first. ``same`` maps a dimension to the one that it counts as, where two are the same by now.
    """
    keys = [requests.keys[result] for result in missing.tolist()]
    measured = requests.measured[missing]
    if measured.all() and len(set(keys)) == len(keys):
        return NewTraces(missing, np.arange(len(missing)))
    dimensions = [same.get(dimension, dimension) for dimension in requests.dimensions[missing].tolist()]
    was_measured = measured.tolist()
    numbers = np.empty(len(missing), dtype=np.int64)
    by_identity: dict[tuple[str, int], int] = {}
    by_key: dict[str, int] = {}
    firsts: list[int] = []
    for index in np.argsort(~measured, kind="stable").tolist():
        key = keys[index]
        if was_measured[index]:
            number = by_identity.setdefault((key, dimensions[index]), len(firsts))
        else:
            number = by_key.get(key, len(firsts))
        if number == len(firsts):
            firsts.append(int(missing[index]))
        by_key.setdefault(key, number)
        numbers[index] = number
    return NewTraces(np.array(firsts, dtype=np.int64), numbers)
