"""The way to a database: its address, the engine that speaks to it, and its errors with a remedy."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Engine, NullPool, QueuePool, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from knickpoint.budget import deadline_error, remaining_seconds
from knickpoint.model.errors import BusyError, InputError, KnickpointError, StoreError
from knickpoint.model.plain_text import without_secrets

# Make the engine that speaks to the database of a store.


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

They are parameters of libpq, and the address of the store may have others. Without them, the program waits for a
quarter of an hour, and for an address that does not answer without an end.
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


# Turn what a database says into an error of Knickpoint, with a remedy.


_ROOM: Final = 1_000_000
"""Bytes that a disk has left at least, unless it is full."""

_STOPPED: Final = ("interrupted", "statement timeout")
"""What the databases say of a statement whose time was up."""

_REMEDIES: Final = (
    ("disk is full", "The disk is full", "Make room on the disk that holds the store, then try again."),
    ("no space left", "The disk is full", "Make room on the disk that holds the store, then try again."),
    ("disk full", "The disk is full", "Make room on the disk that holds the store, then try again."),
    (
        "during recovery",
        "The database server is a standby, which cannot be written",
        "Name all servers in [store], as in postgresql://db-1,db-2/knickpoint, so that the primary is used.",
    ),
    (
        "session is read-only",
        "None of the database servers is a primary",
        "Start the primary, or promote the standby.",
    ),
    ("readonly", "The store cannot be written", "Check the owner and the mode of the file and of its directory."),
    ("read-only", "The store cannot be written", "Check the owner and the mode of the file and of its directory."),
    ("unable to open", "The store cannot be opened", "Check that the path exists and that you may read and write it."),
    ("not a database", "The file is not a store", "Name another file, or make a store with knick init."),
    ("malformed", "The store is damaged", "Restore the newest backup with knick restore."),
    ("disk i/o error", "The disk reports an error", "Check the disk; then restore a backup with knick restore."),
    ("connection refused", "The database server does not answer", "Start the server, or correct the address."),
    ("timeout expired", "The database server does not answer", "Start the server, or correct the address."),
    ("password", "The database server refuses the sign-in", "Correct the user and the password in the address."),
    ('database "', "The database cannot be reached", "Make it with createdb, and the store with knick init."),
    ('relation "', "The store lacks a table", "Make the store with knick init."),
)


def explained(reason: str, where: str) -> KnickpointError:
    """Return the error for the message ``reason`` of the database at ``where``."""
    lowered = reason.lower()
    if "index row" in lowered:  # PostgreSQL takes 2,700 bytes
        return InputError("a name is too long to be stored", remedy="Give it a name of at most 1,000 bytes.")
    if remaining_seconds() is not None and any(sign in lowered for sign in _STOPPED):
        return deadline_error()
    if "locked" in lowered or "lock timeout" in lowered or "deadlock" in lowered:
        return BusyError(
            f"another writer has kept the store for {BUSY_SECONDS} seconds",
            where=where,
            remedy="Wait for the other import or worker to end, then try again.",
        )
    if "disk i/o error" in lowered and _is_full(where):
        lowered = "disk full"  # SQLite needs room beside the store to read it, and says of a disk without any what it says of a broken one
    for sign, what, remedy in _REMEDIES:
        if sign in lowered:
            return StoreError(f"{what} ({reason.strip()})", where=where, remedy=remedy)
    return StoreError(f"the database says: {reason.strip()}", where=where)


def _is_full(where: str) -> bool:
    """Return True if the disk of the file ``where`` has no room left."""
    try:
        return shutil.disk_usage(Path(where).parent).free < _ROOM
    except OSError:
        return False


# Read the address of a store: the path of a file, or one or more PostgreSQL servers.


_SEVERAL_HOSTS: Final = re.compile(
    r"(?P<before>postgresql[^:/]*://(?:[^/?]*@)?)(?P<hosts>[^@/?]*,[^@/?]*)(?P<after>(?:[/?].*)?)", re.DOTALL
)
_NO_SERVER: Final = frozenset("/?#@, ")
"""Characters of an address that no name of a single server has."""

_SERVER_OPTIONS: Final = frozenset({"host", "port", "hostaddr", "target_session_attrs"})
"""The options of an address that say which server is used."""

_REPLICA_LIMITS: Final = {
    "connect_timeout": "2",
    "keepalives_idle": "1",
    "keepalives_interval": "1",
    "keepalives_count": "2",
    "tcp_user_timeout": "3000",
}
"""When a replica is given up: sooner than the primary, which answers in its place."""

_HOST: Final = re.compile(r"(\[(?P<literal>[^\]]+)\]|(?P<name>[^:\[\]]+))(:(?P<port>\d+))?")


def make_private_file(path: Path) -> None:
    """Make an empty file that only its owner may read, for SQLite to write into; where that fails, SQLite says why."""
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def location_url(location: str | Path) -> URL:
    """Return the address of a store, which may be the path of a file.

    Several servers stand as libpq has them, ``postgresql://one:5432,two:5432/name``. Of these, the primary is used
    unless the address says otherwise in ``target_session_attrs``.

    Raises:
        StoreError: it cannot be read, or names another kind of database.
    """
    plain = str(location)
    if "://" not in plain:
        return URL.create("sqlite", database=plain)
    try:
        url = _address(plain)
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
    """Return the address of a store for messages: with the user, without password and options."""
    kept = URL.create(url.get_backend_name(), url.username, None, url.host, url.port, url.database)
    names = _several(url)
    if not names:
        return kept.render_as_string()
    user, at, rest = kept.render_as_string().partition("://")[2].rpartition("@")
    return f"{url.get_backend_name()}://{user}{at}{','.join(names)}{rest}"


def servers_of(location: str | Path) -> list[str]:
    """Return the servers that an address names, each as ``host`` or ``host:port``; none for a file or a single server.

    Raises:
        StoreError: the address cannot be read.
    """
    url = location_url(location)
    return _several(url) if url.get_backend_name() == "postgresql" else []


def _several(url: URL) -> list[str]:
    """Return the names of several servers with their ports, none where there is one."""
    hosts = url.query.get("host", "")
    names = hosts.split(",") if isinstance(hosts, str) else list(hosts)
    if url.host or len(names) < 2:
        return []
    ports = str(url.query.get("port", "")).split(",")
    if len(ports) == len(names):
        return [_joined(name, port) for name, port in zip(names, ports, strict=True)]
    return names


def replica_location(location: str | Path, server: str) -> str:
    """Return the address of the same store on another server, ``host`` or ``host:port``.

    User, password, database and options are those of ``location``; without a port, PostgreSQL's own is used.

    Raises:
        StoreError: ``location`` is not on PostgreSQL, or the server cannot be read.
    """
    url = location_url(location)
    found = _HOST.fullmatch(server.strip())
    if url.get_backend_name() != "postgresql" or found is None or not _NO_SERVER.isdisjoint(server):
        raise StoreError(
            f"{server!r} cannot be a replica of the store",
            where=without_secrets(str(location)),
            remedy="A store on PostgreSQL has replicas: write each as host or host:port.",
        )
    host, port = found["literal"] or found["name"], int(found["port"] or 5432)
    options = {name: value for name, value in url.query.items() if name not in _SERVER_OPTIONS}
    named = url.set(drivername="postgresql", host=host, port=port, query={**_REPLICA_LIMITS, **options})
    return named.render_as_string(hide_password=False)


def _address(plain: str) -> URL:
    """Return the address ``plain``, with several servers in the form of SQLAlchemy."""
    several = _SEVERAL_HOSTS.fullmatch(plain)
    if several is None:
        return make_url(plain)
    hosts = [_HOST.fullmatch(part.strip()) for part in several["hosts"].split(",")]
    found = [host for host in hosts if host is not None]
    if len(found) < len(hosts):
        raise ValueError("one of several servers cannot be read")
    names = ",".join(host["literal"] or host["name"] for host in found)
    servers = {"host": names, "port": ",".join(host["port"] or "5432" for host in found)}
    url = make_url(several["before"] + several["after"])
    if url.host:  # a password with a plain @
        raise ValueError("the servers and the password cannot be separated")
    return url.set(query={"target_session_attrs": "read-write", **url.query, **servers})


def _joined(name: str, port: str) -> str:
    host = f"[{name}]" if ":" in name else name
    return f"{host}:{port}" if port else host
