"""Write rows whose ids the program chooses: the next id of a table, and updates of many rows by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, bindparam, func, select, update

__all__ = ["next_id", "update_rows"]


def next_id(connection: Connection, table: Table) -> int:
    """Return the id after the greatest of ``table``, 1 for an empty table."""
    return int(connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one()) + 1


def update_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Set the columns of ``rows`` by their ``id``; all rows have the same columns."""
    if not rows:
        return
    values: dict[str, Any] = {name: bindparam(name) for name in rows[0] if name != "id"}
    parameters = [{("key" if name == "id" else name): value for name, value in row.items()} for row in rows]
    connection.execute(update(table).where(table.c.id == bindparam("key")).values(values), parameters)
