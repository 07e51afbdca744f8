"""Run one probe in a process of its own, with a session of its own, and end all of it."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.pool.documents import MOST_RESULT_BYTES, result_from_text, text_of_job
from knickpoint.bisect.pool.probe_process import end_session
from knickpoint.model.bisection import ProbeOutcome, ProbeResult
from knickpoint.model.errors import InputError

RUN_PROBE: Final = "knickpoint.bisect.runner:run_probe"
"""The function that makes a probe, as module:name; its module has a class Workspace as well."""

_PASSED_ON: Final = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSH_AUTH_SOCK", "USER", "LOGNAME"})
"""Variables that the process of a probe gets, and those of git; the others may hold secrets."""

_CANCEL_SECONDS: Final = 5.0
"""How long a cancelled probe may take to end its commands."""

_START_SECONDS: Final = 60.0
"""How long the process may take, at least, until it first reports."""

_LONGEST_LINE: Final = 2 * MOST_RESULT_BYTES
_KEPT_ERRORS: Final = 4_000


class WorkspacePlace(Protocol):
    """Where a device keeps clones, worktrees and artefacts, and how much of the disk they may take."""

    @property
    def directory(self) -> Path:
        """The directory."""
        ...

    @property
    def space_megabytes(self) -> int:
        """The bound on its size."""
        ...


def lost(job: ProbeJob, device: str, reason: str, *, seconds: float = 0.0, output: str = "") -> ProbeResult:
    """Return the result of a probe that was lost."""
    return ProbeResult(
        probe=job.probe,
        target=job.target,
        device=device,
        outcome=ProbeOutcome.LOST,
        started=datetime.now(UTC),
        seconds=seconds,
        reason=reason,
        output=output,
    )


@dataclass(slots=True)
class ProbeRun:
    """One probe on a device of this machine: :meth:`make` runs it, :meth:`cancel` ends it from another thread.

    ``silent_seconds`` is how long the process may be without progress. ``call`` is what makes the probe, as
    module:name.
    """

    job: ProbeJob
    device: str
    workspace: WorkspacePlace
    silent_seconds: float
    call: str = RUN_PROBE
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Ask the probe to end; it has no value then."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether the probe was asked to end."""
        return self._cancelled.is_set()

    def make(self, progress: Callable[[str], None], *, slot_lock: int | None = None) -> ProbeResult:
        """Make the probe, and return what became of it; LOST where its process dies, hangs or is cancelled.

        No process of the session of the probe is left. The process inherits the open file ``slot_lock``.
        """
        clock = time.monotonic()
        try:
            self.workspace.directory.mkdir(parents=True, exist_ok=True)
            process = self._start(slot_lock)
        except OSError as error:
            return lost(self.job, self.device, f"the process of the probe does not start: {error}")
        errors: list[bytes] = []
        drain = threading.Thread(target=_drain, args=(process, errors), daemon=True)
        drain.start()
        try:
            result, reason = self._follow(process, progress)
        finally:
            # The leader stays a zombie, so that its number is its own, until all of its session ended.
            with suppress(ChildProcessError):
                if not _ended_within(process.pid, 1.0 if not self.cancelled else 0.0):
                    process.kill()
            end_session(process.pid)
            code = process.wait()
            drain.join(1.0)
        if result is not None:
            return result
        return lost(
            self.job,
            self.device,
            reason or f"the process of the probe ended with {_ending(code)}",
            seconds=time.monotonic() - clock,
            output=b"".join(errors).decode(errors="replace"),
        )

    def _start(self, slot_lock: int | None) -> subprocess.Popen[bytes]:
        environment = {
            name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("GIT_")
        }
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "knickpoint.bisect.pool.probe_process"],
            cwd=self.workspace.directory,
            env=environment | _import_path(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=() if slot_lock is None else (slot_lock,),
        )
        order = {
            "call": self.call,
            "job": text_of_job(self.job),
            "device": self.device,
            "directory": str(self.workspace.directory.absolute()),
            "space_megabytes": str(self.workspace.space_megabytes),
        }
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
        return process

    def _follow(
        self, process: subprocess.Popen[bytes], progress: Callable[[str], None]
    ) -> tuple[ProbeResult | None, str]:
        """Read the reports of the process until it has a result, or has to end.

        Return the result, or why there is none.
        """
        assert process.stdout is not None
        assert process.stdin is not None
        rest = b""
        silent_until = time.monotonic() + max(_START_SECONDS, self.silent_seconds)
        cancelled_until: float | None = None
        with process.stdout, process.stdin, selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                if self.cancelled and cancelled_until is None:
                    cancelled_until = now + _CANCEL_SECONDS
                    with suppress(OSError):
                        process.stdin.close()
                if cancelled_until is not None and now > cancelled_until:
                    return None, "the probe was cancelled"
                if now > silent_until:
                    return None, f"the probe hung: no progress for {self.silent_seconds:.0f} s"
                if not selector.select(0.1):
                    continue
                block = os.read(process.stdout.fileno(), 1 << 20)
                if not block:
                    return None, "the probe was cancelled" if self.cancelled else ""
                *lines, rest = (rest + block).split(b"\n")
                if len(rest) > _LONGEST_LINE:
                    return None, "the process of the probe reports too much"
                for line in lines:
                    silent_until = time.monotonic() + self.silent_seconds
                    result = self._report(line, progress)
                    if result is not None:
                        return result, ""

    def _report(self, line: bytes, progress: Callable[[str], None]) -> ProbeResult | None:
        try:
            document = json.loads(line)
            if "progress" in document:
                progress(str(document["progress"]))
                return None
            return result_from_text(document["result"])
        except (ValueError, TypeError, KeyError, InputError) as error:
            return lost(self.job, self.device, f"the process of the probe reports what is not readable: {error}")


def _import_path() -> dict[str, str]:
    """Return the variable by which the process finds the same packages as this one, if it has one."""
    return {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}


def _drain(process: subprocess.Popen[bytes], kept: list[bytes]) -> None:
    """Keep the end of what a process prints as errors; read all, so that it never waits."""
    assert process.stderr is not None
    with process.stderr as stream:
        tail = b""
        with suppress(OSError, ValueError):
            while block := os.read(stream.fileno(), 1 << 16):
                tail = (tail + block)[-_KEPT_ERRORS:]
                kept[:] = [tail]


def _ended_within(process: int, seconds: float) -> bool:
    """Return True if a child has ended, without taking its exit status; wait for it at most ``seconds``."""
    until = time.monotonic() + seconds
    while True:
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(0.01)


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
