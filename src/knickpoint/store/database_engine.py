"""Make the engine that speaks to the database of a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Engine, NullPool, QueuePool, create_engine, event
from sqlalchemy.engine import URL

from knickpoint.model.errors import StoreError

__all__ = ["BUSY_SECONDS", "BUSY_TIMEOUT", "address_for_reading", "engine_of"]

BUSY_SECONDS: Final = 60
"""How long a writer waits for another one."""

BUSY_TIMEOUT: Final = f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}"
"""Has SQLite wait that long."""

_MAPPED_BYTES: Final = 2**31 - 2**16
"""Bytes of an SQLite file that are read without copying pages; SQLite takes no more by default."""

_LOG_BYTES: Final = 2**26
"""Bytes to which the write-ahead log of an SQLite file is cut back after a large transaction."""

_LIMITS: Final[Mapping[str, str]] = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}
"""When this program gives up a PostgreSQL server that is cut off: seconds, and milliseconds in the last.

They are parameters of libpq, and the address of the store may have others. Without them, the program waits for a quarter of
an hour, and for an address that does not answer without an end.
"""

_LIMITS_OF_SERVER: Final[Mapping[str, str]] = {
    "keepalives_idle": "tcp_keepalives_idle",
    "keepalives_interval": "tcp_keepalives_interval",
    "keepalives_count": "tcp_keepalives_count",
    "tcp_user_timeout": "tcp_user_timeout",
}
"""The settings with which the server gives up this program after the same time.

By default that takes two hours, and a writer that is cut off in its transaction keeps all others waiting as long.
"""


def engine_of(url: URL, where: str) -> Engine:
    """Return the engine for ``url``.

    Raises:
        StoreError: the driver is not installed.
    """
    if url.get_backend_name() != "sqlite":
        return _postgres_engine(url, where)
    file = Path(url.database or "").absolute()
    # What only reads looks at the file anew for each connection: someone else may have begun to write.
    pool = NullPool if _is_read_only(file) else QueuePool
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True, poolclass=pool)
    event.listen(engine, "connect", _prepare_sqlite)

    def connect(_dialect: object, _record: object, arguments: list[str], options: dict[str, object]) -> None:
        if _is_read_only(file):
            arguments[0], options["uri"] = address_for_reading(file), True

    event.listen(engine, "do_connect", connect)
    return engine


def _is_read_only(file: Path) -> bool:
    """Whether there is a file, and it or its directory, where SQLite keeps its log, cannot be written."""
    return file.is_file() and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))


def address_for_reading(file: Path) -> str:
    """Address under which SQLite only reads a file.

    Where it cannot write a log beside it, and no writer has left one, the file is read as one that does not change.
    """
    log = file.with_name(f"{file.name}-wal")
    quiet = _is_read_only(file) and not (log.exists() and log.stat().st_size)
    return f"file:{quote(str(file))}?mode=ro{'&immutable=1' if quiet else ''}"


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

    limits = {name: value for name, value in _LIMITS.items() if name not in url.query}
    engine = create_engine(
        url, connect_args={"cursor_factory": BinaryCursor, **limits}, pool_size=5, max_overflow=20, hide_parameters=True
    )
    given = {name: str(url.query.get(name, value)) for name, value in _LIMITS.items()}

    def set_limits(connection: Any, _record: object) -> None:
        for name, setting in _LIMITS_OF_SERVER.items():
            connection.execute("SELECT set_config(%s, %s, false)", [setting, given[name]])
        connection.commit()

    event.listen(engine, "connect", set_limits)
    return engine
