"""Number the units as written, and their dimensions.

Results of one key join one trace when their units measure the same thing: ``ms`` and ``s`` are one dimension, and
values convert. The number of a dimension is that of the first unit that had it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from knickpoint.model.unit import Unit, read_unit
from knickpoint.store.database import Database
from knickpoint.store.tables.commits import unit as table


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """A unit with its number and that of its dimension; number 0 is not a unit at all."""

    id: int
    dimension: int
    unit: Unit


class Units:
    """Hold all units of an instance; there are few, and numbers never change."""

    def __init__(self, database: Database) -> None:
        self._by_text: dict[str, StoredUnit] = {}
        self._by_id: dict[int, StoredUnit] = {}
        self._dimensions: dict[str, set[int]] = {}
        self._newest = 0
        database.on_rollback(self.forget)

    def forget(self) -> None:
        """Drop what this process remembers."""
        self._by_text = {}
        self._by_id = {}
        self._dimensions = {}
        self._newest = 0

    def of_texts(self, connection: Connection, texts: Sequence[str]) -> list[StoredUnit]:
        """Return the units written as ``texts``; make those that do not exist."""
        if any(text not in self._by_text for text in texts):
            self._load(connection)
        for text in texts:
            if text in self._by_text:
                continue
            unit = read_unit(text)
            number = self._newest + 1
            stored = StoredUnit(number, min(self._dimensions.get(unit.dimension, (number,))), unit)
            values = {"id": number, "text": text, "dimension": stored.dimension}
            connection.execute(table.insert().values(values))
            self._remember(text, stored)
        return [self._by_text[text] for text in texts]

    def of_id(self, connection: Connection, number: int) -> StoredUnit:
        """Return one unit by its number."""
        if number == 0:
            return StoredUnit(0, 0, read_unit(""))
        if number not in self._by_id:
            self._load(connection)
        return self._by_id[number]

    def same_dimensions(self, dimension: int) -> list[int]:
        """Return all numbers of one dimension, ``dimension`` among them, the oldest first.

        A unit that Knickpoint does not know is a dimension of its own. When a later version learns it, two numbers
        stand for one dimension. ``dimension`` is that of a unit which :meth:`of_texts` returned.
        """
        physical = self._by_id[dimension].unit.dimension
        return sorted(self._dimensions[physical])

    def _load(self, connection: Connection) -> None:
        for row in connection.execute(select(table).order_by(table.c.id)):
            self._remember(row.text, StoredUnit(row.id, row.dimension, read_unit(row.text)))

    def _remember(self, text: str, stored: StoredUnit) -> None:
        self._by_text[text] = self._by_id[stored.id] = stored
        self._dimensions.setdefault(stored.unit.dimension, set()).add(stored.dimension)
        self._newest = max(self._newest, stored.id)
