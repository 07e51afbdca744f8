"""Keep profiles beside the runs of commits, each content once, and what they say about changes."""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, func, select

from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import InputError, StoreError
from knickpoint.model.params import decode_key
from knickpoint.store.array_codec import decompressed, stored_json
from knickpoint.store.database import Database
from knickpoint.store.tables.findings import change
from knickpoint.store.tables.points import cause as cause_table
from knickpoint.store.tables.points import profile as table
from knickpoint.store.tables.points import profile_content

_LEVEL: Final = 6
_MOST_NAMED: Final = 500
"""Benchmarks that a question names; more are chosen from all."""


@dataclass(frozen=True, slots=True)
class ProfileWrite:
    """A profile to keep: its commit, the run that it belongs to, its benchmark, and the columns of its content.

    ``params`` is the trace key of the params that were stated beside it, ``size`` the number of bytes of its file.
    """

    slot: int
    identity: str
    benchmark: str
    params: str
    content: bytes
    format: str
    kind: str
    unit: str
    source: str
    size: int


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """A profile without its content, which :meth:`ProfileTable.content` reads by the digest."""

    id: int
    slot: int
    benchmark: str
    params: str
    digest: str
    format: str
    kind: str
    unit: str
    source: str

    def belongs_to(self, key: str) -> bool:
        """Return True if a trace with the key ``key`` is of its benchmark and has its params."""
        params = decode_key(key)
        stated = decode_key(self.params) if self.params else {}
        return params.get("benchmark") == self.benchmark and stated.items() <= params.items()


@dataclass(frozen=True, slots=True)
class StoredCause:
    """What the profiles before and after a change say: in a sentence, and in plain values.

    ``basis`` is the digest of all that it was computed from; the sentence is "" where they say nothing.
    """

    suspect_range: SuspectRange
    basis: str
    sentence: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProfileMark:
    """The number of profiles of a repository, the newest id, and when the last one was written (seconds since 1970)."""

    count: int
    newest: int
    written: float


_COLUMNS: Final = tuple(table.c[name] for name in StoredProfile.__dataclass_fields__)


class ProfileTable:
    """Read and write profiles."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, repository: Repository, profile: ProfileWrite) -> tuple[bool, bool]:
        """Keep a profile in place of an earlier one of the same run; return whether it is new, else another content."""
        digest = hashlib.sha256(profile.content).hexdigest()
        facts = ("slot", "benchmark", "params", "format", "kind", "unit", "source")
        values = {name: getattr(profile, name) for name in facts} | {"digest": digest, "created": time.time()}
        same = (table.c.repository_id == repository.id) & (table.c.identity == profile.identity)
        with self._database.transaction() as connection:
            former = connection.execute(select(table.c.digest).where(same)).scalar()
            if former is None:
                own = {"repository_id": repository.id, "identity": profile.identity}
                connection.execute(table.insert().values(values | own))
            else:
                connection.execute(table.update().where(same).values(values))
            if former != digest:
                data = {"digest": digest, "size": profile.size, "data": zlib.compress(profile.content, _LEVEL)}
                connection.execute(self._database.insert(profile_content).values(data).on_conflict_do_nothing())
            if former not in {None, digest}:
                _drop_unused(connection)
        return former is None, former not in {None, digest}

    def any(self, repository: Repository) -> bool:
        """Return True if there is a profile of the repository."""
        with self._database.reading() as connection:
            found = select(table.c.id).where(table.c.repository_id == repository.id).limit(1)
            return connection.execute(found).first() is not None

    def mark(self, repository: Repository) -> ProfileMark:
        """Return a mark that differs once profiles of a repository were written or deleted."""
        columns = (func.count(), func.coalesce(func.max(table.c.id), 0), func.coalesce(func.max(table.c.created), 0.0))
        with self._database.reading() as connection:
            query = select(*columns).where(table.c.repository_id == repository.id)
            return ProfileMark(*connection.execute(query).one())

    def benchmarks_since(self, repository: Repository, mark: ProfileMark) -> set[str]:
        """Return the benchmarks of the profiles that were written after a mark."""
        query = select(table.c.benchmark).distinct()
        later = (table.c.id > mark.newest) | (table.c.created > mark.written)
        with self._database.reading() as connection:
            return set(connection.execute(query.where(table.c.repository_id == repository.id, later)).scalars())

    def all(self, repository: Repository, benchmarks: Collection[str] | None = None) -> list[StoredProfile]:
        """Return all profiles of a repository, or those of some benchmarks, those that arrived first."""
        query = select(*_COLUMNS).where(table.c.repository_id == repository.id)
        if benchmarks is not None and len(benchmarks) <= _MOST_NAMED:
            query = query.where(table.c.benchmark.in_(sorted(benchmarks)))
        with self._database.reading() as connection:
            found = [_stored(row) for row in connection.execute(query.order_by(table.c.id))]
        return found if benchmarks is None else [each for each in found if each.benchmark in benchmarks]

    def at(self, repository: Repository, slots: Collection[int]) -> list[StoredProfile]:
        """Return the profiles of some commits, those that arrived first."""
        query = select(*_COLUMNS).where(
            table.c.repository_id == repository.id, self._database.among(table.c.slot, "wanted")
        )
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(table.c.id), {"wanted": self._database.listed(sorted(slots))})
            return [_stored(row) for row in rows]

    def content(self, digest: str) -> bytes:
        """Return the columns of a profile.

        Raises:
            StoreError: they are damaged, or gone by the rule of retention.
        """
        with self._database.reading() as connection:
            data = connection.execute(select(profile_content.c.data).where(profile_content.c.digest == digest)).scalar()
        content = None if data is None else decompressed(bytes(data))
        if content is None or hashlib.sha256(content).hexdigest() != digest:
            raise StoreError(
                f"the profile {digest[:12]} is {'gone' if content is None else 'damaged'}",
                remedy="Import it again; knick doctor --deep names what is damaged.",
            )
        return content

    def sizes(self) -> tuple[int, int, int]:
        """Return the number of profiles, the bytes of their files, and the bytes that are kept."""
        contents = select(func.coalesce(func.sum(profile_content.c.size), 0), _kept_bytes())
        with self._database.reading() as connection:
            count = int(connection.execute(select(func.count()).select_from(table)).scalar_one())
            came, kept = connection.execute(contents).one()
        return count, int(came), int(kept)

    def remove(self, ids: Iterable[int]) -> None:
        """Delete profiles, and the contents that no other profile has."""
        where = self._database.among(table.c.id, "gone")
        with self._database.transaction() as connection:
            connection.execute(delete(table).where(where), {"gone": self._database.listed(sorted(ids))})
            _drop_unused(connection)

    def retain(self, line: Line, newest: int, *, keep: Collection[str] = (), dry_run: bool = False) -> int:
        """Delete profiles beyond the newest commits of ``line``, and return how many.

        ``keep`` are the keys of traces whose profiles stay.

        Raises:
            InputError: the rule keeps less than one commit.
        """
        if newest < 1:
            raise InputError("retention needs to keep at least one commit", remedy="Leave the rule out to keep all.")
        old = frozenset(line.slots[: max(0, len(line.slots) - newest)])
        kept: dict[str, list[str]] = {}
        for key in keep:
            kept.setdefault(decode_key(key).get("benchmark", ""), []).append(key)
        gone = [
            each.id
            for each in self.all(line.repository)
            if each.slot in old and not any(map(each.belongs_to, kept.get(each.benchmark, ())))
        ]
        if gone and not dry_run:
            self.remove(gone)
        return len(gone)

    # The causes of changes.

    def forget_causes(self, digests: Iterable[str]) -> None:
        """Delete what some profiles say, because they were removed."""
        with self._database.transaction() as connection:
            for digest in digests:
                connection.execute(delete(cause_table).where(cause_table.c.body.contains(digest)))

    def causes(self, changes: Collection[int]) -> dict[int, StoredCause]:
        """Return change → what its profiles say; those whose suspect range moved since have none."""
        query = select(cause_table).join(change, change.c.id == cause_table.c.change_id)
        query = query.where(
            self._database.among(cause_table.c.change_id, "wanted"),
            *(cause_table.c[name] == change.c[name] for name in ("line", "previous", "slot")),
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, {"wanted": self._database.listed(sorted(changes))})
            return {row.change_id: cause_of(row) for row in rows}

    def put_causes(self, found: Mapping[int, StoredCause]) -> None:
        """Write what profiles say about changes, in place of what they said before."""
        rows = [
            {
                "change_id": key,
                "line": each.suspect_range.line,
                "previous": each.suspect_range.previous,
                "slot": each.suspect_range.slot,
                "basis": each.basis,
                "sentence": each.sentence,
                "body": json.dumps(each.body, ensure_ascii=False, separators=(",", ":")),
            }
            for key, each in found.items()
        ]
        if not rows:
            return
        with self._database.transaction() as connection:
            wanted = {"wanted": self._database.listed(sorted(found))}
            connection.execute(
                delete(cause_table).where(self._database.among(cause_table.c.change_id, "wanted")), wanted
            )
            connection.execute(cause_table.insert(), rows)


def cause_of(row: Row[Any]) -> StoredCause:
    """Read a row of the table of causes."""
    return StoredCause(SuspectRange(row.line, row.previous, row.slot), row.basis, row.sentence, stored_json(row.body))


def _stored(row: Sequence[Any]) -> StoredProfile:
    return StoredProfile(*row)


def _kept_bytes() -> Any:
    return func.coalesce(func.sum(func.length(profile_content.c.data)), 0)


def _drop_unused(connection: Connection) -> None:
    """Delete the contents that no profile has any more."""
    used = select(table.c.id).where(table.c.digest == profile_content.c.digest).exists()
    connection.execute(delete(profile_content).where(~used))
