"""Keep which runs are withheld: their results are stored, and take no part in points.

A run is withheld as a whole, but for the traces that keep their values: canaries, which show whether the machine moved.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, select

from knickpoint.store.array_codec import checked, pack, unpack
from knickpoint.store.database import Database
from knickpoint.store.tables.quarantines import withheld_run as table

__all__ = ["WithheldRuns"]


class WithheldRuns:
    """Hold the rows of withheld runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def at(self, connection: Connection, repository_id: int, slots: Collection[int]) -> dict[int, NDArray[np.int64]]:
        """Return the withheld runs at ``slots``: run → the traces that keep their values, sorted."""
        query = select(table.c.run_id, table.c.kept).where(
            self._database.among(table.c.slot), table.c.repository_id == repository_id
        )
        rows = connection.execute(query, {"numbers": self._database.listed(sorted(slots))})
        return {row.run_id: _ids_of(row.kept) for row in rows}

    def of_repository(self, connection: Connection, repository_id: int) -> dict[int, NDArray[np.int64]]:
        """Return all withheld runs of a repository: run → the traces that keep their values, sorted."""
        rows = connection.execute(select(table.c.run_id, table.c.kept).where(table.c.repository_id == repository_id))
        return {row.run_id: _ids_of(row.kept) for row in rows}

    def add(
        self,
        connection: Connection,
        repository_id: int,
        slots: Mapping[int, int],
        kept: Mapping[int, NDArray[np.int64]],
    ) -> None:
        """Mark runs (run → slot) as withheld, each but for the traces in ``kept``."""
        self.remove(connection, slots)
        rows = [
            {"run_id": run, "repository_id": repository_id, "slot": slot, "kept": checked(pack(kept[run]))}
            for run, slot in sorted(slots.items())
        ]
        if rows:
            connection.execute(table.insert(), rows)

    def remove(self, connection: Connection, run_ids: Collection[int]) -> None:
        """Forget that runs are withheld."""
        if run_ids:
            listed = {"numbers": self._database.listed(sorted(run_ids))}
            connection.execute(delete(table).where(self._database.among(table.c.run_id)), listed)


def _ids_of(packed: bytes) -> NDArray[np.int64]:
    (ids,) = unpack(packed, 1)
    return np.asarray(ids, dtype=np.int64)
