"""End a session of processes: all that descends from a program, whatever groups it made."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROCESSES: Final = Path("/proc")
_ROUNDS: Final = 20
"""A process that forks while its session ends shows in the next round."""


def session_members(session: int) -> tuple[int, ...]:
    """Return the processes of a session that run; without ``/proc`` the leader of the session, if it runs."""
    if not (_PROCESSES / "self" / "stat").exists():
        return (session,) if _runs(session) else ()
    found = []
    for entry in _PROCESSES.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                # pid (name, which may have any characters) state parent group session …
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] not in {"Z", "X"}:
                    found.append(int(entry.name))
    return tuple(found)


def end_session(session: int, *, spare: int = 0) -> None:
    """Kill all processes of a session but ``spare``.

    The leader of the session is this process, or a child that is not waited for yet, so that its number is no other's.
    """
    for _ in range(_ROUNDS):
        members = [member for member in session_members(session) if member != spare]
        if not members:
            return
        for member in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(member, signal.SIGKILL)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
