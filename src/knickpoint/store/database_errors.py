"""Turn what a database says into an error of Knickpoint, with a remedy."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from knickpoint.budget import deadline_error, remaining_seconds
from knickpoint.model.errors import BusyError, InputError, KnickpointError, StoreError
from knickpoint.store.database_engine import BUSY_SECONDS

__all__ = ["explained"]

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
    """Return whether the disk of the file ``where`` has no room left."""
    try:
        return shutil.disk_usage(Path(where).parent).free < _ROOM
    except OSError:
        return False
