"""Keep repositories, give every commit its slot, and keep the lines that order slots.

A *slot* is the number that a commit gets when the store first hears of it. It never changes, so values are stored by
slot. The order of commits does change, when results of old commits come in or a branch is rewritten: it is in the
*lines*, one for each branch, which map positions to slots.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import and_, bindparam, delete, func, or_, select, update

from knickpoint.model.commit import Commit, Line, Repository, SlottedCommit
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.store.array_codec import checked, pack, unpack
from knickpoint.store.commit_rows import CommitRows, RecordedCommits, check_name, listed
from knickpoint.store.database import Database, contains
from knickpoint.store.tables import commits as tables

# The order of a line in bytes: runs of neighbouring slots.
#
# A line of 100,000 commits is a list of as many slots. Most commits come to the store in the order of their line, so
# their slots count upwards, and the list is a few *runs*: a first slot and a length each. What appends to a line, or
# asks whether commits are on it, works on the runs and costs the same for long and for short lines.


@dataclass(frozen=True, slots=True)
class PackedLine:
    """Runs of neighbouring slots, in the order of the line: run i is ``begins[i]`` and ``lengths[i]`` slots long."""

    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of_slots(cls, slots: NDArray[np.int64]) -> Self:
        """Return the runs of ``slots``, oldest first."""
        if not len(slots):
            return cls(slots, slots)
        begins = np.flatnonzero(np.diff(slots, prepend=slots[0] - 2) != 1)
        return cls(slots[begins], np.diff(begins, append=len(slots)))

    @classmethod
    def of_bytes(cls, data: bytes) -> Self:
        """Read what :meth:`to_bytes` wrote."""
        begins, lengths = unpack(data, 2)
        return cls(begins, lengths)

    def to_bytes(self) -> bytes:
        """Return the bytes that the database keeps."""
        return checked(pack(self.begins, self.lengths))

    def slots(self) -> tuple[int, ...]:
        """Return all slots, oldest first."""
        ends = np.cumsum(self.lengths)
        offsets = np.repeat(self.begins - ends + self.lengths, self.lengths)
        return tuple((offsets + np.arange(len(offsets))).tolist())

    def end(self) -> int | None:
        """Return the last slot, None without any."""
        return int(self.begins[-1] + self.lengths[-1]) - 1 if len(self.begins) else None

    def among(self, slots: Sequence[int]) -> set[int]:
        """Return those of ``slots`` that are on the line."""
        if not len(self.begins) or not len(slots):
            return set()
        order = np.argsort(self.begins)
        wanted = np.asarray(slots, dtype=np.int64)
        number = np.searchsorted(self.begins[order], wanted, "right") - 1
        run = order[np.maximum(number, 0)]
        return set(wanted[(number >= 0) & (wanted < self.begins[run] + self.lengths[run])].tolist())

    def appended(self, slots: Sequence[int]) -> PackedLine:
        """Return the line with ``slots`` behind its end."""
        begins, lengths = self.begins.tolist(), self.lengths.tolist()
        for slot in slots:
            if begins and begins[-1] + lengths[-1] == slot:
                lengths[-1] += 1
            else:
                begins.append(slot)
                lengths.append(1)
        return PackedLine(np.array(begins, dtype=np.int64), np.array(lengths, dtype=np.int64))


_REPOSITORY: Final = select(tables.repository.c.id, tables.repository.c.location).where(
    tables.repository.c.name == bindparam("named")
)
_LINES: Final = (
    select(tables.line.c.name, tables.line.c.name == tables.repository.c.default_line)
    .join(tables.repository, tables.repository.c.id == tables.line.c.repository_id)
    .where(tables.line.c.repository_id == bindparam("owner"))
)
_ANY_PAIR: Final = select(tables.order.c.before).where(tables.order.c.repository_id == bindparam("owner")).limit(1)
_LINE: Final = select(tables.line.c.length, tables.line.c.slots).where(
    tables.line.c.repository_id == bindparam("owner"), tables.line.c.name == bindparam("named")
)

_REPOSITORIES: Final = select(tables.repository.c.id, tables.repository.c.name, tables.repository.c.location).order_by(
    tables.repository.c.name
)
_WANTED: Final = func.coalesce(func.nullif(bindparam("named"), ""), tables.repository.c.default_line)
_WHOLE_LINE: Final = (
    select(
        tables.repository.c.next_slot,
        _WANTED.label("wanted"),
        tables.line.c.slots,
        tables.line.c.base,
        tables.line.c.merge_base,
    )
    .outerjoin(tables.line, and_(tables.line.c.repository_id == tables.repository.c.id, tables.line.c.name == _WANTED))
    .where(tables.repository.c.id == bindparam("owner"))
)
"""A line, the default one for the name "", and what is known of the repository where there is no such line."""

_MOST_UNPACKED: Final = 16
"""Lines that are kept unpacked."""


class SlotOrder(NamedTuple):
    """Two commits by slot: the first comes before the second on every line."""

    before: int
    after: int


class _LineRow(NamedTuple):
    """A row of :data:`_WHOLE_LINE`; ``slots`` is None where there is no such line."""

    next_slot: int
    name: str
    slots: bytes | None
    base: str
    merge_base: int


class Commits:
    """Hold the commits area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = CommitRows(database)
        self._unpacked: dict[tuple[Repository, str], tuple[bytes, Line]] = {}

    def add_repository(self, name: str, location: str = "") -> Repository:
        """Return the repository ``name``, which is made if it is new; a given ``location`` replaces an older one.

        Raises:
            InputError: the name is empty, or too long.
        """
        if not name.strip():
            raise InputError("a repository needs a name", remedy="Name it, as in main or owner/project.")
        check_name("repository", name)
        with self._database.transaction() as connection:
            row = self._database.quick(connection, _REPOSITORY, {"named": name}).fetchone()
            if row is None:
                values = {"name": name, "location": location, "default_line": "", "next_slot": 0}
                key = connection.execute(tables.repository.insert().values(values)).inserted_primary_key
                assert key is not None
                return Repository(int(key[0]), name, location)
            number, known_location = row
            if location and location != known_location:
                where = tables.repository.c.id == number
                connection.execute(update(tables.repository).where(where).values(location=location))
            return Repository(number, name, location or known_location)

    def repositories(self) -> list[Repository]:
        """Return all repositories, by name."""
        return list(self._database.read_once("repositories", self._read_repositories))

    def _read_repositories(self) -> tuple[Repository, ...]:
        with self._database.reading() as connection:
            return tuple(Repository(*row) for row in self._database.quick(connection, _REPOSITORIES, {}))

    def repository(self, name: str) -> Repository:
        """Return one repository.

        Raises:
            HistoryError: there is none of that name; the message lists the known ones.
        """
        known = self.repositories()
        for repository in known:
            if repository.name == name:
                return repository
        names = listed([repository.name for repository in known])
        raise HistoryError(f"there is no repository {name!r}", remedy=f"Known repositories: {names}.")

    def add(self, repository: Repository, commits: Iterable[Commit]) -> Mapping[str, int]:
        """Give each commit a slot and return hash → slot, in the order given.

        A known commit keeps its slot. Facts that it lacked (author, time, subject, parents, address, number) are
        filled in; the others stay as they are, except the time. Long ones are cut. The time from a description of the
        commit takes precedence over the time from results that only name it. Of two times of the same kind the earlier
        one counts. So the order in which they come in does not matter.

        Raises:
            InputError: a hash is too long.
        """
        return self.record(repository, commits).slots

    def record(self, repository: Repository, commits: Iterable[Commit]) -> RecordedCommits:
        """Do as :meth:`add`, and say which commits are new and whether a known one has another time now."""
        return self._rows.record(repository, commits)

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
        check_name("line", name)
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
            row = self._database.quick(connection, _LINE, {"owner": repository.id, "named": name}).fetchone()
            if row is None:
                self.set_line(repository, name, slots)
                return
            length, packed = row
            line = PackedLine.of_bytes(packed)
            if len(set(slots)) < len(slots) or line.among(slots):
                raise HistoryError("a commit is on the line twice", where=f"{repository.name}, line {name}")
            longer = line.appended(slots).to_bytes()
            connection.execute(update(table).where(where).values(length=length + len(slots), slots=longer))

    def on_line(self, repository: Repository, name: str, slots: Sequence[int]) -> set[int]:
        """Return those of ``slots`` that are on a line, none for a line that does not exist."""
        with self._database.reading() as connection:
            row = self._database.quick(connection, _LINE, {"owner": repository.id, "named": name}).fetchone()
        return PackedLine.of_bytes(row[1]).among(slots) if row is not None else set()

    def line_end(self, repository: Repository, name: str) -> SlottedCommit | None:
        """Return the last commit of a line, None for an empty line and one that does not exist."""
        with self._database.reading() as connection:
            row = self._database.quick(connection, _LINE, {"owner": repository.id, "named": name}).fetchone()
        end = PackedLine.of_bytes(row[1]).end() if row is not None else None
        return next(iter(self.get(repository, [end])), None) if end is not None else None

    def set_default_line(self, repository: Repository, name: str) -> None:
        """Make ``name`` the default line."""
        self.line(repository, name)
        with self._database.transaction() as connection:
            where = tables.repository.c.id == repository.id
            connection.execute(update(tables.repository).where(where).values(default_line=name))

    def rename_line(self, repository: Repository, name: str, new: str) -> None:
        """Give the line ``name`` the name ``new``; a line of that name is replaced.

        Findings keep the name that the line had when they were found: one that is no more stands for the default line.
        """
        check_name("line", new)
        line, owner = tables.line, tables.repository
        ours = line.c.repository_id == repository.id
        with self._database.transaction() as connection:
            connection.execute(delete(line).where(ours & (line.c.name == new)))
            connection.execute(update(line).where(ours & (line.c.name == name)).values(name=new))
            connection.execute(update(line).where(ours & (line.c.base == name)).values(base=new))
            default = (owner.c.id == repository.id) & (owner.c.default_line == name)
            connection.execute(update(owner).where(default).values(default_line=new))

    def line(self, repository: Repository, name: str = "") -> Line:
        """Return a line, the default one for "".

        A repository without any line has all its commits in the order of their slots as its default.

        Raises:
            HistoryError: there is no line of that name; the message lists the known ones.
        """
        return self._database.read_once(("line", repository, name), lambda: self._read_line(repository, name))

    def _read_line(self, repository: Repository, name: str) -> Line:
        with self._database.reading() as connection:
            row = self._database.quick(connection, _WHOLE_LINE, {"owner": repository.id, "named": name}).fetchone()
        if row is None:
            raise HistoryError(f"there is no repository {repository.name!r}", remedy="Add it first.")
        found = _LineRow._make(row)
        if not found.name:
            return Line(repository, "", tuple(range(found.next_slot)))
        if found.slots is None:
            raise HistoryError(
                f"there is no line {found.name!r}",
                where=repository.name,
                remedy=f"Known lines: {listed(self.lines(repository))}.",
            )
        return self._unpack(repository, found.name, found)

    def _unpack(self, repository: Repository, name: str, found: _LineRow) -> Line:
        """Return the line of a row: the one of before, with its positions, where the row is the same."""
        packed = bytes(found.slots or b"")
        known = self._unpacked.get((repository, name))
        if known is not None:
            before, line = known
            if (before, line.base, line.merge_base) == (packed, found.base, found.merge_base):
                return line
        line = Line(repository, name, PackedLine.of_bytes(packed).slots(), found.base, found.merge_base)
        if len(self._unpacked) >= _MOST_UNPACKED:
            self._unpacked.clear()
        self._unpacked[repository, name] = packed, line
        return line

    def lines(self, repository: Repository) -> tuple[str, ...]:
        """Return the names of all lines, the default one first, the others by name."""
        with self._database.reading() as connection:
            rows = self._database.quick(connection, _LINES, {"owner": repository.id}).fetchall()
        return tuple(name for name, _ in sorted(rows, key=lambda row: (not row[1], row[0])))

    def get(self, repository: Repository, slots: Sequence[int]) -> list[SlottedCommit]:
        """Return the commits at ``slots``, in that order; slots that do not exist are left out."""
        found = {each.slot: each for each in self._rows.at(repository, slots)}
        return [found[slot] for slot in slots if slot in found]

    def times(self, repository: Repository, slots: Sequence[int]) -> NDArray[np.float64]:
        """Return the times of the commits at ``slots`` in seconds since 1970, nan where none is known."""
        table = tables.commit
        query = select(table.c.slot, table.c.time).where(table.c.repository_id == repository.id)
        with self._database.reading() as connection:
            known = {row.slot: row.time for row in connection.execute(query.where(table.c.time.is_not(None)))}
        return np.array([known.get(slot, np.nan) for slot in slots], dtype=np.float64)

    def find(self, repository: Repository, revision: str) -> SlottedCommit | None:
        """Find a commit by its name, a unique abbreviation of its hash (7 digits or more, in any case), or its number.

        Raises:
            HistoryError: more than one commit matches.
        """
        found = self._rows.find(repository, revision)
        _check_only([each.commit.hash for each in found], repository, revision)
        return found[0] if found else None

    def search(self, line: Line, text: str, *, limit: int, among: Collection[int] | None = None) -> list[SlottedCommit]:
        """List the newest ``limit`` commits of ``line`` with all words of ``text`` in hash, author or subject.

        ``among`` leaves out all other slots.
        """
        table = tables.commit.c
        query = select(table.slot).where(table.repository_id == line.repository.id)
        for word in text.split():
            query = query.where(or_(*(contains(column, word) for column in (table.hash, table.author, table.subject))))
        with self._database.reading() as connection:
            found = connection.execute(query).scalars()
            places = (line.positions.get(slot, -1) for slot in found if among is None or slot in among)
            newest = sorted((place for place in places if place >= 0), reverse=True)[:limit]
        return self.get(line.repository, [line.slots[place] for place in newest])

    def match(self, repository: Repository, hashes: Sequence[str]) -> dict[str, str]:
        """Return hash → the hash of its commit: the same, else the one it abbreviates, else its longest abbreviation.

        Raises:
            HistoryError: a hash abbreviates more than one.
        """
        if len(hashes) > 1 and self.latest(repository) is None:
            return {}
        known = self._rows.known(repository, hashes) if len(hashes) > 1 else set()
        found = {}
        for name in hashes:
            matching = [name] if name in known else self._rows.match(repository, name)
            if matching:
                _check_only(matching, repository, name)
                found[name] = matching[0]
        return found

    def lengthen(self, repository: Repository, name: str, full: str) -> None:
        """Give the commit that the store has under the abbreviation ``name`` its full hash."""
        assert full.startswith(name)
        self._rows.rename(repository, name, full)

    def latest(self, repository: Repository, below: int | None = None) -> SlottedCommit | None:
        """Return the commit of the latest time (of equal ones that of the greatest hash), None without any.

        ``below`` leaves out the commits that joined the store later: those from this slot on.
        """
        return self._rows.latest(repository, below)

    def add_order(self, repository: Repository, pairs: Iterable[tuple[int, int]]) -> list[SlotOrder]:
        """Keep that in each pair of slots the first comes before the second; return the pairs that were new."""
        wanted = {pair for pair in pairs if pair[0] != pair[1]}
        if not wanted:
            return []
        table = tables.order
        with self._database.transaction() as connection:
            query = select(table.c.before, table.c.after).where(self._database.among(table.c.before, "slots"))
            query = query.where(table.c.repository_id == repository.id)
            first = self._database.listed(sorted({before for before, _ in wanted}))
            known = {(row.before, row.after) for row in connection.execute(query, {"slots": first})}
            new = [SlotOrder(*pair) for pair in sorted(wanted - known)]
            if new:
                rows = [{"repository_id": repository.id, "before": before, "after": after} for before, after in new]
                connection.execute(table.insert(), rows)
        return new

    def has_order(self, repository: Repository) -> bool:
        """Return True if :meth:`add_order` kept any pair."""
        with self._database.reading() as connection:
            return self._database.quick(connection, _ANY_PAIR, {"owner": repository.id}).fetchone() is not None

    def order(self, repository: Repository) -> list[SlotOrder]:
        """Return all pairs of slots that :meth:`add_order` kept."""
        table = tables.order
        query = select(table.c.before, table.c.after).where(table.c.repository_id == repository.id)
        with self._database.reading() as connection:
            return [SlotOrder(row.before, row.after) for row in connection.execute(query)]


def _check_only(found: Sequence[str], repository: Repository, revision: str) -> None:
    """Raise ``HistoryError`` where ``revision`` was found to name several commits."""
    if len(found) > 1:
        names = ", ".join(name[:16] for name in found[:3])
        raise HistoryError(
            f"{revision!r} fits more than one commit: {names}", where=repository.name, remedy="Give more of it."
        )
