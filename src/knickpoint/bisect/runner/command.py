"""Run one command of a step: without a shell, in a process group of its own, with a time limit and bounded output."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, Final

# End every process that a command of a worktree left behind, its own group and those that left the group.


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


_KEPT_OUTPUT: Final = 16_384
"""Bytes of output that are kept, from its end: the error is usually there."""

_LOOK_SECONDS: Final = 0.1
"""How often the limits are looked at while a command prints nothing."""

_GRACE_SECONDS: Final = 2.0
"""How long a command may take to end by itself, after SIGTERM."""

_PIECE: Final = 1 << 16


class Ending(Enum):
    """What ended a command."""

    EXITED = "exited"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    NO_SPACE = "no space"
    NOT_STARTED = "not started"


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """What a command may take: seconds, and the bytes that have to stay free on the disk of its worktree."""

    seconds: float
    least_free: int = 0


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended.

    ``code`` is its exit code, negative for a signal; ``output`` is the end of what it printed.
    """

    ending: Ending
    code: int
    seconds: float
    output: str


def run_command(
    command: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    limits: CommandLimits,
    cancelled: Callable[[], bool],
) -> CommandEnd:
    """Run ``command`` in ``directory`` and return how it ended; no process of it is left then.

    It reads nothing, and its output and errors come in one stream. At a limit, and when ``cancelled`` says so, its
    whole process group is asked to end, and killed where it does not.
    """
    started = time.monotonic()
    try:
        process = subprocess.Popen(  # noqa: S603 - a list of arguments of the user, no shell
            list(command),
            cwd=directory,
            env={**environment, WORKTREE_VARIABLE: str(directory)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return CommandEnd(Ending.NOT_STARTED, 127, 0.0, reason)
    assert process.stdout is not None
    output = _OutputEnd(process.stdout)
    try:
        ending = _wait(process, output, lambda: _reached(directory, limits, cancelled, started))
        seconds = time.monotonic() - started
    finally:
        # Also when this thread is interrupted: nothing of the command may disturb what is measured next.
        end_group(process.pid)
        process.wait()
        end_processes_of(directory)
        output.finish()
    return CommandEnd(ending, process.returncode, seconds, output.text)


def _wait(process: subprocess.Popen[bytes], output: _OutputEnd, reached: Callable[[], Ending | None]) -> Ending:
    """Read the output until the command ends, or ``reached`` names a limit, and return what ended it."""
    while process.poll() is None:
        if not output.read(_LOOK_SECONDS):
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_SECONDS)  # it has closed its output and still runs
        ending = reached()
        if ending is not None:
            _ask_to_end(process, output)
            return ending
    return Ending.EXITED


def _reached(directory: Path, limits: CommandLimits, cancelled: Callable[[], bool], started: float) -> Ending | None:
    """Return the limit that is reached, None where the command may go on."""
    if cancelled():
        return Ending.CANCELLED
    if time.monotonic() - started > limits.seconds:
        return Ending.TIMED_OUT
    if limits.least_free and free_bytes(directory) < limits.least_free:
        return Ending.NO_SPACE
    return None


def free_bytes(directory: Path) -> int:
    """Return the free bytes for this user on the disk of ``directory``."""
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize


def _ask_to_end(process: subprocess.Popen[bytes], output: _OutputEnd) -> None:
    end_group(process.pid, signal.SIGTERM)
    until = time.monotonic() + _GRACE_SECONDS
    while process.poll() is None and time.monotonic() < until:
        if not output.read(_LOOK_SECONDS):
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_SECONDS)


class _OutputEnd:
    """The end of what a command prints.

    The rest is read and forgotten, so that the command never waits for a reader.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._kept = b""
        self._open = True
        os.set_blocking(stream.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(stream, selectors.EVENT_READ)

    def read(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for output, and read what is there; return False once the output is closed."""
        if self._open and self._selector.select(seconds):
            self._take()
        return self._open

    def finish(self) -> None:
        """Read what is left without waiting for more: a process elsewhere may hold the other end."""
        for _ in range(_KEPT_OUTPUT // 256):
            if not self._open or not self._take():
                break
        self._selector.close()
        self._stream.close()

    @property
    def text(self) -> str:
        """The end of the output as text."""
        return self._kept.decode(errors="replace")

    def _take(self) -> bool:
        piece = b""
        with suppress(BlockingIOError):
            piece = os.read(self._stream.fileno(), _PIECE)
            self._open = bool(piece)
        self._kept = (self._kept + piece)[-_KEPT_OUTPUT:]
        return bool(piece)
