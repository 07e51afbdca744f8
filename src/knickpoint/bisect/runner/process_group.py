"""End every process that a command of a worktree left behind, its own group and those that left the group."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["WORKTREE_VARIABLE", "end_group", "end_processes_of"]

WORKTREE_VARIABLE: Final = "KNICKPOINT_WORKTREE"
"""The variable that names the worktree of a command; the processes that it starts inherit it."""

_ROUNDS: Final = 20
"""How often processes are looked for; a process that starts others while it is ended is found in the next round."""

_PROCESSES: Final = Path("/proc")


def end_group(leader: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to the process group of ``leader``; one that has ended is left alone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def end_processes_of(worktree: Path) -> int:
    """End the processes whose environment names ``worktree``, and return how many there were.

    They are what a command started in the background, or what a runner that was killed left running. Where the system
    has no ``/proc``, none are found.
    """
    mark = f"{WORKTREE_VARIABLE}={worktree}".encode(errors="surrogateescape")
    ended: set[int] = set()
    for _ in range(_ROUNDS):
        found = set(_marked(mark)) - {os.getpid()}
        if not found - ended:
            break
        for process in found:
            _end(process, mark)
        ended |= found
    return len(ended)


def _marked(mark: bytes) -> Iterator[int]:
    """Yield the processes with ``mark`` in their environment."""
    with suppress(OSError):
        for name in os.listdir(_PROCESSES):  # noqa: PTH208 - a thousand paths less in each round
            if name.isdecimal() and _has(int(name), mark):
                yield int(name)


def _has(process: int, mark: bytes) -> bool:
    try:
        content = (_PROCESSES / str(process) / "environ").read_bytes()
    except OSError:
        return False
    return mark in content.split(b"\0")


def _end(process: int, mark: bytes) -> None:
    """Kill ``process`` if it still has ``mark``: its number may have gone to another one since it was found."""
    with suppress(OSError):
        handle = os.pidfd_open(process)
        try:
            if _has(process, mark):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
