"""Keep the signed links with which a decision was made, until they expire: each is good for one."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select

from knickpoint.store.database import Database
from knickpoint.store.tables.notifications import used_link as table

__all__ = ["UsedLinks"]


class UsedLinks:
    """Hold the used links of a store; a link is known by a digest of its signature."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def use(self, link: str, who: str, *, now: datetime, expires: datetime) -> bool:
        """Mark ``link`` as used, in the transaction of the decision; return false where it was used before."""
        row = {"link": link, "time": now.timestamp(), "who": who, "expires": expires.timestamp()}
        with self._database.transaction() as connection:
            connection.execute(table.delete().where(table.c.expires < now.timestamp()))
            if self.is_used(link):  # writers take turns
                return False
            connection.execute(table.insert().values(row))
            return True

    def is_used(self, link: str) -> bool:
        """Return whether a decision was made with ``link``."""
        with self._database.reading() as connection:
            return connection.execute(select(table.c.link).where(table.c.link == link)).first() is not None
