"""Number the units as written, and their dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from knickpoint.model.unit import Unit, read_unit
from knickpoint.store.database import Database
from knickpoint.store.tables.traces import unit as table

__all__ = ["StoredUnit", "Units"]


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """A unit with its number and that of its dimension; number 0 is no unit at all."""

    id: int
    dimension: int
    unit: Unit


class Units:
    """Hold all units of an instance; there are few, and numbers never change."""

    def __init__(self, database: Database) -> None:
        self._by_text: dict[str, StoredUnit] = {}
        self._by_id: dict[int, StoredUnit] = {}
        database.on_rollback(self.forget)

    def forget(self) -> None:
        """Drop what is remembered in this process."""
        self._by_text = {}
        self._by_id = {}

    def of_texts(self, connection: Connection, texts: Sequence[str]) -> list[StoredUnit]:
        """Return the units written as ``texts``, new ones made now."""
        if any(text not in self._by_text for text in texts):
            self._load(connection)
        for text in texts:
            if text in self._by_text:
                continue
            unit = read_unit(text)
            same = [known for known in self._by_id.values() if known.unit.dimension == unit.dimension]
            number = max(self._by_id, default=0) + 1
            stored = StoredUnit(number, same[0].dimension if same else number, unit)
            values = {"id": number, "text": text, "dimension": stored.dimension}
            connection.execute(table.insert().values(values))
            self._by_text[text] = self._by_id[number] = stored
        return [self._by_text[text] for text in texts]

    def of_id(self, connection: Connection, number: int) -> StoredUnit:
        """Return one unit by its number."""
        if number == 0:
            return StoredUnit(0, 0, read_unit(""))
        if number not in self._by_id:
            self._load(connection)
        return self._by_id[number]

    def alike(self, connection: Connection, dimension: int) -> list[int]:
        """Return the other dimensions that are the same by what is known of their units now, the oldest first.

        They were made when one of the units was unknown, which was a dimension of its own then.
        """
        measured = self.of_id(connection, dimension).unit.dimension
        same = {known.dimension for known in self._by_id.values() if known.unit.dimension == measured}
        return sorted(same - {dimension})

    def _load(self, connection: Connection) -> None:
        for row in connection.execute(select(table).order_by(table.c.id)):
            stored = StoredUnit(row.id, row.dimension, read_unit(row.text))
            self._by_text[row.text] = self._by_id[row.id] = stored
