"""Keep what a rebase or a force-push made of commits, let findings follow, and announce that a line changed.

A rewritten commit has a new hash and so a new slot. The table of successors says which slot took its place on a line.
Findings name commits by slot: where change points, sightings, changes, missed changes and tickets name a commit that
was rewritten, they are changed to name its successor. What people wrote stays: entries of the triage log keep their
slots.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Table, bindparam, delete, select, update

from knickpoint.model.commit import Repository
from knickpoint.store.database import Database
from knickpoint.store.events.outbox import Outbox
from knickpoint.store.events.payloads import TracesChanged, pack_ids
from knickpoint.store.points.parts import Part
from knickpoint.store.tables import commits as commit_tables
from knickpoint.store.tables import findings as finding_tables
from knickpoint.store.tables import points as run_tables
from knickpoint.store.tables.alerts import missed_change
from knickpoint.store.tables.commits import successor as table
from knickpoint.store.traces.trace_chunks import CHUNK

_IDS_IN_EVENT: Final = 20_000


@dataclass(frozen=True, slots=True)
class _SlotColumns:
    """Where a table of findings names commits: the column of their line, and the columns of slots on it."""

    table: Table
    line: str
    slots: tuple[str, ...]


_SLOT_COLUMNS: Final = (
    _SlotColumns(finding_tables.change_point, "line", ("previous", "slot")),
    _SlotColumns(finding_tables.change_point, "anchor_line", ("anchor_previous", "anchor_slot")),
    _SlotColumns(finding_tables.sighting, "line", ("previous", "slot")),
    _SlotColumns(finding_tables.change, "line", ("previous", "slot")),
    _SlotColumns(missed_change, "line", ("previous", "slot")),
)


class Rewrites:
    """Hold the rewrites area of a store: which commit took the place of which on a line."""

    def __init__(self, database: Database, outbox: Outbox) -> None:
        self._database = database
        self._outbox = outbox

    def record(
        self, repository: Repository, line: str, successors: Mapping[int, int], joined: Collection[int] = ()
    ) -> None:
        """Write that commits of ``line`` have ``successors``, slot → slot, and let findings follow.

        ``joined`` are all slots that came onto the line; from now on they have no successor there. Suspect ranges of
        change points, the anchors of decisions, and changes follow, and on the default line tickets as well.
        """
        rows = [
            {"repository_id": repository.id, "line": line, "slot": slot, "successor": successor}
            for slot, successor in successors.items()
        ]
        with self._database.transaction() as connection:
            # Commits that came back are themselves again.
            of_line = (table.c.repository_id == repository.id) & (table.c.line == line)
            back = self._database.listed(sorted({*joined, *successors}))
            connection.execute(delete(table).where(of_line, self._database.among(table.c.slot)), {"numbers": back})
            if not rows:
                return
            connection.execute(table.insert(), rows)

            # Whatever names a rewritten commit of the line names its successor now.
            default = self._is_default(connection, repository, line)
            for columns in _SLOT_COLUMNS:
                rows_of_repository = columns.table.c.repository_id == repository.id
                means_line = self._means_line(
                    connection, repository, line, columns.table.c[columns.line], default=default
                )
                for name in columns.slots:
                    _replace_slots(connection, columns.table, rows_of_repository & means_line, name, successors)
            if default:
                self._move_tickets(connection, repository, successors)

    def successor(self, repository: Repository, slot: int) -> int | None:
        """Return the slot of the last commit in the row of successors of ``slot``, None where there is none."""
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
        """Return the traces that runs at ``slots`` measured, ascending; it reads the parts of these runs alone."""
        nothing = np.empty(0, dtype=np.int64)
        if not slots:
            return nothing
        run, part = run_tables.run.c, run_tables.part.c
        between = (run.slot >= min(slots)) & (run.slot <= max(slots))
        query = select(run.id, run.slot).where(run.repository_id == repository.id, between)
        runs = [(row.id, row.slot) for row in connection.execute(query) if row.slot in slots]
        if not runs:
            return nothing
        parts = select(part.chunk, part.data).where(
            self._database.among(part.slot, "slots"), self._database.among(part.run_id, "runs")
        )
        wanted = {
            "slots": self._database.listed(sorted({slot for _, slot in runs})),
            "runs": self._database.listed([number for number, _ in runs]),
        }
        # A part of scattered traces, under a negative chunk, holds ids; others hold places in their chunk.
        measured = [
            Part.unpack(row.data).places + (0 if row.chunk < 0 else row.chunk * CHUNK)
            for row in connection.execute(parts, wanted)
        ]
        return np.unique(np.concatenate([nothing, *measured]))

    def _is_default(self, connection: Connection, repository: Repository, line: str) -> bool:
        known = commit_tables.repository.c
        named = connection.execute(select(known.default_line).where(known.id == repository.id)).scalar()
        return named in {"", line}

    def _means_line(
        self, connection: Connection, repository: Repository, line: str, column: ColumnElement[str], *, default: bool
    ) -> ColumnElement[bool]:
        """Return the condition that ``column`` means ``line``; a name without a line means the default one."""
        if not default:
            return column == line
        names = select(commit_tables.line.c.name).where(commit_tables.line.c.repository_id == repository.id)
        others = [name for name in connection.execute(names).scalars() if name != line]
        return column.not_in(others)

    @staticmethod
    def _move_tickets(connection: Connection, repository: Repository, successors: Mapping[int, int]) -> None:
        """Move tickets to the successors of their commits; a ticket that is there already is not doubled."""
        ticket = finding_tables.ticket
        rows = connection.execute(select(ticket).where(ticket.c.repository_id == repository.id)).all()
        known = {(row.name, row.query, row.slot) for row in rows}
        for row in rows:
            slot = successors.get(row.slot)
            if slot is None:
                continue
            this = ticket.c.id == row.id
            if (row.name, row.query, slot) in known:
                connection.execute(delete(ticket).where(this))
            else:
                connection.execute(update(ticket).where(this).values(slot=slot))


def _replace_slots(
    connection: Connection, table: Table, where: ColumnElement[bool], name: str, successors: Mapping[int, int]
) -> None:
    """Replace slots by their ``successors`` in the column ``name``, in the rows that meet ``where``."""
    column = table.c[name]
    used = connection.execute(select(column).where(where, column.is_not(None)).distinct()).scalars()
    moves = [{"old": slot, "new": successors[slot]} for slot in used if slot in successors]
    if moves:
        statement = update(table).where(where, column == bindparam("old")).values({name: bindparam("new")})
        connection.execute(statement, moves)
