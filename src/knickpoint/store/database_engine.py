"""Find the database that an address names, and make the engine that speaks to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from knickpoint.model.errors import StoreError
from knickpoint.model.secrets import without_secrets

__all__ = ["BUSY_SECONDS", "BUSY_TIMEOUT", "engine_of", "location_url", "shown"]

BUSY_SECONDS: Final = 60
"""How long a writer waits for another one."""

BUSY_TIMEOUT: Final = f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}"
"""Has SQLite wait that long."""

_MAPPED_BYTES: Final = 2**31 - 2**16
"""Bytes of an SQLite file that are read without copying pages; SQLite takes no more by default."""

_LOG_BYTES: Final = 2**26
"""Bytes to which the write-ahead log of an SQLite file is cut back after a large transaction."""


def location_url(location: str | Path) -> URL:
    """Return the address of a store, which may be the path of a file.

    Raises:
        StoreError: it cannot be read, or names another kind of database.
    """
    plain = str(location)
    if "://" not in plain:
        return URL.create("sqlite", database=plain)
    try:
        url = make_url(plain)
    except (ArgumentError, ValueError):
        raise StoreError(
            "the address of the store cannot be read",
            where=without_secrets(plain),
            remedy="Write it as postgresql://user:password@host:port/name, special characters percent-encoded.",
        ) from None  # the error shows the whole address
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite":
        return url
    raise StoreError(
        f"{url.get_backend_name()!r} is not a database that can hold a store",
        remedy="Give the path of a file, or an address that begins with postgresql://.",
    )


def shown(url: URL) -> str:
    """Return the address of a store for messages: with the user, without password and options, which may hold another."""
    kept = URL.create(url.get_backend_name(), url.username, None, url.host, url.port, url.database)
    return kept.render_as_string()


def engine_of(url: URL, where: str) -> Engine:
    """Return the engine for ``url``.

    Raises:
        StoreError: the driver is not installed.
    """
    if url.get_backend_name() != "sqlite":
        return _postgres_engine(url, where)
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    """Set up a fresh SQLite connection: explicit transactions, WAL, an fsync for each commit."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(BUSY_TIMEOUT)
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
    cursor.execute("PRAGMA trusted_schema = OFF")  # a restored file defines no functions
    cursor.execute("PRAGMA cache_size = -65536")
    cursor.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
    cursor.close()


def _postgres_engine(url: URL, where: str) -> Engine:
    try:
        import psycopg
    except ImportError as error:
        raise StoreError(
            "the driver for PostgreSQL is not installed",
            where=where,
            remedy='Install it with: pip install "knickpoint[postgres]".',
        ) from error

    class BinaryCursor(psycopg.Cursor[Any]):
        """Ask for results in binary form, which halves the bytes of a blob on the wire."""

        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            super().__init__(*arguments, **keywords)
            self.format = psycopg.pq.Format.BINARY

    return create_engine(
        url, connect_args={"cursor_factory": BinaryCursor}, pool_size=5, max_overflow=20, hide_parameters=True
    )
