"""Read the address of a store: the path of a file, or one or more PostgreSQL servers."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from knickpoint.model.errors import StoreError
from knickpoint.model.secrets import without_secrets

__all__ = ["location_url", "make_private_file", "replica_location", "servers_of", "shown"]

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

    Several servers stand as libpq has them, ``postgresql://one:5432,two:5432/name``. Of these, the primary is used unless
    the address says otherwise in ``target_session_attrs``.

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
    """Return the address of a store for messages: with the user, without password and options, which may hold another."""
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
