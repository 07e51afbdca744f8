"""Keep where the history of each repository ends, and mark the changes on either side.

When a repository is first run over, everything found in it is old news: *history*, which is listed and never announced.
What comes later is *work*. The history boundary is a set of commits, one for each line that had results then. A
change is history when its commit lies at or before the boundary on its line.

Lists must filter by that in SQL, and SQL does not know the order of lines. So each change has a mark,
``change.history``. Every method here that changes the boundary brings the marks up to date, and
:meth:`Boundaries.mark` does the same after commits or changes moved.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import bindparam, delete, func, select, update

from knickpoint.model.change_point import Condition
from knickpoint.model.commit import Boundary, Line, Repository
from knickpoint.store.array_codec import moment
from knickpoint.store.commits.commits import Commits
from knickpoint.store.database import Database
from knickpoint.store.tables import points as run_tables
from knickpoint.store.tables.findings import boundary as table
from knickpoint.store.tables.findings import change, change_point

_NOTHING: Final = -1
"""The slot of the only row of a repository in which nothing is history."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Count the live findings and the changes on either side of a boundary."""

    history: int
    work: int
    history_changes: int
    work_changes: int


class Boundaries:
    """Hold the boundaries area of a store: up to which commits findings are history."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._commits = Commits(database)

    def get(self, repository: Repository) -> Boundary | None:
        """Return the boundary of ``repository``, None before the first run over it."""
        query = select(table).where(table.c.repository_id == repository.id)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(table.c.changed, table.c.slot)).all()
        if not rows:
            return None
        slots = frozenset(row.slot for row in rows) - {_NOTHING}
        return Boundary(slots, rows[-1].who, moment(rows[-1].changed))

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
            connection.execute(delete(table).where(table.c.repository_id == repository.id))
            insert = self._database.insert(table)
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
