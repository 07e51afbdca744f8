"""Room for one measurement at a time on this machine, shared by all programs of a user that measure.

A bisection, a schedule and a comparison that run beside each other would measure each other's noise. Each holds a slot
while it measures, whatever its workspace: slot 0 is the first that everyone takes.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

# Lock a file for as long as a process lives, so that a kill leaves no lock behind.


def try_lock(path: Path) -> int | None:
    """Lock ``path`` and return its file descriptor, None where another process or thread holds the lock, or deletes it.

    The operating system releases the lock with the descriptor: when it is closed, or when the process ends in any way.
    Commands that the process starts do not inherit it.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of ``path``; wait while another process or thread holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


_LOOK_SECONDS: Final = 0.2
"""How often a program looks whether a slot that another one holds is free."""


def user_cache() -> Path:
    """Return the directory of Knickpoint in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if cache.startswith("/") else Path.home() / ".cache") / "knickpoint"


@contextmanager
def machine_slot(
    workspace: Path,
    slots: int = 1,
    *,
    of_machine: bool = True,
    given_up: Callable[[], bool] = lambda: False,
    waits: Callable[[], object] = lambda: None,
) -> Iterator[int | None]:
    """Hold one of the first ``slots`` slots of this machine for a ``with``: an open file with a lock.

    The value is None when ``given_up()`` comes first. ``waits`` is called once, where another program holds them all.
    The operating system frees a slot with its last open file. Where ``of_machine`` is false, or without a cache of the
    user, the programs over one workspace share slots there.

    Raises:
        OSError: no file can be made.
    """
    place = _directory(workspace, of_machine=of_machine)
    slot = _wait(place, slots, given_up, waits)
    try:
        yield slot
    finally:
        if slot is not None:
            os.close(slot)


def _directory(workspace: Path, *, of_machine: bool) -> Path:
    try:
        place = user_cache() / "slots"
        if of_machine:
            place.mkdir(parents=True, exist_ok=True)
        if of_machine and os.access(place, os.W_OK | os.X_OK):
            return place
    except (OSError, RuntimeError):
        pass
    place = workspace / "slots"
    place.mkdir(parents=True, exist_ok=True)
    return place


def _wait(place: Path, slots: int, given_up: Callable[[], bool], waits: Callable[[], object]) -> int | None:
    """Wait for a slot and return its open file.

    Who has waited holds the turn until it has a slot: a program that frees its slot and wants it back goes behind.
    """
    pause = threading.Event()
    turn: int | None = None
    announced = False
    try:
        while not given_up():
            turn = try_lock(place / f"turn-{slots}.lock") if turn is None else turn
            for number in range(slots) if turn is not None else ():
                slot = try_lock(place / f"{number}.lock")
                if slot is not None:
                    return slot
            if not announced:
                waits()
                announced = True
            pause.wait(_LOOK_SECONDS)
        return None
    finally:
        if turn is not None:
            os.close(turn)
