"""Tickets: which traces and which commit each is about, their state in the tracker, and their threads."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, and_, func, or_, select, union

from knickpoint.model.change_point import Condition, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.notification import FixVerdict, TrackerTicket
from knickpoint.store.database import Database
from knickpoint.store.tables.announcements import announcement, tracker_cursor, tracker_thread, tracker_ticket
from knickpoint.store.tables.findings import change_point, decision
from knickpoint.store.tables.findings import ticket as table

# Keep tickets of an issue tracker: which traces and which commit each is about.


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
        """Return live change point → the other suspect ranges that it had when announced or decided about, sorted.

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


# Keep the tickets of trackers: their state there, the threads that they belong to, and how far they were read.


def thread_of(change: int) -> str:
    """Return the thread of a change in the table of threads."""
    return f"R{change}"


def change_thread(chain: int) -> str:
    """Return the thread of the messages about a change, by its chain of announcements."""
    return f"change-{chain}"


@dataclass(frozen=True, slots=True)
class TrackerCursor:
    """How far the tickets of a channel were read.

    ``since`` is the tracker's own text of a time, "" at first. ``etag`` is that of the last first page. Before
    ``resume``, in seconds since 1970, the tracker does not want to be asked.
    """

    since: str = ""
    etag: str = ""
    resume: float = 0.0


class TrackerTicketTable:
    """Read and write the tickets of trackers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, ticket: TrackerTicket, *, threads: Collection[str] = ()) -> TrackerTicket:
        """Write ``ticket``, which replaces the one of its channel and name, and let ``threads`` lead to it.

        A thread that leads to another ticket leads to this one from now on.
        """
        values: dict[str, Any] = {
            "url": ticket.url,
            "title": ticket.title,
            "open": int(ticket.open),
            "assignee": ticket.assignee,
            "fixed": ticket.fixed,
            "updated": ticket.updated.timestamp() if ticket.updated else 0.0,
            "verdict": ticket.verdict.value,
            "checked": ticket.checked,
        }
        with self._database.transaction() as connection:
            key = (tracker_ticket.c.channel == ticket.channel, tracker_ticket.c.name == ticket.name)
            number = connection.execute(select(tracker_ticket.c.id).where(*key)).scalar()
            if number is None:
                highest = select(func.coalesce(func.max(tracker_ticket.c.id), 0))
                number = int(connection.execute(highest).scalar_one()) + 1
                row = {"id": number, "channel": ticket.channel, "name": ticket.name, **values}
                connection.execute(tracker_ticket.insert().values(row))
            else:
                connection.execute(tracker_ticket.update().where(*key).values(values))
            for thread in sorted(threads):
                insert = self._database.insert(tracker_thread)
                insert = insert.values(channel=ticket.channel, thread=thread, ticket_id=number)
                connection.execute(
                    insert.on_conflict_do_update(index_elements=["channel", "thread"], set_={"ticket_id": number})
                )
        return replace(ticket, id=int(number))

    def of_thread(self, channel: str, threads: Sequence[str]) -> TrackerTicket | None:
        """Return the ticket of the first of ``threads`` that leads to one."""
        query = select(tracker_thread.c.thread, tracker_ticket).join(
            tracker_ticket, tracker_ticket.c.id == tracker_thread.c.ticket_id
        )
        query = query.where(tracker_thread.c.channel == channel, tracker_thread.c.thread.in_(list(threads)))
        with self._database.reading() as connection:
            found = {row.thread: _ticket_of(row) for row in connection.execute(query)}
        return next((found[thread] for thread in threads if thread in found), None)

    def channels_of(self, changes: Collection[int]) -> dict[int, list[str]]:
        """Return change → the channels with an open ticket about it, sorted; changes without one are left out."""
        named = {thread_of(key): key for key in changes}
        query = select(tracker_thread.c.thread, tracker_thread.c.channel).join(
            tracker_ticket, tracker_ticket.c.id == tracker_thread.c.ticket_id
        )
        query = query.where(tracker_thread.c.thread.in_(sorted(named)), tracker_ticket.c.open == 1)
        found: dict[int, list[str]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(query.order_by(tracker_thread.c.channel)):
                found.setdefault(named[row.thread], []).append(row.channel)
        return found

    def channels_with(self, linked: Mapping[int, Collection[str]]) -> dict[int, list[str]]:
        """Return key → the channels in which one of its tickets, by name, is open, sorted.

        Keys without one are left out.
        """
        names = sorted(set().union(*linked.values()))
        query = select(tracker_ticket.c.name, tracker_ticket.c.channel)
        query = query.where(tracker_ticket.c.name.in_(names), tracker_ticket.c.open == 1)
        by_name: dict[str, set[str]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(query) if names else ():
                by_name.setdefault(row.name, set()).add(row.channel)
        found = {key: set[str]().union(*(by_name.get(name, ()) for name in each)) for key, each in linked.items()}
        return {key: sorted(channels) for key, channels in found.items() if channels}

    def threads(self, ticket: TrackerTicket) -> list[str]:
        """Return the threads that lead to ``ticket``, sorted."""
        query = select(tracker_thread.c.thread).where(tracker_thread.c.ticket_id == ticket.id)
        with self._database.reading() as connection:
            return sorted(connection.execute(query).scalars())

    def forget(self, ticket: TrackerTicket) -> None:
        """Delete ``ticket`` and its threads: the tracker has no such ticket any more."""
        with self._database.transaction() as connection:
            connection.execute(tracker_thread.delete().where(tracker_thread.c.ticket_id == ticket.id))
            connection.execute(tracker_ticket.delete().where(tracker_ticket.c.id == ticket.id))

    def all(self, channel: str = "") -> list[TrackerTicket]:
        """Return the tickets of ``channel``, or of every channel, in the order in which they came."""
        query = select(tracker_ticket).order_by(tracker_ticket.c.id)
        if channel:
            query = query.where(tracker_ticket.c.channel == channel)
        with self._database.reading() as connection:
            return [_ticket_of(row) for row in connection.execute(query)]

    def by_channel(self, channel: str, name: str) -> TrackerTicket | None:
        """Return the ticket ``name`` of ``channel``, if there is one."""
        query = select(tracker_ticket).where(tracker_ticket.c.channel == channel, tracker_ticket.c.name == name)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return _ticket_of(row) if row else None

    def by_name(self, names: Collection[str]) -> dict[str, TrackerTicket]:
        """Return the tickets of these names; of those in several channels, the one that came first."""
        query = select(tracker_ticket).where(tracker_ticket.c.name.in_(sorted(names)))
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(tracker_ticket.c.id.desc()))
            return {row.name: _ticket_of(row) for row in rows}

    def cursor(self, channel: str) -> TrackerCursor:
        """Return the cursor up to which the tickets of ``channel`` were read."""
        query = select(tracker_cursor).where(tracker_cursor.c.channel == channel)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return TrackerCursor(row.since, row.etag, row.resume) if row else TrackerCursor()

    def set_cursor(self, channel: str, cursor: TrackerCursor) -> None:
        """Write how far the tickets of ``channel`` were read."""
        values = {"since": cursor.since, "etag": cursor.etag, "resume": cursor.resume}
        insert = self._database.insert(tracker_cursor).values(channel=channel, **values)
        with self._database.transaction() as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=["channel"], set_=values))


def _ticket_of(row: Row[Any]) -> TrackerTicket:
    return TrackerTicket(
        channel=row.channel,
        name=row.name,
        url=row.url,
        title=row.title,
        open=bool(row.open),
        assignee=row.assignee,
        fixed=row.fixed,
        updated=datetime.fromtimestamp(row.updated, UTC) if row.updated else None,
        verdict=FixVerdict(row.verdict),
        checked=row.checked,
        id=row.id,
    )
