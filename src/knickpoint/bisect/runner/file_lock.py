"""Lock a file for as long as a process lives, so that a kill leaves no lock behind."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["locked", "try_lock"]


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
