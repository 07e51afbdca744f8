"""Read what alerts saw in traces when they last ran over them."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import func, select

from knickpoint.model.change_point import Sighting
from knickpoint.model.commit import Repository
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import sighting_of
from knickpoint.store.tables.findings import sighting as table

__all__ = ["SightingTable"]


class SightingTable:
    """Read the sightings of a store; they are written with the change points that they belong to."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_traces(self, trace_ids: Collection[int]) -> dict[int, list[Sighting]]:
        """Return trace → what all alerts saw in it, by alert name and slot; traces without sightings are left out."""
        query = select(table).where(self._database.among(table.c.trace_id, "ids"))
        listed = {"ids": self._database.listed(sorted(trace_ids))}
        found: dict[int, list[Sighting]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(query.order_by(table.c.alert, table.c.slot), listed).mappings():
                found.setdefault(row["trace_id"], []).append(sighting_of(row))
        return found

    def count(self, alert: str, trace_ids: Collection[int]) -> int:
        """Count what ``alert`` saw in traces."""
        among = self._database.among(table.c.trace_id, "ids")
        query = select(func.count()).select_from(table).where(table.c.alert == alert, among)
        with self._database.reading() as connection:
            return int(connection.execute(query, {"ids": self._database.listed(list(trace_ids))}).scalar_one())

    def slots(self, alert: str, trace_ids: Collection[int]) -> dict[int, list[int]]:
        """Return trace → the slots at which ``alert`` saw something, ascending, for traces that have any."""
        query = select(table.c.trace_id, table.c.slot).where(
            table.c.alert == alert, self._database.among(table.c.trace_id, "ids")
        )
        listed = {"ids": self._database.listed(list(trace_ids))}
        found: dict[int, list[int]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(query.order_by(table.c.trace_id, table.c.slot), listed):
                found.setdefault(row.trace_id, []).append(row.slot)
        return found

    def traces(self, alert: str, repository: Repository) -> list[int]:
        """Return the traces of ``repository`` in which ``alert`` saw something, ascending."""
        matching = (table.c.alert == alert) & (table.c.repository_id == repository.id)
        query = select(table.c.trace_id).where(matching).distinct().order_by(table.c.trace_id)
        with self._database.reading() as connection:
            return list(connection.execute(query).scalars())

    def alerts(self) -> list[str]:
        """Return the names of the alerts that have sightings, sorted."""
        with self._database.reading() as connection:
            return list(connection.execute(select(table.c.alert).distinct().order_by(table.c.alert)).scalars())
