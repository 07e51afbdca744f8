"""Keep the tags of each repository: which commit a release is, and where the default line has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import delete, select

from knickpoint.model.commit import Repository
from knickpoint.store.database import Database
from knickpoint.store.tables.commits import release as table

__all__ = ["Release", "Releases"]


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
