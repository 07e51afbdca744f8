"""Keep tickets of an issue tracker: which traces and which commit each is about."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import and_, func, or_, select, union

from knickpoint.model.change_point import Condition, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.store.database import Database
from knickpoint.store.tables.announcements import announcement
from knickpoint.store.tables.findings import change_point, decision
from knickpoint.store.tables.findings import ticket as table

__all__ = ["Ticket", "TicketTable"]


@dataclass(frozen=True, slots=True)
class Ticket:
    """A ticket about the traces that ``query`` matches, at the commit ``slot``."""

    name: str
    query: str
    slot: int
    url: str = ""
    open: bool = True


class TicketTable:
    """Hold the tickets area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, repository: Repository, tickets: Sequence[Ticket]) -> None:
        """Write tickets; each replaces the one of the same name, query and commit."""
        now = time.time()
        keys = ("repository_id", "name", "slot", "query")
        with self._database.transaction() as connection:
            following = int(connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one()) + 1
            for number, ticket in enumerate(tickets, following):
                changing = {"url": ticket.url, "open": int(ticket.open), "changed": now}
                values = {
                    "id": number,
                    "repository_id": repository.id,
                    "name": ticket.name,
                    "query": ticket.query,
                    "slot": ticket.slot,
                    **changing,
                }
                insert = self._database.insert(table).values(values)
                connection.execute(insert.on_conflict_do_update(index_elements=list(keys), set_=changing))

    def refresh(self, name: str, *, url: str, is_open: bool) -> None:
        """Write the address and the state of the ticket ``name``, wherever it is about."""
        changing = {"url": url, "open": int(is_open), "changed": time.time()}
        with self._database.transaction() as connection:
            connection.execute(table.update().where(table.c.name == name).values(changing))

    def relocate(self, repository: Repository, ticket: Ticket, slot: int) -> None:
        """Let ``ticket`` be about the commit ``slot`` instead."""
        with self._database.transaction() as connection:
            of_ticket = (
                table.c.repository_id == repository.id,
                table.c.name == ticket.name,
                table.c.query == ticket.query,
            )
            connection.execute(table.delete().where(*of_ticket, table.c.slot == slot))
            connection.execute(table.update().where(*of_ticket, table.c.slot == ticket.slot).values(slot=slot))

    def remove(self, repository: Repository, name: str) -> None:
        """Delete the ticket ``name`` with all its queries and commits."""
        with self._database.transaction() as connection:
            connection.execute(table.delete().where(table.c.repository_id == repository.id, table.c.name == name))

    def earlier_ranges(self, repository: Repository) -> dict[int, list[SuspectRange]]:
        """Return live change point → the other suspect ranges that it had when it was announced or decided about, sorted.

        Points without any are left out. The ranges are on the line of the point.
        """
        point = change_point.c
        ranges = []
        for source, is_of_point in (
            (announcement, announcement.c.chain == point.announced),
            (announcement, and_(announcement.c.lead == point.id, announcement.c.provisional == 1)),
            (decision, decision.c.change_point_id == point.id),
        ):
            at = source.c
            ranges.append(
                select(point.id, at.line, at.previous, at.slot)
                .join(source, is_of_point)
                .where(
                    point.repository_id == repository.id,
                    point.condition != Condition.GONE.value,
                    at.line == point.line,
                    or_(at.previous != point.previous, at.slot != point.slot),
                )
            )
        found: dict[int, list[SuspectRange]] = {}
        with self._database.reading() as connection:
            rows = connection.execute(union(*ranges)).all()
        for key, line, previous, slot in sorted(map(tuple, rows)):
            found.setdefault(key, []).append(SuspectRange(line, previous, slot))
        return found

    def all(self, repository: Repository) -> list[Ticket]:
        """Return the tickets of ``repository`` in the order in which they came."""
        query = select(table).where(table.c.repository_id == repository.id).order_by(table.c.id)
        with self._database.reading() as connection:
            return [Ticket(row.name, row.query, row.slot, row.url, bool(row.open)) for row in connection.execute(query)]
