"""Make the tables, bring an older store up to date, and say which programs may use a newer one.

A migration that only adds what an older program need not know says ``OLDER_PROGRAMS_GO_ON = True``. So versions of
Knickpoint that are one such migration apart work side by side. All others stop older programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, select, text

from knickpoint.model.errors import StoreError
from knickpoint.store.database import Database
from knickpoint.store.database_engine import make_private_file
from knickpoint.store.tables import metadata
from knickpoint.store.tables.base import schema_support

if TYPE_CHECKING:
    from alembic.script import Script

_STATED: Final = "SELECT version_num FROM alembic_version"

_HAS_REVISION: Final = {
    "sqlite": "SELECT count(*) FROM sqlite_schema WHERE name = 'alembic_version'",
    "postgresql": "SELECT count(to_regclass('alembic_version'))",
}
"""Whether a schema states its revision, asked of each kind of database: SQLAlchemy takes a millisecond to find out."""

_MIGRATIONS: Final = Path(__file__).parent / "migrations"

_NUMBERS: Final = sorted(path.name[:4] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py"))

FIRST: Final = _NUMBERS[0]
"""The revision of a new store before any later migration; the name of a migration begins with its revision."""

HEAD: Final = _NUMBERS[-1]
"""The newest revision."""

_LAST_WITH_OLDER: Final = "5b8f944149"
"""The last commit that brings stores of revisions before :data:`FIRST` up to date."""


def current_revision(connection: Connection) -> str:
    """Return the revision of the schema, "" where there is none."""
    driver: Any = connection.connection.driver_connection
    (has_revision,) = driver.execute(_HAS_REVISION[connection.dialect.name]).fetchone()
    return _stated_revision(connection) if has_revision else ""


def create(database: Database) -> None:
    """Make the tables of a new store.

    Raises:
        StoreError: there is a store already.
    """
    if not create_missing(database):
        raise StoreError("the store already exists", where=database.where, remedy="Open it, or name another place.")


def create_missing(database: Database) -> bool:
    """Make the tables where there is no store yet; False where there is one."""
    if database.embedded:
        make_private_file(Path(database.url.database or ""))
    with database.reading() as connection:
        revision = current_revision(connection)
    if revision:
        return False
    migrate(database)
    return True


def ensure(database: Database) -> None:
    """Check that there is a store, and migrate an older one to the newest schema.

    Raises:
        StoreError: there is no store, its schema is older than the first migration, or a newer version of Knickpoint
            migrated it to what this one cannot use.
    """
    with database.reading() as connection:
        revision = current_revision(connection)
        if not revision:
            raise StoreError("there is no store here", where=database.where, remedy="Make one with knick init.")
        _refuse_newer(database, connection, revision)
    if revision < HEAD:
        migrate(database)


def refuse_newer(database: Database) -> None:
    """Check that this version may still use the store, which a newer one may have migrated.

    For processes that run long.

    Raises:
        StoreError: a newer version of Knickpoint migrated it to what this one cannot use, or it cannot be read.
    """
    with database.reading() as connection:
        _refuse_newer(database, connection, _stated_revision(connection))


def refuse_writing_to_newer(database: Database) -> None:
    """Make each writing transaction fail from now on where a newer version migrated the store beyond this one.

    Migrations take turns with these transactions, so none of them begins before a migration and ends after it.
    """

    def check(connection: Connection) -> None:
        _refuse_newer(database, connection, _stated_revision(connection))

    database.before_writing = check


def refuse_unknown(database: Database, connection: Connection) -> None:
    """Check that this version knows all tables and columns of the store, as it must to copy them.

    Raises:
        StoreError: a newer version of Knickpoint has added some.
    """
    revision = _stated_revision(connection)
    if revision > HEAD:
        raise unknown_schema("the store", database.where, revision)


def _stated_revision(connection: Connection) -> str:
    """Ask the driver itself, which takes a quarter of the time: this is part of every transaction."""
    driver: Any = connection.connection.driver_connection
    (revision,) = driver.execute(_STATED).fetchone() or ("",)
    return str(revision)


def _refuse_newer(database: Database, connection: Connection, revision: str) -> None:
    if revision <= HEAD:
        return
    since = connection.execute(select(schema_support.c.since).where(schema_support.c.revision == revision)).scalar()
    if since is None or since > HEAD:
        raise unknown_schema("the store", database.where, revision)


def unknown_schema(what: str, where: str, revision: str) -> StoreError:
    """Return the error of a store or backup that is newer than :data:`HEAD`, or older than :data:`FIRST`."""
    if revision > HEAD:
        limit, remedy = f"up to {HEAD}", "Upgrade Knickpoint: pip install --upgrade knickpoint."
    else:
        limit = f"{FIRST} and later"
        remedy = (
            f"Bring it up to date with commit {_LAST_WITH_OLDER} of Knickpoint: there, knick doctor upgrades a store,"
            " knick restore a backup, and knick backup writes a file that can be restored here."
        )
    return StoreError(
        f"{what} has schema {revision}, this version of Knickpoint knows {limit}", where=where, remedy=remedy
    )


def triggers() -> frozenset[str]:
    """Return the statements, with single spaces, that make the triggers of an SQLite store; migrations list them."""
    statements = (text for revision in _revisions() for text in getattr(revision.module, "SQLITE_TRIGGERS", ()))
    return frozenset(" ".join(statement.split()) for statement in statements)


def differences(connection: Connection) -> list[str]:
    """Return the differences of a migrated SQLite store from a new one: tables, columns, indexes, keys, triggers."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    context = MigrationContext.configure(connection, opts={"compare_type": False})
    changes = (change[0] if isinstance(change, list) else change for change in compare_metadata(context, metadata))
    described = [f"{change[0].replace('_', ' ')} {getattr(change[-1], 'name', '')}".strip() for change in changes]
    found = connection.execute(text("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")).scalars()
    missing = triggers() - {" ".join(statement.split()) for statement in found}
    return described + [f"add trigger {statement.split()[2]}" for statement in sorted(missing)]


def migrate(database: Database) -> None:
    """Run the missing migrations, all in one transaction.

    Processes that open an older store at the same time take turns, as all writers do; each finds what the one before it
    did.

    Raises:
        StoreError: the schema is older than the first migration, or meanwhile, a newer version of Knickpoint migrated
            it to what this one cannot use.
    """
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    with database.transaction() as connection:
        before = current_revision(connection)
        _refuse_newer(database, connection, before)
        if before > HEAD:
            return
        if before and before < FIRST:
            raise unknown_schema("the store", database.where, before)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        _state_support(connection)


def _state_support(connection: Connection) -> None:
    """Write which programs may use the store: those that know the last migration that stops older ones, or more."""
    revision = current_revision(connection)
    strict = [
        script.revision
        for script in _revisions()
        if script.revision <= revision and not getattr(script.module, "OLDER_PROGRAMS_GO_ON", False)
    ]
    connection.execute(schema_support.delete())
    connection.execute(schema_support.insert().values(revision=revision, since=max(strict)))


def _revisions() -> Iterator[Script]:
    from alembic.script import ScriptDirectory

    return ScriptDirectory(str(_MIGRATIONS)).walk_revisions()
