"""Keep what a rebase or a force-push made of commits, and let findings follow; announce that a line changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Table, bindparam, delete, select, update

from knickpoint.model.commit import Repository
from knickpoint.store.database import Database
from knickpoint.store.events.outbox import Outbox
from knickpoint.store.events.packed_ids import pack_ids
from knickpoint.store.events.payloads import TracesChanged
from knickpoint.store.points.parts import Part
from knickpoint.store.tables import commits as commit_tables
from knickpoint.store.tables import findings as finding_tables
from knickpoint.store.tables import runs as run_tables
from knickpoint.store.tables.commits import successor as table
from knickpoint.store.traces.traces import CHUNK

__all__ = ["Rewrites"]

_IDS_IN_EVENT: Final = 20_000
_PLACES: Final[tuple[tuple[Table, str, tuple[str, ...]], ...]] = (
    (finding_tables.change_point, "line", ("previous", "slot")),
    (finding_tables.change_point, "anchor_line", ("anchor_previous", "anchor_slot")),
    (finding_tables.sighting, "line", ("previous", "slot")),
    (finding_tables.regression, "line", ("previous", "slot")),
)
"""Where findings name commits: table, the column of their line, the columns of slots on it."""


class Rewrites:
    """Hold the rewrites area of a store: which commit took the place of which on a line."""

    def __init__(self, database: Database, outbox: Outbox) -> None:
        self._database = database
        self._outbox = outbox

    def record(
        self, repository: Repository, line: str, successors: Mapping[int, int], joined: Collection[int] = ()
    ) -> None:
        """Note that commits of ``line`` live on as others, slot → slot, and move findings there along.

        ``joined`` are all slots that came onto the line: they have no successor there any more. Places of change
        points, the anchors of decisions, regressions and, on the default line, tickets follow; the entries of the
        triage log stay as they were written.
        """
        own = (table.c.repository_id == repository.id) & (table.c.line == line)
        rows = [
            {"repository_id": repository.id, "line": line, "slot": slot, "successor": successor}
            for slot, successor in successors.items()
        ]
        with self._database.transaction() as connection:
            back = self._database.listed(sorted({*joined, *successors}))
            connection.execute(delete(table).where(own, self._database.among(table.c.slot)), {"numbers": back})
            if not rows:
                return
            connection.execute(table.insert(), rows)
            default = self._is_default(connection, repository, line)
            for places, name, columns in _PLACES:
                lines = self._lines(connection, repository, line, places.c[name], default=default)
                for column in columns:
                    _follow(connection, places, (places.c.repository_id == repository.id) & lines, column, successors)
            if default:
                self._move_tickets(connection, repository, successors)

    def successor(self, repository: Repository, slot: int) -> int | None:
        """Return the slot of the commit that took the place of the one at ``slot`` in the end, None where none did."""
        query = select(table.c.slot, table.c.successor).where(table.c.repository_id == repository.id)
        with self._database.reading() as connection:
            following = {row.slot: row.successor for row in connection.execute(query.order_by(table.c.line))}
        seen = {slot}
        while following.get(slot) is not None and following[slot] not in seen:
            slot = following[slot]
            seen.add(slot)
        return slot if len(seen) > 1 else None

    def announce(self, repository: Repository, slots: Collection[int]) -> int:
        """Publish that the traces with results at ``slots`` changed, as their line did; return how many they are."""
        with self._database.transaction() as connection:
            ids = self._measured(connection, repository, slots)
            for begin in range(0, len(ids), _IDS_IN_EVENT):
                traces = pack_ids(ids[begin : begin + _IDS_IN_EVENT])
                self._outbox.publish(TracesChanged(repository.name, slots=(), runs=(), traces=traces))
        return len(ids)

    def _measured(self, connection: Connection, repository: Repository, slots: Collection[int]) -> NDArray[np.int64]:
        """Return the traces that runs at ``slots`` measured, ascending; of whole commits, never of all."""
        found: list[NDArray[np.int64]] = []
        if slots:
            run, part = run_tables.run.c, run_tables.part.c
            between = (run.slot >= min(slots)) & (run.slot <= max(slots))
            query = select(run.id, run.slot).where(run.repository_id == repository.id, between)
            runs = [(row.id, row.slot) for row in connection.execute(query) if row.slot in slots]
            parts = select(part.chunk, part.data).where(
                self._database.among(part.slot, "slots"), self._database.among(part.run_id, "runs")
            )
            asked = {
                "slots": self._database.listed(sorted({slot for _, slot in runs})),
                "runs": self._database.listed([number for number, _ in runs]),
            }
            found = [
                Part.unpack(row.data).places + (0 if row.chunk < 0 else row.chunk * CHUNK)
                for row in (connection.execute(parts, asked) if runs else ())
            ]
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *found]))

    def _is_default(self, connection: Connection, repository: Repository, line: str) -> bool:
        known = commit_tables.repository.c
        named = connection.execute(select(known.default_line).where(known.id == repository.id)).scalar()
        return named in {"", line}

    def _lines(
        self, connection: Connection, repository: Repository, line: str, column: ColumnElement[str], *, default: bool
    ) -> ColumnElement[bool]:
        """Return the condition that ``column`` means ``line``: lines that are no more mean the default one."""
        if not default:
            return column == line
        names = select(commit_tables.line.c.name).where(commit_tables.line.c.repository_id == repository.id)
        others = [name for name in connection.execute(names).scalars() if name != line]
        return column.not_in(others)

    @staticmethod
    def _move_tickets(connection: Connection, repository: Repository, successors: Mapping[int, int]) -> None:
        ticket = finding_tables.ticket
        rows = connection.execute(select(ticket).where(ticket.c.repository_id == repository.id)).all()
        known = {(row.name, row.query, row.slot) for row in rows}
        for row in rows:
            slot = successors.get(row.slot)
            if slot is None:
                continue
            own = ticket.c.id == row.id
            if (row.name, row.query, slot) in known:
                connection.execute(delete(ticket).where(own))
            else:
                connection.execute(update(ticket).where(own).values(slot=slot))


def _follow(
    connection: Connection, places: Table, own: ColumnElement[bool], name: str, successors: Mapping[int, int]
) -> None:
    """Write successors into the column ``name`` of the rows that are ``own``."""
    column: Any = places.c[name]
    used = connection.execute(select(column).where(own, column.is_not(None)).distinct()).scalars()
    moves = [{"old": slot, "new": successors[slot]} for slot in used if slot in successors]
    if moves:
        statement = update(places).where(own, column == bindparam("old")).values({name: bindparam("new")})
        connection.execute(statement, moves)
