"""The process of one probe: it reads a job from its standard input, makes the probe, and writes what becomes of it.

The first line of the input is the order, as JSON. A second line, or the end of the input, cancels the probe: so it ends
by itself when the program that started it dies, and with it all that descends from it, whatever groups it made. The
output is one JSON object a line: ``progress``, and at last ``result``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import IO, Final

from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.pool.documents import bounded, job_from_text, text_of_result
from knickpoint.model.bisection import ProbeOutcome, ProbeResult
from knickpoint.model.errors import KnickpointError

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


_CANCEL_SECONDS: Final = 10.0
"""How long a cancelled probe may take to end its commands; then the session ends as a whole."""


def main() -> None:
    """Make the probe that the standard input orders."""
    order_text = sys.stdin.buffer.readline()
    if not order_text.endswith(b"\n"):
        return
    order = json.loads(order_text)
    report = _private_output()
    lock = threading.Lock()

    def write(document: dict[str, object]) -> None:
        with lock:
            report.write(json.dumps(document).encode() + b"\n")
            report.flush()

    cancelled = threading.Event()
    threading.Thread(target=_watch_input, args=(cancelled,), daemon=True).start()
    job = job_from_text(order["job"])
    result = _probe(order, job, cancelled, lambda text: write({"progress": text}))
    write({"result": text_of_result(bounded(result))})


def _private_output() -> IO[bytes]:
    """Keep the standard output for reports, and give commands that print another one."""
    report = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return report


def _watch_input(cancelled: threading.Event) -> None:
    sys.stdin.buffer.readline()
    cancelled.set()
    # Commands that do not end in time are killed with the whole session, which is that of this process.
    time.sleep(_CANCEL_SECONDS)
    if os.getsid(0) == os.getpid():
        end_session(os.getpid(), spare=os.getpid())
    os._exit(1)


def _probe(
    order: dict[str, str], job: ProbeJob, cancelled: threading.Event, progress: Callable[[str], None]
) -> ProbeResult:
    started, clock = datetime.now(UTC), time.monotonic()
    try:
        module, _, name = order["call"].partition(":")
        run_probe = getattr(import_module(module), name)
        workspace = import_module(module).Workspace(Path(order["directory"]), int(order["space_megabytes"]))
        result: ProbeResult = run_probe(job, workspace, order["device"], cancelled=cancelled.is_set, progress=progress)
    except (KnickpointError, OSError, MemoryError) as error:
        seconds = time.monotonic() - clock
        reason = " ".join(str(error).split()) or type(error).__name__
        return ProbeResult(job.probe, job.target, order["device"], ProbeOutcome.LOST, started, seconds, reason=reason)
    return result


if __name__ == "__main__":
    main()
