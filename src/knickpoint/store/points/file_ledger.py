"""The ledger of files: what was seen, what waits for its commit, what was refused and why.

A file is known by the digest of its content and by its source, so that it is read once. A report whose commit is not
known yet waits with its bytes. A refused file is in quarantine with its bytes and the reasons, so that it can be tried
again. The ``options`` of an import are kept as JSON, which :mod:`knickpoint.ingest` alone writes and reads.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import CompoundSelect, Row, bindparam, func, literal, select, union_all

from knickpoint.model.commit import Repository
from knickpoint.model.errors import StoreError
from knickpoint.model.report import Problem, Severity
from knickpoint.store.array_codec import moment, stored_json
from knickpoint.store.database import Database
from knickpoint.store.tables import points as tables

_WAITING_BYTES: Final = 2**30
"""Payloads of waiting reports that one instance keeps; beyond it, a new one is refused."""


class FileState(Enum):
    """The state of a file that was seen; of a REMOVED one, runs were stored and then removed."""

    STORED = "stored"
    WAITING = "waiting"
    QUARANTINED = "quarantined"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file that was seen. ``runs`` counts the runs it held, ``size`` its bytes."""

    source: str
    content_hash: str
    state: FileState
    format: str
    detail: str
    runs: int
    size: int
    changed: datetime


@dataclass(frozen=True, slots=True)
class Waiting:
    """A report that waits until its repository knows ``revision``; ``options`` are those of its import."""

    id: int
    repository_id: int
    revision: str
    identity: str
    source: str
    content_hash: str
    payload: bytes
    created: datetime
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A file that was refused, with the reasons and all that is needed to try again."""

    id: int
    source: str
    content_hash: str
    problems: tuple[Problem, ...]
    payload: bytes
    attempts: int
    changed: datetime
    options: Mapping[str, object] = field(default_factory=dict)


def _waiting_of(row: Row[Any]) -> Waiting:
    return Waiting(
        row.id,
        row.repository_id,
        row.revision,
        row.identity,
        row.source,
        row.content_hash,
        bytes(row.payload),
        moment(row.created),
        stored_json(row.options),
    )


def _quarantined_of(row: Row[Any]) -> Quarantined:
    problems = tuple(
        Problem(stored["message"], stored["where"], stored["remedy"], Severity(stored["severity"]))
        for stored in stored_json(row.problems)
    )
    return Quarantined(
        row.id,
        row.source,
        row.content_hash,
        problems,
        bytes(row.payload),
        row.attempts,
        moment(row.changed),
        stored_json(row.options),
    )


_FILE: Final = select(*(tables.file.c[field.name] for field in fields(FileEntry)))
_KEYS: Final = ("content_hash", "source")
_CHANGING: Final = ("state", "format", "detail", "runs", "size", "changed")
_NEWEST: Final = _FILE.order_by(tables.file.c.changed.desc(), tables.file.c.id.desc()).limit(1)
_OF_SOURCE: Final = _NEWEST.where(tables.file.c.source == bindparam("named"))


@lru_cache(maxsize=8)
def _of_contents(count: int) -> CompoundSelect[Any]:
    """Return the statement for the newest entry of each of ``count`` contents; one statement is one round trip."""
    newest = (_NEWEST.where(tables.file.c.content_hash == bindparam(f"digest_{number}")) for number in range(count))
    return union_all(*(select(each.subquery()) for each in newest))


def _entry_of(row: Sequence[Any]) -> FileEntry:
    """Return the entry of a row of ``_FILE``."""
    source, content_hash, state, format_, detail, runs, size, changed = row
    return FileEntry(source, content_hash, FileState(state), format_, detail, runs, size, moment(changed))


class Ledger:
    """Hold the ledger area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def latest(self, source: str) -> FileEntry | None:
        """Return the newest entry of ``source``, whatever its content."""
        with self._database.reading() as connection:
            row = self._database.quick(connection, _OF_SOURCE, {"named": source}).fetchone()
        return _entry_of(row) if row is not None else None

    def known_as(self, source: str, digests: Sequence[str]) -> list[FileEntry]:
        """Return the newest entry of ``source``, or where it is new those of the same content, one for each digest."""
        with self._database.reading() as connection:
            latest = self.latest(source)
            if latest is not None or not digests:
                return [latest] if latest is not None else []
            named = {f"digest_{number}": digest for number, digest in enumerate(digests)}
            rows = self._database.quick(connection, _of_contents(len(digests)), named).fetchall()
        return sorted(map(_entry_of, rows), key=lambda entry: digests.index(entry.content_hash))

    def record(
        self,
        source: str,
        content_hash: str,
        state: FileState,
        *,
        format: str = "",  # noqa: A002  # the word of the field
        detail: str = "",
        runs: int = 0,
        size: int = 0,
    ) -> None:
        """Write the state of a file; it replaces the entry of the same content and source."""
        values = {
            "source": source,
            "content_hash": content_hash,
            "state": state.value,
            "format": format,
            "detail": detail,
            "runs": runs,
            "size": size,
            "changed": time.time(),
        }
        with self._database.joined() as connection:
            self._database.quick(connection, self._database.replacing(tables.file, _KEYS, _CHANGING), values)

    def mark_removed(self, source: str, detail: str) -> None:
        """Note about the newest content of ``source`` that runs were removed; ``detail`` says how many, and by whom.

        Content in quarantine stays there: it is not what was stored.
        """
        table = tables.file
        newest = select(table.c.id).where(table.c.source == source).order_by(table.c.changed.desc(), table.c.id.desc())
        values = {"state": FileState.REMOVED.value, "detail": detail, "changed": time.time()}
        with self._database.transaction() as connection:
            same = table.c.id == newest.limit(1).scalar_subquery()
            refused = table.c.state == FileState.QUARANTINED.value
            connection.execute(table.update().where(same, ~refused).values(values))

    def removed_since(self, time: datetime) -> bool:
        """Return True if runs of any file were removed after ``time``."""
        table = tables.file
        query = select(table.c.id).where(table.c.state == FileState.REMOVED.value, table.c.changed > time.timestamp())
        with self._database.reading() as connection:
            return connection.execute(query.limit(1)).first() is not None

    def files(self, state: FileState | None = None, *, limit: int = 100) -> list[FileEntry]:
        """Return the newest entries first."""
        table = tables.file
        query = _FILE
        if state is not None:
            query = query.where(table.c.state == state.value)
        with self._database.reading() as connection:
            return [_entry_of(row) for row in connection.execute(query.order_by(table.c.id.desc()).limit(limit))]

    def counts(self) -> dict[FileState, int]:
        """Count the files by state: those that were stored or removed, and those that wait or are in quarantine now."""
        state = tables.file.c.state
        queries = {
            FileState.STORED: select(func.count()).where(state == FileState.STORED.value),
            FileState.REMOVED: select(func.count()).where(state == FileState.REMOVED.value),
            FileState.WAITING: select(func.count()).select_from(tables.waiting),
            FileState.QUARANTINED: select(func.count()).select_from(tables.quarantine),
        }
        with self._database.reading() as connection:
            return {state: int(connection.execute(query).scalar_one()) for state, query in queries.items()}

    def wait(
        self,
        repository: Repository,
        revision: str,
        payload: bytes,
        *,
        identity: str,
        source: str,
        content_hash: str,
        options: Mapping[str, object] | None = None,
    ) -> int:
        """Keep a report until its commit is known; it replaces a waiting one of the same revision and identity.

        Raises:
            StoreError: more than a gibibyte waits already.
        """
        table = tables.waiting
        values = {
            "repository_id": repository.id,
            "revision": revision,
            "identity": identity,
            "source": source,
            "content_hash": content_hash,
            "options": json.dumps(dict(options or {}), sort_keys=True),
            "payload": payload,
            "size": len(payload),
            "created": time.time(),
        }
        with self._database.transaction() as connection:
            same = (
                (table.c.repository_id == repository.id)
                & (table.c.revision == revision)
                & (table.c.identity == identity)
            )
            connection.execute(table.delete().where(same))
            held = int(connection.execute(select(func.sum(table.c.size))).scalar() or 0)
            if held + len(payload) > _WAITING_BYTES:
                raise StoreError(
                    f"{held} bytes of reports already wait for unknown commits",
                    where=source,
                    remedy="Let the repository fetch its commits, or drop what waits: knick ingest status.",
                )
            key = connection.execute(table.insert().values(values)).inserted_primary_key
            assert key is not None
            return int(key[0])

    def waiting(
        self,
        repository: Repository | None = None,
        *,
        number: int | None = None,
        limit: int | None = None,
        payloads: bool = True,
    ) -> list[Waiting]:
        """Return waiting reports, oldest first, or the one with ``number``; without ``payloads`` these are empty."""
        table = tables.waiting
        payload = table.c.payload if payloads else literal(b"").label("payload")
        query = select(*(payload if column.name == "payload" else column for column in table.c))
        if number is not None:
            query = query.where(table.c.id == number)
        if repository is not None:
            query = query.where(table.c.repository_id == repository.id)
        with self._database.reading() as connection:
            return [_waiting_of(row) for row in connection.execute(query.order_by(table.c.id).limit(limit))]

    def release(self, number: int) -> None:
        """Delete a waiting report, in the transaction that stores it."""
        with self._database.transaction() as connection:
            connection.execute(tables.waiting.delete().where(tables.waiting.c.id == number))

    def quarantine(
        self,
        source: str,
        content_hash: str,
        payload: bytes,
        problems: Sequence[Problem],
        *,
        options: Mapping[str, object] | None = None,
    ) -> int:
        """Put a refused file into quarantine with the reasons; another attempt at the same file counts up."""
        table = tables.quarantine
        stored = [
            {"message": p.message, "where": p.where, "remedy": p.remedy, "severity": p.severity.value} for p in problems
        ]
        values = {
            "source": source,
            "content_hash": content_hash,
            "options": json.dumps(dict(options or {}), sort_keys=True),
            "problems": json.dumps(stored),
            "payload": payload,
            "size": len(payload),
            "changed": time.time(),
        }
        with self._database.transaction() as connection:
            insert = self._database.insert(table).values(values | {"attempts": 1})
            again = values | {"attempts": table.c.attempts + 1}
            connection.execute(insert.on_conflict_do_update(index_elements=["content_hash", "source"], set_=again))
            same = (table.c.content_hash == content_hash) & (table.c.source == source)
            return int(connection.execute(select(table.c.id).where(same)).scalar_one())

    def quarantined(self, number: int | None = None, *, payloads: bool = True) -> list[Quarantined]:
        """Return files in quarantine, oldest first, or the one with ``number``.

        Without ``payloads`` these are empty.
        """
        table = tables.quarantine
        payload = table.c.payload if payloads else literal(b"").label("payload")
        query = select(*(payload if column.name == "payload" else column for column in table.c))
        if number is not None:
            query = query.where(table.c.id == number)
        with self._database.reading() as connection:
            return [_quarantined_of(row) for row in connection.execute(query.order_by(table.c.id))]

    def discharge(self, number: int) -> None:
        """Take a file out of quarantine, after it was stored, or because it is given up."""
        with self._database.transaction() as connection:
            connection.execute(tables.quarantine.delete().where(tables.quarantine.c.id == number))
