"""The audit log: entries that are added, never changed, and deleted by age only.

Triggers of the database hold to that as well: they refuse every UPDATE, and the DELETE of an entry that is not older than
the time in ``audit_retention``. :meth:`AuditLog.delete_before` is the only code that moves this time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Row, delete, select

from knickpoint.model.audit import AuditEntry, AuditKind
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import plain_line
from knickpoint.store.access.damaged_rows import naming_the_row, texts_of
from knickpoint.store.database import Database
from knickpoint.store.tables.access import audit_entry as table
from knickpoint.store.tables.access import audit_retention
from knickpoint.store.timestamps import moment

__all__ = ["AuditLog", "acting_from"]

_LONGEST_NAME: Final = 320
"""Characters of a name or an address that are kept; a mail address has at most 320."""

_LONGEST_ABOUT: Final = 2000
"""Characters of the text of an entry that are kept."""

_ADDRESS: ContextVar[str] = ContextVar("address", default="")
"""Where the request comes from that is being answered; "" for a command or the worker."""


@contextmanager
def acting_from(address: str) -> Iterator[None]:
    """Give the entries that the block adds the network address of its request, so that no rule has to pass it on."""
    token = _ADDRESS.set(address)
    try:
        yield
    finally:
        _ADDRESS.reset(token)


class AuditLog:
    """Hold the audit area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, kind: AuditKind, who: str, about: str, *, time: datetime | None = None) -> AuditEntry:
        """Add an entry, inside the transaction of what it records where there is one.

        :func:`acting_from` says which network address it has.

        Texts are cut to a line of bounded length, with control characters escaped: they may come from anywhere.

        Raises:
            InputError: ``who`` is empty.
        """
        if not who.strip():
            raise InputError("an audit entry needs the name of who acted", remedy="Pass the name of the caller.")
        row: dict[str, object] = {
            "time": (time or datetime.now(UTC)).timestamp(),
            "kind": kind.value,
            "who": plain_line(who, _LONGEST_NAME),
            "about": plain_line(about, _LONGEST_ABOUT),
            "address": plain_line(_ADDRESS.get(), _LONGEST_NAME),
        }
        with self._database.transaction(alone=False) as connection:
            result = connection.execute(table.insert().values(row).returning(table))
            return _entry_of(result.one())

    def entries(
        self,
        *,
        before_id: int | None = None,
        kind: AuditKind | None = None,
        who: str = "",
        since: datetime | None = None,
        limit: int = 200,
    ) -> list[AuditEntry]:
        """Return the newest ``limit`` entries, the newest first: those before an id, of a kind, of a name, since a time.

        Raises:
            StoreError: an entry cannot be read.
        """
        query = select(table).order_by(table.c.id.desc()).limit(limit)
        if before_id is not None:
            query = query.where(table.c.id < before_id)
        if kind is not None:
            query = query.where(table.c.kind == kind.value)
        if who:
            query = query.where(table.c.who == plain_line(who, _LONGEST_NAME))
        if since is not None:
            query = query.where(table.c.time >= since.timestamp())
        with self._database.reading() as connection:
            return [_entry_of(row) for row in connection.execute(query)]

    def delete_before(self, time: datetime) -> int:
        """Delete the entries older than ``time``, and return how many these were."""
        seconds = time.timestamp()
        with self._database.transaction() as connection:
            connection.execute(delete(audit_retention))
            connection.execute(audit_retention.insert().values(before=seconds))
            return connection.execute(delete(table).where(table.c.time < seconds)).rowcount


def _entry_of(row: Row[Any]) -> AuditEntry:
    """Return the entry that a row of the table describes.

    Raises:
        StoreError: something else than :meth:`AuditLog.append` wrote the row.
    """
    with naming_the_row(f"entry {row.id} of the audit log"):
        who, about, address = texts_of([row.who, row.about, row.address])
        return AuditEntry(row.id, moment(row.time), AuditKind(row.kind), who, about, address)
