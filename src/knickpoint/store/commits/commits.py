"""Keep repositories, give every commit its slot, and keep the lines that order slots.

A *slot* is the number that a commit gets when the store first hears of it. It never changes, so values are stored by
slot. The order of commits does change, when results of old commits come in or a branch is rewritten: it is in the
*lines*, one for each branch, which map positions to slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, bindparam, select, update

from knickpoint.model.commit import NO_TIME, Commit, Line, Repository, SlottedCommit
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.store.commits.packed_line import PackedLine
from knickpoint.store.database import Database
from knickpoint.store.tables import commits as tables
from knickpoint.store.timestamps import moment

__all__ = ["Commits", "SlotOrder"]

_SHORTEST_PREFIX: Final = 7
_LAST_CHARACTER: Final = "\U0010ffff"
_MOST_DIGITS: Final = 18
"""Digits of a number that surely fits into the 64 bits of its column."""

_MOST_LISTED: Final = 20
"""Names that a message lists."""

_LONGEST_NAME: Final = 1000
"""Bytes of the name of a repository, a commit or a line; an index of PostgreSQL takes 2,700."""

_LONGEST_FACT: Final = {"author": 500, "email": 500, "subject": 2000, "url": 2000}
"""Characters that are kept of what a commit says about itself: pages show hundreds of commits at a time."""


class SlotOrder(NamedTuple):
    """Two commits by slot: the first comes before the second on every line."""

    before: int
    after: int


def _commit_of(row: Row[Any]) -> SlottedCommit:
    time = moment(row.time) if row.time is not None else NO_TIME
    parents = tuple(row.parents.split())
    commit = Commit(row.hash, row.author, row.email, time, row.subject, parents, row.url, row.number)
    return SlottedCommit(row.slot, commit)


def _facts(commit: Commit) -> dict[str, object]:
    known_time = commit.time.timestamp() or None
    return {
        "number": commit.number,
        "time": known_time,
        "parents": " ".join(commit.parents),
        **{name: getattr(commit, name)[:longest] for name, longest in _LONGEST_FACT.items()},
    }


def _check_name(what: str, name: str) -> None:
    """Check that an index takes ``name``. Raises ``InputError`` where it is too long."""
    size = len(name.encode(errors="surrogatepass"))
    if size > _LONGEST_NAME:
        raise InputError(
            f"the name of a {what} has {size:,} bytes, more than {_LONGEST_NAME:,}",
            where=f"{name[:40]}…",
            remedy="Give it a shorter name.",
        )


def _is_better_time(row: Row[Any], commit: Commit) -> bool:
    """Return whether ``commit`` gives the commit of ``row`` another time, by the rule of :meth:`Commits.retimed`."""
    time = commit.time.timestamp()
    if not time or time == row.time:
        return False
    is_bare = _commit_of(row).commit.is_bare
    if row.time is None or is_bare is not commit.is_bare:
        return row.time is None or is_bare
    return bool(time < row.time)


def _listed(names: Sequence[str]) -> str:
    """Return the first names for a message."""
    further = len(names) - _MOST_LISTED
    return ", ".join(names[:_MOST_LISTED]) + (f" and {further:,} more" if further > 0 else "") or "none yet"


class Commits:
    """Hold the commits area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add_repository(self, name: str, location: str = "") -> Repository:
        """Return the repository ``name``, which is made if it is new; a given ``location`` replaces an older one.

        Raises:
            InputError: the name is empty, or too long.
        """
        if not name.strip():
            raise InputError("a repository needs a name", remedy="Name it, as in main or owner/project.")
        _check_name("repository", name)
        with self._database.transaction() as connection:
            row = connection.execute(select(tables.repository).where(tables.repository.c.name == name)).first()
            if row is None:
                values = {"name": name, "location": location, "default_line": "", "next_slot": 0}
                key = connection.execute(tables.repository.insert().values(values)).inserted_primary_key
                assert key is not None
                return Repository(int(key[0]), name, location)
            if location and location != row.location:
                where = tables.repository.c.id == row.id
                connection.execute(update(tables.repository).where(where).values(location=location))
            return Repository(row.id, name, location or row.location)

    def repositories(self) -> list[Repository]:
        """Return all repositories, by name."""
        table = tables.repository
        with self._database.reading() as connection:
            rows = connection.execute(select(table.c.id, table.c.name, table.c.location).order_by(table.c.name))
            return [Repository(row.id, row.name, row.location) for row in rows]

    def repository(self, name: str) -> Repository:
        """Return one repository.

        Raises:
            HistoryError: there is none of that name; the message lists the known ones.
        """
        known = self.repositories()
        for repository in known:
            if repository.name == name:
                return repository
        names = _listed([repository.name for repository in known])
        raise HistoryError(f"there is no repository {name!r}", remedy=f"Known repositories: {names}.")

    def add(self, repository: Repository, commits: Iterable[Commit]) -> dict[str, int]:
        """Give each commit a slot and return hash → slot, in the order given.

        A known commit keeps its slot. Facts that it lacked (author, time, subject, parents, address, number) are
        filled in; the others stay as they are, except the time: see :meth:`retimed`. Long ones are cut.

        Raises:
            InputError: a hash is too long.
        """
        wanted = {commit.hash: commit for commit in commits}
        slots: dict[str, int] = {}
        with self._database.transaction() as connection:
            known = {row.hash: row for row in self._by_hash(connection, repository, list(wanted))}
            next_slot = self._next_slot(connection, repository)
            added = []
            for name, commit in wanted.items():
                row = known.get(name)
                if row is not None:
                    slots[name] = row.slot
                    self._fill(connection, repository, row, commit)
                    continue
                _check_name("commit", name)
                slots[name] = next_slot
                added.append({"repository_id": repository.id, "slot": next_slot, "hash": name, **_facts(commit)})
                next_slot += 1
            if added:
                connection.execute(tables.commit.insert(), added)
                where = tables.repository.c.id == repository.id
                connection.execute(update(tables.repository).where(where).values(next_slot=next_slot))
        return slots

    def retimed(self, repository: Repository, commits: Iterable[Commit]) -> bool:
        """Return whether :meth:`add` would change the time of a known commit, and so its position.

        The time from a description of the commit takes precedence over the time from results that only name it. Of
        two times of the same kind the earlier one counts. So the order in which they come in does not matter.
        """
        wanted = {commit.hash: commit for commit in commits}
        with self._database.reading() as connection:
            rows = self._by_hash(connection, repository, list(wanted))
            return any(_is_better_time(row, wanted[row.hash]) for row in rows)

    def set_line(
        self, repository: Repository, name: str, slots: Sequence[int], *, base: str = "", merge_base: int = -1
    ) -> None:
        """Set the order of a line, oldest first; it replaces the order before.

        The first base line of a repository becomes its default line.

        Raises:
            HistoryError: a slot repeats, or the name is empty.
            InputError: the name is too long.
        """
        if not name:
            raise HistoryError("a line needs a name", where=repository.name, remedy="Name it after its branch.")
        _check_name("line", name)
        order = np.asarray(slots, dtype=np.int64)
        if len(np.unique(order)) != len(order):
            raise HistoryError("a commit is on the line twice", where=f"{repository.name}, line {name}")
        values = {
            "repository_id": repository.id,
            "name": name,
            "base": base,
            "merge_base": merge_base,
            "length": len(order),
            "slots": PackedLine.of_slots(order).to_bytes(),
        }
        with self._database.transaction() as connection:
            insert = self._database.insert(tables.line).values(values)
            connection.execute(insert.on_conflict_do_update(index_elements=["repository_id", "name"], set_=values))
            if not base:
                where = (tables.repository.c.id == repository.id) & (tables.repository.c.default_line == "")
                connection.execute(update(tables.repository).where(where).values(default_line=name))

    def append_line(self, repository: Repository, name: str, slots: Sequence[int]) -> None:
        """Append ``slots`` to a line; a line that does not exist is made, as by :meth:`set_line`.

        Raises:
            HistoryError: a slot repeats, or is on the line already.
        """
        table = tables.line
        where = (table.c.repository_id == repository.id) & (table.c.name == name)
        with self._database.transaction() as connection:
            row = connection.execute(select(table.c.length, table.c.slots).where(where)).first()
            if row is None:
                self.set_line(repository, name, slots)
                return
            line = PackedLine.of_bytes(row.slots)
            if len(set(slots)) < len(slots) or line.among(slots):
                raise HistoryError("a commit is on the line twice", where=f"{repository.name}, line {name}")
            longer = line.appended(slots).to_bytes()
            connection.execute(update(table).where(where).values(length=row.length + len(slots), slots=longer))

    def on_line(self, repository: Repository, name: str, slots: Sequence[int]) -> set[int]:
        """Return those of ``slots`` that are on a line, none for a line that does not exist."""
        table = tables.line
        query = select(table.c.slots).where(table.c.repository_id == repository.id, table.c.name == name)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return PackedLine.of_bytes(row.slots).among(slots) if row is not None else set()

    def set_default_line(self, repository: Repository, name: str) -> None:
        """Make ``name`` the default line."""
        self.line(repository, name)
        with self._database.transaction() as connection:
            where = tables.repository.c.id == repository.id
            connection.execute(update(tables.repository).where(where).values(default_line=name))

    def line(self, repository: Repository, name: str = "") -> Line:
        """Return a line, the default one for "".

        A repository without any line has all its commits in the order of their slots as its default.

        Raises:
            HistoryError: there is no line of that name; the message lists the known ones.
        """
        table = tables.line
        with self._database.reading() as connection:
            facts = select(tables.repository.c.default_line, tables.repository.c.next_slot)
            row = connection.execute(facts.where(tables.repository.c.id == repository.id)).first()
            if row is None:
                raise HistoryError(f"there is no repository {repository.name!r}", remedy="Add it first.")
            wanted = name or row.default_line
            if not wanted:
                return Line(repository, "", tuple(range(row.next_slot)))
            where = (table.c.repository_id == repository.id) & (table.c.name == wanted)
            found = connection.execute(select(table).where(where)).first()
        if found is None:
            raise HistoryError(
                f"there is no line {wanted!r}",
                where=repository.name,
                remedy=f"Known lines: {_listed(self.lines(repository))}.",
            )
        return Line(repository, wanted, PackedLine.of_bytes(found.slots).slots(), found.base, found.merge_base)

    def lines(self, repository: Repository) -> tuple[str, ...]:
        """Return the names of all lines, the default one first, the others by name."""
        table = tables.line
        with self._database.reading() as connection:
            query = select(table.c.name).where(table.c.repository_id == repository.id).order_by(table.c.name)
            names = list(connection.execute(query).scalars())
            default = connection.execute(
                select(tables.repository.c.default_line).where(tables.repository.c.id == repository.id)
            ).scalar()
        return tuple(sorted(names, key=lambda name: (name != default, name)))

    def get(self, repository: Repository, slots: Sequence[int]) -> list[SlottedCommit]:
        """Return the commits at ``slots``, in that order; slots that do not exist are left out."""
        table = tables.commit
        query = select(table).where(table.c.repository_id == repository.id, self._database.among(table.c.slot, "slots"))
        with self._database.reading() as connection:
            rows = connection.execute(query, {"slots": self._database.listed(slots)}).all()
        found = {row.slot: _commit_of(row) for row in rows}
        return [found[slot] for slot in slots if slot in found]

    def times(self, repository: Repository, slots: Sequence[int]) -> NDArray[np.float64]:
        """Return the times of the commits at ``slots`` in seconds since 1970, nan where none is known."""
        table = tables.commit
        query = select(table.c.slot, table.c.time).where(table.c.repository_id == repository.id)
        with self._database.reading() as connection:
            known = {row.slot: row.time for row in connection.execute(query.where(table.c.time.is_not(None)))}
        return np.array([known.get(slot, np.nan) for slot in slots], dtype=np.float64)

    def find(self, repository: Repository, revision: str) -> SlottedCommit | None:
        """Find a commit by its full hash, a unique prefix of at least 7 characters, or its number.

        Raises:
            HistoryError: more than one commit matches.
        """
        table = tables.commit
        here = table.c.repository_id == repository.id
        with self._database.reading() as connection:
            row = connection.execute(select(table).where(here, table.c.hash == revision)).first()
            if row is not None:
                return _commit_of(row)
            rows: list[Row[Any]] = []
            if len(revision) >= _SHORTEST_PREFIX:
                between = (table.c.hash >= revision) & (table.c.hash < revision + _LAST_CHARACTER)
                rows = list(connection.execute(select(table).where(here, between).limit(3)))
            if not rows and revision.isdecimal() and len(revision) <= _MOST_DIGITS:
                rows = list(connection.execute(select(table).where(here, table.c.number == int(revision)).limit(3)))
        if len(rows) > 1:
            names = ", ".join(row.hash[:16] for row in rows)
            raise HistoryError(
                f"{revision!r} fits more than one commit: {names}", where=repository.name, remedy="Give more of it."
            )
        return _commit_of(rows[0]) if rows else None

    def latest(self, repository: Repository) -> SlottedCommit | None:
        """Return the commit of the latest time (of equal ones that of the greatest hash), None without any."""
        table = tables.commit
        order = (table.c.time.desc().nulls_last(), table.c.hash.desc())
        query = select(table).where(table.c.repository_id == repository.id).order_by(*order).limit(1)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return _commit_of(row) if row is not None else None

    def add_order(self, repository: Repository, pairs: Iterable[tuple[int, int]]) -> list[SlotOrder]:
        """Keep that in each pair of slots the first comes before the second; return the pairs that were new."""
        wanted = {pair for pair in pairs if pair[0] != pair[1]}
        if not wanted:
            return []
        table = tables.order
        with self._database.transaction() as connection:
            query = select(table.c.before, table.c.after).where(self._database.among(table.c.before, "slots"))
            query = query.where(table.c.repository_id == repository.id)
            listed = self._database.listed(sorted({before for before, _ in wanted}))
            known = {(row.before, row.after) for row in connection.execute(query, {"slots": listed})}
            new = [SlotOrder(*pair) for pair in sorted(wanted - known)]
            if new:
                rows = [{"repository_id": repository.id, "before": before, "after": after} for before, after in new]
                connection.execute(table.insert(), rows)
        return new

    def order(self, repository: Repository) -> list[SlotOrder]:
        """Return all pairs of slots that :meth:`add_order` kept."""
        table = tables.order
        query = select(table.c.before, table.c.after).where(table.c.repository_id == repository.id)
        with self._database.reading() as connection:
            return [SlotOrder(row.before, row.after) for row in connection.execute(query)]

    def _next_slot(self, connection: Connection, repository: Repository) -> int:
        query = select(tables.repository.c.next_slot).where(tables.repository.c.id == repository.id)
        slot = connection.execute(query).scalar()
        if slot is None:
            raise HistoryError(f"there is no repository {repository.name!r}", remedy="Add it first.")
        return int(slot)

    def _by_hash(self, connection: Connection, repository: Repository, hashes: list[str]) -> Iterable[Row[Any]]:
        table = tables.commit
        query = select(table).where(table.c.repository_id == repository.id)
        query = query.where(table.c.hash.in_(bindparam("hashes", expanding=True)))
        for begin in range(0, len(hashes), 1000):
            yield from connection.execute(query, {"hashes": hashes[begin : begin + 1000]})

    def _fill(self, connection: Connection, repository: Repository, row: Row[Any], commit: Commit) -> None:
        known = row._mapping  # noqa: SLF001  # the documented way to a column by name
        facts = _facts(commit)
        missing = {name: value for name, value in facts.items() if value and not known[name]}
        if _is_better_time(row, commit):
            missing["time"] = facts["time"]
        if missing:
            where = (tables.commit.c.repository_id == repository.id) & (tables.commit.c.slot == row.slot)
            connection.execute(update(tables.commit).where(where).values(missing))
