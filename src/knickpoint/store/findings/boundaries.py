"""Keep where the history of each repository ends, and mark the regressions on either side."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import bindparam, delete, func, select, update

from knickpoint.model.boundary import Boundary
from knickpoint.model.commit import Line, Repository
from knickpoint.model.regression import Condition
from knickpoint.store.commits.commits import Commits
from knickpoint.store.database import Database
from knickpoint.store.tables import runs as run_tables
from knickpoint.store.tables.findings import boundary as table
from knickpoint.store.tables.findings import change_point, regression

__all__ = ["Boundaries", "Sides"]

_NOTHING: Final = -1
"""The slot of the one row of a repository in which nothing is history."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Count the live findings (traces at places) and the regressions on either side of a boundary."""

    history: int
    work: int
    history_regressions: int
    work_regressions: int


class Boundaries:
    """Hold the boundaries area of a store: up to which commits findings are history.

    The boundary and the place of a regression say on which side it lies. ``regression.history`` repeats that for
    lists, and every method that changes a boundary keeps it in step.
    """

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
        return Boundary(slots, rows[-1].who, datetime.fromtimestamp(rows[-1].changed, UTC))

    def begin(self, repository: Repository, slots: Collection[int]) -> None:
        """Set the boundary of ``repository`` to ``slots`` if it has none yet: the first run does."""
        with self._database.transaction():
            if self.get(repository) is None:
                self.put(repository, slots)

    def extend(self, repository: Repository) -> None:
        """Let history reach up to the newest results, where a run set the boundary while the first import went on.

        A boundary that a person moved stays, and so does one before which nothing is history.
        """
        with self._database.transaction():
            known = self.get(repository)
            if known is not None and known.slots and not known.who:
                self.put(repository, known.slots | self.newest_measured(repository))

    def put(self, repository: Repository, slots: Collection[int], *, who: str = "") -> tuple[int, ...]:
        """Set the boundary to ``slots`` in place of what it was; none make everything work.

        Returns the ids of the regressions that changed sides, ascending.
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
        """Let the boundary follow a line that was ``before`` and has the commits ``slots`` now.

        Where a commit of the boundary left the line, its successor in ``moved`` takes over; where it has none, the
        last commit before it that is still there does, itself or as its successor. The commit that left stays in
        the boundary as well, for lines that still hold it, and for the day it comes back.
        """
        known = self.get(repository)
        if known is None:
            return
        now = frozenset(slots)
        added: set[int] = set()
        for slot in known.slots - now:
            position = before.positions.get(slot, -1)
            earlier = (moved.get(old, old) for old in reversed(before.slots[: position + 1]))
            added.update([next((old for old in earlier if old in now), _NOTHING)])
        if added := added - known.slots - {_NOTHING}:
            self.put(repository, known.slots | added, who=known.who)

    def mark(self, repository: Repository) -> tuple[int, ...]:
        """Bring the marks of all regressions of ``repository`` into step with its boundary and its lines.

        Returns the ids of the regressions that changed sides, ascending.
        """
        known = self.get(repository)
        if known is None:
            return ()
        columns = (regression.c.id, regression.c.line, regression.c.slot, regression.c.history)
        query = select(*columns).where(regression.c.repository_id == repository.id).order_by(regression.c.id)
        with self._database.transaction() as connection:
            rows = connection.execute(query).all()
            lines = self._lines(repository, {row.line for row in rows}) if known.slots else {}
            ends = {name: known.position(line) for name, line in lines.items()}
            changed: list[dict[str, int]] = []
            for row in rows:
                position = lines[row.line].positions.get(row.slot) if lines else -1
                if position is None:  # on its line no more, so it stays on its side
                    continue
                history = int(bool(lines) and position <= ends[row.line])
                if history != row.history:
                    changed.append({"key": row.id, "side": history})
            if changed:
                statement = update(regression).where(regression.c.id == bindparam("key"))
                connection.execute(statement.values(history=bindparam("side")), changed)
        return tuple(row["key"] for row in changed)

    def newest_measured(self, repository: Repository) -> frozenset[int]:
        """Return the last commit with results of each line, of a branch only if it is the branch's own."""
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
        counts = select(regression.c.history, func.count(), func.count(regression.c.id.distinct()))
        query = (
            counts.select_from(change_point.join(regression, point.regression_id == regression.c.id))
            .where(point.repository_id == repository.id, point.condition != Condition.GONE.value)
            .group_by(regression.c.history)
        )
        with self._database.reading() as connection:
            found = {row[0]: (row[1], row[2]) for row in connection.execute(query)}
        history, work = found.get(1, (0, 0)), found.get(0, (0, 0))
        return Sides(history[0], work[0], history[1], work[1])

    def history_among(self, ids: Collection[int]) -> frozenset[int]:
        """Return those of the regressions ``ids`` that are history."""
        query = select(regression.c.id).where(regression.c.history == 1, self._database.among(regression.c.id, "ids"))
        with self._database.reading() as connection:
            return frozenset(connection.execute(query, {"ids": self._database.listed(sorted(ids))}).scalars())

    def _lines(self, repository: Repository, names: Collection[str]) -> dict[str, Line]:
        """Return lines by name; one that is no more stands for the default line."""
        known = self._commits.lines(repository)
        return {name: self._commits.line(repository, name if name in known else "") for name in names}
