"""Make the tables, and bring an older store up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from knickpoint.model.errors import StoreError
from knickpoint.store.database import Database

__all__ = ["HEAD", "create", "current_revision", "ensure", "migrate"]

_MIGRATIONS: Final = Path(__file__).parent / "migrations"

HEAD: Final = max(path.name[:4] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py"))
"""The newest revision; the name of a migration begins with its revision."""


def current_revision(connection: Connection) -> str:
    """Return the revision of the schema, "" where there is none."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")


def create(database: Database) -> None:
    """Make the tables of a new store.

    Raises:
        StoreError: there is a store already.
    """
    with database.reading() as connection:
        revision = current_revision(connection)
    if revision:
        raise StoreError("there is a store already", where=database.where, remedy="Open it, or name another place.")
    migrate(database)


def ensure(database: Database) -> None:
    """Check that there is a store, and migrate an older one to the newest schema.

    Raises:
        StoreError: there is no store, or a newer version of Knickpoint wrote it.
    """
    with database.reading() as connection:
        revision = current_revision(connection)
    if not revision:
        raise StoreError("there is no store here", where=database.where, remedy="Make one with knick init.")
    if revision > HEAD:
        raise StoreError(
            f"the store has schema {revision}, this version of Knickpoint knows up to {HEAD}",
            where=database.where,
            remedy="Upgrade Knickpoint: pip install --upgrade knickpoint.",
        )
    if revision < HEAD:
        migrate(database)


def migrate(database: Database, to: str = "head") -> None:
    """Run the missing migrations up to the revision ``to``, all in one transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    with database.transaction() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, to)
