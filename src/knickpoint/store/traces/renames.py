"""Keep which trace continues which other one."""

from __future__ import annotations

import time
from typing import Final

from sqlalchemy import Connection, bindparam, delete, select

from knickpoint.model.commit import Repository
from knickpoint.model.trace_rename import TraceRename
from knickpoint.store.database import Database
from knickpoint.store.tables.traces import trace_rename
from knickpoint.store.timestamps import moment

__all__ = ["TraceRenames", "predecessors"]


_PAIRS: Final = select(trace_rename.c.new_id, trace_rename.c.old_id).where(
    trace_rename.c.repository_id == bindparam("owner")
)


def predecessors(database: Database, connection: Connection, repository_id: int) -> dict[int, int]:
    """Return the new trace → the old one that it continues, of one repository."""
    return dict(database.quick(connection, _PAIRS, {"owner": repository_id}).fetchall())


class TraceRenames:
    """Read and write accepted renames; no stored value changes with them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, repository: Repository) -> list[TraceRename]:
        """Return the renames of ``repository``, by the old trace."""
        query = select(trace_rename).where(trace_rename.c.repository_id == repository.id)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(trace_rename.c.old_id)).all()
        return [TraceRename(row.old_id, row.new_id, row.who, moment(row.time)) for row in rows]

    def add(self, repository: Repository, old: int, new: int, *, who: str) -> None:
        """Write that the trace ``new`` continues ``old``."""
        row = {"old_id": old, "new_id": new, "repository_id": repository.id, "who": who, "time": time.time()}
        with self._database.transaction() as connection:
            connection.execute(trace_rename.insert(), [row])

    def remove(self, old: int) -> None:
        """Take back that a trace continues ``old``."""
        with self._database.transaction() as connection:
            connection.execute(delete(trace_rename).where(trace_rename.c.old_id == old))
