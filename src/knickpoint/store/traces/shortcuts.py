"""Keep sets of trace keys and formulas under a short id, which is a digest of the set: equal sets have equal ids."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from sqlalchemy import Connection, func, select

from knickpoint.model.errors import InputError
from knickpoint.store.array_codec import stored_json
from knickpoint.store.database import Database
from knickpoint.store.tables.traces import shortcut as table

_LENGTH: Final = 12
"""Characters of an id: 60 bits.

That two of a million shortcuts have the same id is less likely than one in a million.
"""


class Shortcuts:
    """Hold the shortcuts of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entries: Iterable[str], *, most: int | None = None) -> str:
        """Keep a set of trace keys and formulas (a formula begins with ``@``), and return its id; order does not count.

        Raises:
            InputError: the set is empty, an entry is neither a key nor a formula, or ``most`` sets are kept already.
        """
        members = sorted(set(entries))
        if not members:
            raise InputError("a shortcut needs at least one key or formula", remedy="Select a trace first.")
        for entry in members:
            if entry[:1] not in {",", "@"}:
                raise InputError(
                    f"{entry!r} is neither a trace key nor a formula",
                    where="shortcut",
                    remedy="Keys begin with a comma, formulas with an @.",
                )
        content = json.dumps(members, ensure_ascii=False)
        name = base64.b32encode(sha256(content.encode()).digest()).decode().lower()[:_LENGTH]
        with self._database.transaction() as connection:
            known = connection.execute(select(table.c.id).where(table.c.id == name)).scalar()
            if known is None and most is not None and self._count(connection) >= most:
                raise InputError(
                    f"{most:,} shortcuts are kept already",
                    where="shortcut",
                    remedy="Write the query out, or have an admin raise shortcuts of [limits] in knickpoint.toml.",
                )
            insert = self._database.insert(table).values(id=name, content=content, created=time.time())
            connection.execute(insert.on_conflict_do_nothing(index_elements=["id"]))
        return name

    @staticmethod
    def _count(connection: Connection) -> int:
        return int(connection.execute(select(func.count()).select_from(table)).scalar() or 0)

    def get(self, name: str) -> tuple[str, ...]:
        """Return the keys and formulas of a shortcut, sorted.

        Raises:
            InputError: there is none of that id.
        """
        with self._database.reading() as connection:
            content = connection.execute(select(table.c.content).where(table.c.id == name)).scalar()
        if content is None:
            raise InputError(f"there is no shortcut {name!r}", remedy="Ask for the address again.")
        return tuple(stored_json(content))
