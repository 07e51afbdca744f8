"""The rows of commits and of their tags: slots, hashes, numbers, releases, and checks of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import commonprefix
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, and_, bindparam, delete, func, or_, select, union_all, update

from knickpoint.model.commit import HASH_DIGITS, NO_TIME, Commit, Repository, SlottedCommit, is_hash, is_number
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.store.array_codec import moment
from knickpoint.store.database import Database
from knickpoint.store.tables import commits as tables
from knickpoint.store.tables.commits import release as table

# Check the names of repositories, commits and lines, and list them for messages.


_MOST_LISTED: Final = 20
"""Names that a message lists."""

_LONGEST_NAME: Final = 1000
"""Bytes of the name of a repository, a commit or a line; an index of PostgreSQL takes 2,700."""


def check_name(what: str, name: str) -> None:
    """Check that an index takes ``name``. Raises ``InputError`` where it is too long."""
    size = len(name.encode(errors="surrogatepass"))
    if size > _LONGEST_NAME:
        raise InputError(
            f"the name of a {what} has {size:,} bytes, more than {_LONGEST_NAME:,}",
            where=f"{name[:40]}…",
            remedy="Give it a shorter name.",
        )


def listed(names: Sequence[str]) -> str:
    """Return the first names for a message."""
    further = len(names) - _MOST_LISTED
    return ", ".join(names[:_MOST_LISTED]) + (f" and {further:,} more" if further > 0 else "") or "none yet"


# Keep the row of each commit: give it a slot when the store first hears of it, and find it by hash or number.
#
# Every results file passes here, so the statements are compiled once: see
# :meth:`~knickpoint.store.database.Database.quick`.


_SHORTEST_PREFIX: Final = 7
"""Digits of the shortest abbreviation of a hash."""

_FIRST_CHARACTER: Final = "!"
_LAST_CHARACTER: Final = "\U0010ffff"
_MOST_DIGITS: Final = 18
"""Digits of a number that surely fits into the 64 bits of its column."""

_LONGEST_FACT: Final = {"author": 500, "email": 500, "subject": 2000, "url": 2000}
"""Characters that are kept of what a commit says about itself: pages show hundreds of commits at a time."""


class CommitRow(NamedTuple):
    """The columns of a commit but for its repository, in the order where the statements of this module select them."""

    slot: int
    hash: str
    number: int | None
    author: str
    email: str
    time: float | None
    subject: str
    parents: str
    url: str

    def commit(self) -> SlottedCommit:
        """Return the commit."""
        time = moment(self.time) if self.time is not None else NO_TIME
        parents = tuple(self.parents.split())
        commit = Commit(self.hash, self.author, self.email, time, self.subject, parents, self.url, self.number)
        return SlottedCommit(self.slot, commit)


@dataclass(frozen=True, slots=True)
class RecordedCommits:
    """What became of commits that the store was given.

    Attributes:
        slots: hash → slot, in the order given.
        new: the slots that the commits had not before.
        retimed: whether a commit that was known has another time now, and so another place in the order.
    """

    slots: Mapping[str, int] = field(default_factory=dict)
    new: frozenset[int] = frozenset()
    retimed: bool = False


_AFTER_ALL: Final = 2**31 - 1
"""A slot above all others."""

_C: Final = tables.commit.c
_SELECT: Final = select(*(_C[name] for name in CommitRow._fields)).where(_C.repository_id == bindparam("owner"))
_WITH_HASH: Final = _SELECT.where(_C.hash == bindparam("named"))
_OWN_HASH: Final = select(_C.hash).where(_C.repository_id == bindparam("owner"))
_BEGINS: Final = and_(
    _C.hash >= bindparam("named"),
    _C.hash < bindparam("last"),
    or_(_C.hash == bindparam("named"), func.length(_C.hash) >= bindparam("shortest")),
)
_WITH_PREFIX: Final = _SELECT.where(_BEGINS).order_by(_C.hash).limit(3)
_BEFORE: Final = (
    _OWN_HASH.where(_C.hash >= bindparam("first"), _C.hash < bindparam("named")).order_by(_C.hash.desc()).limit(1)
)
_NEAR: Final = union_all(
    select(_OWN_HASH.where(_BEGINS).order_by(_C.hash).limit(3).subquery()), select(_BEFORE.subquery())
)
"""The first hashes that begin with a name, and the last one before it."""
_WITH_NUMBER: Final = _SELECT.where(_C.number == bindparam("wanted")).limit(3)
_AT: Final = _SELECT.where(Database.among(_C.slot, "slots"))
_BELOW: Final = _SELECT.where(_C.slot < bindparam("below")).limit(1)
_LATEST_TIMED: Final = _BELOW.where(_C.time.is_not(None)).order_by(_C.time.desc(), _C.hash.desc())
_LATEST_UNTIMED: Final = _BELOW.order_by(_C.hash.desc())
_NEXT_SLOT: Final = select(tables.repository.c.next_slot).where(tables.repository.c.id == bindparam("owner"))
_INSERT: Final = tables.commit.insert()
_TAKE_SLOTS: Final = (
    update(tables.repository).where(tables.repository.c.id == bindparam("owner")).values(next_slot=bindparam("next"))
)


class CommitRows:
    """Hold the rows of commits of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, repository: Repository, commits: Iterable[Commit]) -> RecordedCommits:
        """Give each new commit a slot, and complete what is known of the others.

        Raises:
            InputError: a hash is too long.
            HistoryError: there is no such repository.
        """
        wanted = {commit.hash: commit for commit in commits}
        slots: dict[str, int] = {}
        with self._database.transaction() as connection:
            known = {row.hash: row for row in self._with_hashes(connection, repository, list(wanted))}
            new = [commit for name, commit in wanted.items() if name not in known]
            next_slot = self._next_slot(connection, repository) if new or not wanted else 0
            rows: list[dict[str, object]] = []
            retimed = False
            for name, commit in wanted.items():
                row = known.get(name)
                if row is not None:
                    slots[name] = row.slot
                    retimed |= self._complete(connection, repository, row, commit)
                    continue
                check_name("commit", name)
                slots[name] = next_slot + len(rows)
                rows.append({"repository_id": repository.id, "slot": slots[name], "hash": name, **_facts(commit)})
            if rows:
                self._insert(connection, rows)
                taken = {"owner": repository.id, "next": next_slot + len(rows)}
                self._database.quick(connection, _TAKE_SLOTS, taken)
        return RecordedCommits(slots, frozenset(slots[commit.hash] for commit in new), retimed)

    def at(self, repository: Repository, slots: Sequence[int]) -> list[SlottedCommit]:
        """Return the commits at ``slots``, in any order."""
        if not len(slots):
            return []
        with self._database.reading() as connection:
            rows = self._rows(connection, _AT, repository, slots=self._database.listed(slots))
        return [row.commit() for row in rows]

    def find(self, repository: Repository, revision: str) -> list[SlottedCommit]:
        """Return the commit called ``revision``.

        Or else up to three whose hash it abbreviates, or whose number it is.
        """
        with self._database.reading() as connection:
            if is_hash(revision):
                name = revision.lower()
                rows = self._rows(connection, _WITH_PREFIX, repository, **_beginning(name))
                rows = [row for row in rows if row.hash == name] or rows
            else:
                rows = self._rows(connection, _WITH_HASH, repository, named=revision)
            if not rows and revision.isdecimal() and len(revision) <= _MOST_DIGITS:
                rows = self._rows(connection, _WITH_NUMBER, repository, wanted=int(revision))
        return [row.commit() for row in rows]

    def known(self, repository: Repository, hashes: Sequence[str]) -> set[str]:
        """Return those of ``hashes`` that commits have."""
        with self._database.reading() as connection:
            return {row.hash for row in self._with_hashes(connection, repository, hashes)}

    def match(self, repository: Repository, name: str) -> list[str]:
        """Return the hash ``name`` if a commit has it; or else those that it abbreviates.

        Or else its longest abbreviation.
        """
        values = {"owner": repository.id, "first": name if is_number(name) else name[:_SHORTEST_PREFIX]}
        with self._database.reading() as connection:
            found = self._database.quick(connection, _NEAR, values | _beginning(name)).fetchall()
            longer = [each for (each,) in found if each >= name]
            if longer:
                return [name] if name in longer else longer
            # What is stored last before a hash is its longest abbreviation, or shows how long that is at most.
            while found and not name.startswith(found[0][0]):
                common = commonprefix([name, found[0][0]])  # noqa: RUF071 - of texts, which are not paths
                found = self._database.quick(
                    connection, _BEFORE, values | {"named": common + _FIRST_CHARACTER}
                ).fetchall()
        return [each for (each,) in found]

    def rename(self, repository: Repository, name: str, new: str) -> None:
        """Give the commit called ``name`` the name ``new``."""
        with self._database.transaction() as connection:
            where = (_C.repository_id == repository.id) & (_C.hash == name)
            connection.execute(update(tables.commit).where(where).values(hash=new))

    def latest(self, repository: Repository, below: int | None = None) -> SlottedCommit | None:
        """Return the commit of the latest time (of equal ones that of the greatest hash), None without any.

        ``below`` leaves out the commits that joined the store later: those from this slot on.
        """
        values = {"below": below if below is not None else _AFTER_ALL}
        with self._database.reading() as connection:
            rows = self._rows(connection, _LATEST_TIMED, repository, **values)
            rows = rows or self._rows(connection, _LATEST_UNTIMED, repository, **values)
        return rows[0].commit() if rows else None

    def _with_hashes(
        self, connection: Connection, repository: Repository, hashes: Sequence[str]
    ) -> Iterator[CommitRow]:
        if len(hashes) == 1:
            yield from self._rows(connection, _WITH_HASH, repository, named=hashes[0])
            return
        several = _SELECT.where(_C.hash.in_(bindparam("hashes", expanding=True)))
        for begin in range(0, len(hashes), 1000):
            values = {"owner": repository.id, "hashes": hashes[begin : begin + 1000]}
            yield from (CommitRow(*row) for row in connection.execute(several, values))

    def _rows(self, connection: Connection, query: Any, repository: Repository, **values: object) -> list[CommitRow]:
        found = self._database.quick(connection, query, {"owner": repository.id, **values})
        return [CommitRow._make(row) for row in found.fetchall()]

    def _next_slot(self, connection: Connection, repository: Repository) -> int:
        row = self._database.quick(connection, _NEXT_SLOT, {"owner": repository.id}).fetchone()
        if row is None:
            raise HistoryError(f"there is no repository {repository.name!r}", remedy="Add it first.")
        return int(row[0])

    def _insert(self, connection: Connection, rows: Sequence[Mapping[str, object]]) -> None:
        if len(rows) == 1:
            self._database.quick(connection, _INSERT, rows[0])
        else:
            connection.execute(_INSERT, list(rows))

    def _complete(self, connection: Connection, repository: Repository, row: CommitRow, commit: Commit) -> bool:
        """Fill in what ``row`` lacks; return whether its time changed."""
        facts = _facts(commit)
        known = row._asdict()
        missing = {name: value for name, value in facts.items() if value and not known[name]}
        retimed = _is_better_time(row, commit)
        if retimed:
            missing["time"] = facts["time"]
        if missing:
            where = (_C.repository_id == repository.id) & (_C.slot == row.slot)
            connection.execute(update(tables.commit).where(where).values(missing))
        return retimed


def _beginning(name: str) -> dict[str, object]:
    """Return the values that select the hashes which begin with ``name``; one number begins no other."""
    return {"named": name, "last": name + _LAST_CHARACTER, "shortest": HASH_DIGITS if is_number(name) else 0}


def _facts(commit: Commit) -> dict[str, object]:
    known_time = commit.time.timestamp() or None
    return {
        "number": commit.number,
        "time": known_time,
        "parents": " ".join(commit.parents),
        **{name: getattr(commit, name)[:longest] for name, longest in _LONGEST_FACT.items()},
    }


def _is_better_time(row: CommitRow, commit: Commit) -> bool:
    """Return True if ``commit`` gives the commit of ``row`` another time.

    The time from a description of the commit takes precedence over the time from results that only name it. Of two
    times of the same kind the earlier one counts. So the order in which they come in does not matter.
    """
    time = commit.time.timestamp()
    if not time or time == row.time:
        return False
    is_bare = row.commit().commit.is_bare
    if row.time is None or is_bare is not commit.is_bare:
        return row.time is None or is_bare
    return bool(time < row.time)


# Keep the tags of each repository: which commit a release is, and where the default line has it.


@dataclass(frozen=True, slots=True)
class Release:
    """The full ``hash`` of the commit of a tag, and the slot of the last commit of the default line that it contains.

    That is the commit itself, or where its branch left the line; -1 where they share nothing.
    """

    hash: str
    slot: int


class Releases:
    """Hold the releases area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, repository: Repository) -> dict[str, Release]:
        """Return tag → release."""
        query = select(table.c.name, table.c.hash, table.c.slot).where(table.c.repository_id == repository.id)
        with self._database.reading() as connection:
            return {row.name: Release(row.hash, row.slot) for row in connection.execute(query.order_by(table.c.name))}

    def find(self, repository: Repository, name: str) -> Release | None:
        """Return the release of the tag ``name``, None where there is no such tag."""
        query = select(table.c.hash, table.c.slot).where(table.c.repository_id == repository.id, table.c.name == name)
        with self._database.reading() as connection:
            row = connection.execute(query).fetchone()
        return Release(row.hash, row.slot) if row else None

    def replace(self, repository: Repository, releases: Mapping[str, Release]) -> None:
        """Set all releases of ``repository``; those that are not among ``releases`` are gone."""
        rows = [
            {"repository_id": repository.id, "name": name, "hash": each.hash, "slot": each.slot}
            for name, each in releases.items()
        ]
        with self._database.transaction() as connection:
            connection.execute(delete(table).where(table.c.repository_id == repository.id))
            if rows:
                connection.execute(table.insert(), rows)
