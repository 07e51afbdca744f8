"""Make a command slower by a known share, as a program of its own: ``python planting.py pause|repeat AMOUNT COMMAND``.

``pause`` stops the command and continues it, so that it takes AMOUNT times longer than it would: what measures the time
on the clock sees it as more work, in its mean. ``repeat`` runs the first AMOUNT seconds of the command once more before
it runs as a whole: the time of the command as a whole grows by work of its own.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

_BETWEEN_SECONDS: Final = 0.02
"""Mean time between two pauses; it varies, so that no rhythm of the command meets them always or never."""

_SHORTEST_PAUSE: Final = 0.0005


def planting_command(how: str, amount: float) -> tuple[str, ...]:
    """Return the words that start a command slower."""
    return (sys.executable, "-I", str(Path(__file__).resolve()), how, repr(amount))


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _start(command: Sequence[str], *, quiet: bool = False) -> subprocess.Popen[bytes]:
    output = subprocess.DEVNULL if quiet else None
    process = subprocess.Popen(command, process_group=0, stdout=output, stderr=output)  # noqa: S603 - the user's command

    def end(_number: int, _frame: FrameType | None) -> None:
        _signal(process, signal.SIGTERM)
        _signal(process, signal.SIGCONT)

    signal.signal(signal.SIGTERM, end)
    return process


def _pause(command: Sequence[str], share: float) -> int:
    process = _start(command)
    started, paused = time.monotonic(), 0.0
    while process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(random.expovariate(1 / _BETWEEN_SECONDS))
            break
        began = time.monotonic()
        owed = share * (began - started - paused) - paused
        if owed >= _SHORTEST_PAUSE:
            _signal(process, signal.SIGSTOP)
            time.sleep(owed)
            _signal(process, signal.SIGCONT)
            paused += time.monotonic() - began
    return process.wait()


def _repeat(command: Sequence[str], seconds: float) -> int:
    first = _start(command, quiet=True)
    with suppress(subprocess.TimeoutExpired):
        first.wait(seconds)
    _signal(first, signal.SIGKILL)
    first.wait()
    return _start(command).wait()


def main(words: Sequence[str]) -> int:
    """Run the command of ``words`` slower, and return its exit code."""
    how, amount, *command = words
    try:
        code = (_pause if how == "pause" else _repeat)(command, float(amount))
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return 127
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
