"""Read and write the rows of provenance: one part for each run and chunk, or one for all chunks of a run.

The part of a run for all its chunks stands under the chunk ``-repository_id``; its places are trace ids.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, or_, select, update

from knickpoint.store.database import Database
from knickpoint.store.points.checksums import part_name, require_intact, row_checksum
from knickpoint.store.points.parts import Part
from knickpoint.store.tables.runs import part as table
from knickpoint.store.traces.trace_chunks import CHUNK

__all__ = ["PartRow", "PartTable"]

_INSERT: Final = table.insert()
_DELETE: Final = table.delete().where(table.c.slot == bindparam("at"), table.c.run_id == bindparam("run"))
_UPDATE: Final = (
    update(table)
    .where(table.c.slot == bindparam("at"), table.c.chunk == bindparam("of"), table.c.run_id == bindparam("run"))
    .values(data=bindparam("packed"), checksum=bindparam("sum"))
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
        self._at = (
            select(table)
            .where(
                database.among(table.c.slot, "slots"),
                or_(table.c.chunk == bindparam("whole"), table.c.chunk.between(bindparam("low"), bindparam("high"))),
            )
            .order_by(table.c.slot, table.c.chunk, table.c.run_id)
        )

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
        rows = map(PartRow._make, self._database.quick(connection, self._at, values))
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
