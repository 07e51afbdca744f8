"""Keep where the history of each repository ends, and what a rebase or a force-push made of its commits.

When a repository is first run over, everything found in it is old news: *history*, which is listed and never announced.
What comes later is *work*. The history boundary is a set of commits, one for each line that had results then. A
change is history when its commit lies at or before the boundary on its line.

Lists must filter by that in SQL, and SQL does not know the order of lines. So each change has a mark,
``change.history``. Every method here that changes the boundary brings the marks up to date, and
:meth:`Boundaries.mark` does the same after commits or changes moved.

A rewritten commit has a new hash and so a new slot. The table of successors says which slot took its place on a line.
Findings name commits by slot: where change points, sightings, changes, missed changes and tickets name a commit that
was rewritten, they are changed to name its successor. What people wrote stays: entries of the triage log keep their
slots.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Table, bindparam, delete, func, select, update

from knickpoint.model.change_point import Condition
from knickpoint.model.commit import Boundary, Line, Repository
from knickpoint.store.array_codec import moment
from knickpoint.store.commits import Commits
from knickpoint.store.database import Database
from knickpoint.store.events import Outbox, TracesChanged, pack_ids
from knickpoint.store.points.parts import Part
from knickpoint.store.tables import commits as commit_tables
from knickpoint.store.tables import findings as finding_tables
from knickpoint.store.tables import points as run_tables
from knickpoint.store.tables.announcements import missed_change
from knickpoint.store.tables.commits import successor as successor_table
from knickpoint.store.tables.findings import boundary as boundary_table
from knickpoint.store.tables.findings import change, change_point
from knickpoint.store.traces.trace_chunks import CHUNK

_NOTHING: Final = -1
"""The slot of the only row of a repository in which nothing is history."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Count the live findings and the changes on either side of a boundary."""

    history: int
    work: int
    history_changes: int
    work_changes: int


_BOUNDARY: Final = (
    select(boundary_table.c.slot, boundary_table.c.who, boundary_table.c.changed)
    .where(boundary_table.c.repository_id == bindparam("owner"))
    .order_by(boundary_table.c.changed, boundary_table.c.slot)
)


class Boundaries:
    """Hold the boundaries area of a store: up to which commits findings are history."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._commits = Commits(database)

    def get(self, repository: Repository) -> Boundary | None:
        """Return the boundary of ``repository``, None before the first run over it."""
        with self._database.reading() as connection:
            rows = self._database.quick(connection, _BOUNDARY, {"owner": repository.id}).fetchall()
        if not rows:
            return None
        slots = frozenset(slot for slot, _, _ in rows) - {_NOTHING}
        _, who, changed = rows[-1]
        return Boundary(slots, who, moment(changed))

    def begin(self, repository: Repository, slots: Collection[int]) -> None:
        """Set the boundary of ``repository`` to ``slots`` if it has none yet, as the first run does."""
        with self._database.transaction():
            if self.get(repository) is None:
                self.put(repository, slots)

    def extend(self, repository: Repository) -> None:
        """Move the boundary on to the newest results, where a run set it while the first import went on.

        A boundary that a person moved stays, and so does an empty one.
        """
        with self._database.transaction():
            known = self.get(repository)
            if known is not None and known.slots and not known.who:
                self.put(repository, known.slots | self.newest_measured(repository))

    def put(self, repository: Repository, slots: Collection[int], *, who: str = "") -> tuple[int, ...]:
        """Replace the boundary by ``slots``; no slots make everything work.

        Returns the ids of the changes that it moved past, ascending.
        """
        seconds = datetime.now(UTC).timestamp()
        rows = [
            {"repository_id": repository.id, "slot": slot, "who": who, "changed": seconds}
            for slot in sorted(set(slots)) or [_NOTHING]
        ]
        with self._database.transaction() as connection:
            connection.execute(delete(boundary_table).where(boundary_table.c.repository_id == repository.id))
            insert = self._database.insert(boundary_table)
            connection.execute(insert.on_conflict_do_nothing(index_elements=["repository_id", "slot"]), rows)
            return self.mark(repository)

    def follow(self, repository: Repository, before: Line, slots: Collection[int], moved: Mapping[int, int]) -> None:
        """Move the boundary with a line that was ``before`` and has the commits ``slots`` now.

        ``moved`` has the successors of rewritten commits, slot → slot. A boundary commit that left the line gets a
        substitute: the last commit at or before it that is still on the line, or whose successor is. The commit
        itself stays in the boundary, for lines that still have it, and for the case that it comes back.
        """
        known = self.get(repository)
        if known is None:
            return
        now = frozenset(slots)
        substitutes: set[int] = set()
        for slot in known.slots - now:
            position = before.positions.get(slot, -1)
            earlier = (moved.get(old, old) for old in reversed(before.slots[: position + 1]))
            substitutes.update([next((old for old in earlier if old in now), _NOTHING)])
        if added := substitutes - known.slots - {_NOTHING}:
            self.put(repository, known.slots | added, who=known.who)

    def mark(self, repository: Repository) -> tuple[int, ...]:
        """Bring the marks of all changes of ``repository`` up to date with its boundary and its lines.

        Returns the ids of the changes that it moved past, ascending.
        """
        known = self.get(repository)
        if known is None:
            return ()
        columns = (change.c.id, change.c.line, change.c.slot, change.c.history)
        query = select(*columns).where(change.c.repository_id == repository.id).order_by(change.c.id)
        with self._database.transaction() as connection:
            rows = connection.execute(query).all()
            lines = self._lines(repository, {row.line for row in rows}) if known.slots else {}
            ends = {name: known.position(line) for name, line in lines.items()}
            changed: list[dict[str, int]] = []
            for row in rows:
                position = lines[row.line].positions.get(row.slot) if lines else -1
                if position is None:  # its commit left the line, so it stays on its side
                    continue
                history = int(bool(lines) and position <= ends[row.line])
                if history != row.history:
                    changed.append({"key": row.id, "side": history})
            if changed:
                statement = update(change).where(change.c.id == bindparam("key"))
                connection.execute(statement.values(history=bindparam("side")), changed)
        return tuple(row["key"] for row in changed)

    def newest_measured(self, repository: Repository) -> frozenset[int]:
        """Return the last commit with results of each line; of a branch, only of its commits after the merge base."""
        run = run_tables.run.c
        with self._database.reading() as connection:
            query = select(run.slot).where(run.repository_id == repository.id).distinct()
            measured = frozenset(connection.execute(query).scalars())
        if not measured:
            return frozenset()
        names = self._commits.lines(repository) or ("",)
        found: set[int] = set()
        for line in (self._commits.line(repository, name) for name in names):
            added = line.slots[line.merge_base + 1 :]
            found.update([slot for slot in reversed(added) if slot in measured][:1])
        return frozenset(found)

    def sides(self, repository: Repository) -> Sides:
        """Count what lies on either side of the boundary; findings that are gone do not count."""
        point = change_point.c
        query = (
            select(
                change.c.history,
                func.count().label("findings"),
                func.count(change.c.id.distinct()).label("changes"),
            )
            .select_from(change_point.join(change, point.change_id == change.c.id))
            .where(point.repository_id == repository.id, point.condition != Condition.GONE.value)
            .group_by(change.c.history)
        )
        with self._database.reading() as connection:
            rows = {row.history: row for row in connection.execute(query)}
        history, work = rows.get(1), rows.get(0)
        return Sides(
            history=history.findings if history else 0,
            work=work.findings if work else 0,
            history_changes=history.changes if history else 0,
            work_changes=work.changes if work else 0,
        )

    def history_among(self, ids: Collection[int]) -> frozenset[int]:
        """Return those of the changes ``ids`` that are history."""
        if not ids:
            return frozenset()
        query = select(change.c.id).where(change.c.history == 1, self._database.among(change.c.id, "ids"))
        with self._database.reading() as connection:
            return frozenset(connection.execute(query, {"ids": self._database.listed(sorted(ids))}).scalars())

    def _lines(self, repository: Repository, names: Collection[str]) -> dict[str, Line]:
        """Return lines by name; the name of a line that no longer exists stands for the default line."""
        known = self._commits.lines(repository)
        return {name: self._commits.line(repository, name if name in known else "") for name in names}


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
            of_line = (successor_table.c.repository_id == repository.id) & (successor_table.c.line == line)
            back = self._database.listed(sorted({*joined, *successors}))
            connection.execute(
                delete(successor_table).where(of_line, self._database.among(successor_table.c.slot)), {"numbers": back}
            )
            if not rows:
                return
            connection.execute(successor_table.insert(), rows)

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
        query = select(successor_table.c.slot, successor_table.c.successor).where(
            successor_table.c.repository_id == repository.id
        )
        with self._database.reading() as connection:
            following = {row.slot: row.successor for row in connection.execute(query.order_by(successor_table.c.line))}
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
