"""Make the tables, and bring an older store up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from knickpoint.model.errors import StoreError
from knickpoint.store.database import Database
from knickpoint.store.tables import metadata

__all__ = ["HEAD", "create", "current_revision", "differences", "ensure", "migrate", "refuse_newer", "triggers"]

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
    _refuse_newer(database, revision)
    if revision < HEAD:
        migrate(database)


def refuse_newer(database: Database) -> None:
    """Check that no newer version has migrated the store since it was opened; for processes that run for long.

    Raises:
        StoreError: a newer version of Knickpoint wrote it, or it cannot be read.
    """
    with database.reading() as connection:
        revision = str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")
    _refuse_newer(database, revision)


def _refuse_newer(database: Database, revision: str) -> None:
    if revision > HEAD:
        raise StoreError(
            f"the store has schema {revision}, this version of Knickpoint knows up to {HEAD}",
            where=database.where,
            remedy="Upgrade Knickpoint: pip install --upgrade knickpoint.",
        )


def triggers() -> frozenset[str]:
    """Return the statements, with single spaces, that make the triggers of an SQLite store; migrations list them."""
    from alembic.script import ScriptDirectory

    revisions = ScriptDirectory(str(_MIGRATIONS)).walk_revisions()
    statements = (text for revision in revisions for text in getattr(revision.module, "SQLITE_TRIGGERS", ()))
    return frozenset(" ".join(statement.split()) for statement in statements)


def differences(connection: Connection) -> list[str]:
    """Return what a migrated SQLite store has in other ways than a new one: tables, columns, indexes, keys, triggers."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    context = MigrationContext.configure(connection, opts={"compare_type": False})
    changes = (change[0] if isinstance(change, list) else change for change in compare_metadata(context, metadata))
    described = [f"{change[0].replace('_', ' ')} {getattr(change[-1], 'name', '')}".strip() for change in changes]
    found = connection.execute(text("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")).scalars()
    missing = triggers() - {" ".join(statement.split()) for statement in found}
    return described + [f"add trigger {statement.split()[2]}" for statement in sorted(missing)]


def migrate(database: Database, to: str = "head") -> None:
    """Run the missing migrations up to the revision ``to``, all in one transaction.

    Processes that open an older store at the same time take turns, as all writers do; each finds what the one before it
    did.

    Raises:
        StoreError: meanwhile, a newer version of Knickpoint migrated it.
    """
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    with database.transaction() as connection:
        _refuse_newer(database, current_revision(connection))
        config.attributes["connection"] = connection
        command.upgrade(config, to)
