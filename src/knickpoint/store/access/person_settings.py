"""Keep what people who sign in set for themselves in the dashboard."""

from __future__ import annotations

import time

from sqlalchemy import select

from knickpoint.model.access import Caller
from knickpoint.store.database import Database
from knickpoint.store.tables.people import person_setting as table

__all__ = ["PersonSettings"]


class PersonSettings:
    """Hold the settings of people, by the name that they sign in with."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, person: Caller) -> dict[str, str]:
        """Return the settings of a person, by name."""
        query = select(table.c.name, table.c.value).where(
            table.c.provider == person.provider, table.c.person == person.name
        )
        with self._database.reading() as connection:
            return {row.name: row.value for row in connection.execute(query.order_by(table.c.name))}

    def put(self, person: Caller, name: str, value: str) -> None:
        """Keep one setting of a person, in place of the former one."""
        row = {"provider": person.provider, "person": person.name, "name": name}
        values = {"value": value, "changed": time.time()}
        insert = self._database.insert(table).values(**row, **values)
        with self._database.transaction() as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=list(row), set_=values))
