"""The process of one probe: it reads a job from its standard input, makes the probe, and writes what becomes of it.

The first line of the input is the order, as JSON. A second line, or the end of the input, cancels the probe: so it ends
by itself when the program that started it dies. The output is one JSON object a line: ``progress``, and at last
``result``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import IO, Final

from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.pool.documents import bounded, job_from_text, text_of_result
from knickpoint.bisect.pool.process_sessions import end_session
from knickpoint.model.bisection import ProbeOutcome, ProbeResult
from knickpoint.model.errors import KnickpointError

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
