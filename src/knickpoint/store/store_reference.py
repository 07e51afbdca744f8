"""Name a store to another process or machine, which opens it to read.

Work that is sent elsewhere carries the name of its store instead of values. The name of a server may mean another server on
another machine, so a reference has what tells stores apart, and is refused where that differs.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy import text

from knickpoint.model.better import Better
from knickpoint.model.direction import DirectionRule
from knickpoint.model.errors import StoreError
from knickpoint.store import schema
from knickpoint.store.database import Database
from knickpoint.store.store import Store

__all__ = ["StoreReference", "close_references", "open_reference", "refer_to_file", "refer_to_server"]

_REFUSED_SECONDS: Final = 60.0
"""How long a store that could not be opened is not tried again: an address that nobody answers at takes seconds."""

_MOST_OPEN: Final = 4
"""Stores that a process keeps open; a reference changes with the directions of the instance."""

_SYSTEM: Final = text("SELECT system_identifier::text FROM pg_control_system()")


@dataclass(frozen=True, slots=True)
class StoreReference:
    """The address of a store, with its password, and what else its reader needs to read the same.

    ``system`` is the identifier of the PostgreSQL cluster, which its standbys share; "" for a file. ``directions`` are the
    rules of the configuration that say which direction is better, ``kept`` the traces that keep another one.
    """

    location: str = field(repr=False)
    system: str
    directions: tuple[DirectionRule, ...]
    kept: tuple[tuple[int, Better], ...] = ()


def refer_to_file(store: Store) -> StoreReference | None:
    """Return what names an embedded ``store`` to processes of this machine, None where they would read something else.

    They do not see what an open transaction has written.
    """
    database = store.database
    path = Path(database.url.database or "").absolute()
    if not database.embedded or database.connection is not None or not path.is_file():
        return None
    return StoreReference(str(path), "", store.traces.directions, store.traces.kept_directions)


def refer_to_server(store: Store) -> StoreReference | None:
    """Return what names a ``store`` on PostgreSQL to other machines, None where they would read something else."""
    database = store.database
    if database.embedded or database.connection is not None:
        return None
    location = database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    return StoreReference(location, _system(database), store.traces.directions, store.traces.kept_directions)


def _system(database: Database) -> str:
    with database.reading() as connection:
        return str(connection.execute(_SYSTEM).scalar_one())


_lock: Final = threading.Lock()
_open: OrderedDict[StoreReference, Store] = OrderedDict()
_refused: dict[StoreReference, tuple[float, StoreError]] = {}


def open_reference(reference: StoreReference) -> Store:
    """Return the store that ``reference`` names; a process opens it once, and keeps it open. Nothing is migrated.

    Raises:
        StoreError: it cannot be reached from here, is another one, or has a schema that this version does not know.
    """
    with _lock:
        if reference in _open:
            _open.move_to_end(reference)
            return _open[reference]
        since, refused = _refused.get(reference, (0.0, None))
        if refused is not None and time.monotonic() - since < _REFUSED_SECONDS:
            raise refused
        try:
            store = _opened(reference)
        except StoreError as error:
            _refused[reference] = time.monotonic(), error
            raise
        _refused.pop(reference, None)
        _open[reference] = store
        while len(_open) > _MOST_OPEN:
            _open.popitem(last=False)[
                1
            ].close()  # who reads it right now keeps the connection until the end of the read
        return store


def close_references() -> None:
    """Close all stores that this process has opened by their references."""
    with _lock:
        while _open:
            _open.popitem()[1].close()


def _opened(reference: StoreReference) -> Store:
    database = Database(reference.location)
    try:
        _check_same(reference, database)
        schema.refuse_newer(database)
    except BaseException:
        database.close()
        raise
    store = Store(database)
    store.traces.set_directions(reference.directions)
    store.traces.keep_directions(dict(reference.kept))
    return store


def _check_same(reference: StoreReference, database: Database) -> None:
    if database.embedded and not Path(reference.location).is_file():
        raise StoreError("there is no store here", where=database.where)
    if reference.system and _system(database) != reference.system:
        raise StoreError("another server answers at the address of the store", where=database.where)
