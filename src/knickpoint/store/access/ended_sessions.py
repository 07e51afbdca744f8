"""Keep which sessions ended before their cookie expires, so that a copied cookie is of no use after a sign-out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from sqlalchemy import or_, select

from knickpoint.store.database import Database
from knickpoint.store.tables.access import ended_session as table

__all__ = ["EndedSessions"]

_ALL: Final = ""
"""The id of the row that ends all sessions that began before a moment."""


class EndedSessions:
    """Hold the sessions area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def end(self, session_id: str, until: datetime) -> bool:
        """End the session with this id, and return whether it had not ended before.

        It need not be kept after ``until``, when its cookie expires.
        """
        times = {"ended": datetime.now(UTC).timestamp(), "until": until.timestamp()}
        insert = self._database.insert(table).values(id=session_id, **times).on_conflict_do_nothing()
        with self._database.transaction(alone=False) as connection:
            return connection.execute(insert).rowcount == 1

    def end_all(self, now: datetime | None = None) -> None:
        """End all sessions that began before ``now``."""
        moment = (now or datetime.now(UTC)).timestamp()
        times = {"ended": moment, "until": moment}
        insert = self._database.insert(table).values(id=_ALL, **times)
        with self._database.transaction(alone=False) as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=["id"], set_=times))

    def ended(self, session_id: str, started: datetime | None = None) -> bool:
        """Return whether the session with this id was ended; ``started`` is when it began, and lets :meth:`end_all` count."""
        ended = table.c.id == session_id
        if started is not None:
            ended = or_(ended, (table.c.id == _ALL) & (table.c.ended > started.timestamp()))
        with self._database.reading() as connection:
            return connection.execute(select(table.c.id).where(ended)).first() is not None

    def forget(self, now: datetime) -> int:
        """Delete the sessions whose cookies have expired at ``now``, and return how many these were."""
        expired = (table.c.until < now.timestamp()) & (table.c.id != _ALL)
        with self._database.transaction(alone=False) as connection:
            return connection.execute(table.delete().where(expired)).rowcount
