"""Find traces by key: one row a trace, reached by the digest of the key and the dimension of the values.

A key is looked up by its 128-bit digest, so no text is compared. A key has one trace for each dimension that its
values came in (time, bytes, …); dimension 0 stands for a trace that was never measured so far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from knickpoint.store.database import Database
from knickpoint.store.tables.traces import identity as table

__all__ = ["Identities", "IdentityRows"]


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


class Identities:
    """Read the rows of traces by the digests of their keys."""

    def __init__(self, database: Database) -> None:
        self._database = database
        columns = (table.c.high, table.c.low, table.c.dimension, table.c.trace_id, table.c.unit_id, table.c.better)
        owned = table.c.repository_id == bindparam("owner")
        self._query = select(*columns).where(owned, database.among(table.c.high))

    def read(self, connection: Connection, repository_id: int, digests: NDArray[np.int64]) -> IdentityRows:
        """Return the rows of all traces whose keys may have one of ``digests``."""
        values = {"owner": repository_id, "numbers": self._database.listed(np.unique(digests[:, 0]))}
        rows = self._database.quick(connection, self._query, values).fetchall()
        columns = np.array(rows, dtype=np.int64).reshape(-1, 6)
        columns = columns[np.lexsort((columns[:, 3], columns[:, 0]))]
        return IdentityRows(*(np.ascontiguousarray(columns[:, number]) for number in range(6)))
