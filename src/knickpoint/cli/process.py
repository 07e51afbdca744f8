"""A process that serves or works: its log, as lines for people or of JSON, and how it ends.

A process that is asked to end finishes its work within a stated time, and says what it waits for. The worker runs in
its own thread.
"""

from __future__ import annotations

import ctypes
import gc
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn, Protocol, Self

import click

from knickpoint.cli.exit_codes import FAILED
from knickpoint.model.errors import StoreError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from knickpoint.instance import Instance, Worker
    from knickpoint.instance.config.settings import MonitoringSettings

_WORK: Final = logging.getLogger("knickpoint.work")


class JsonLines(logging.Formatter):
    """Write a record as one line of JSON: time, level, logger, message, request id, and its extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        from knickpoint.server.request_origin import request_id

        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if current := request_id():
            line["request"] = current
        line |= getattr(record, "about", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class AboutWork(Protocol):
    """Write a line about the work of the process; ``about`` is what a line of JSON has beside it, by name."""

    def __call__(self, line: str, /, **about: object) -> None:
        """Write ``line``."""


def _text_line(line: str, /, **_about: object) -> None:
    click.echo(line)


def _json_line(line: str, /, **about: object) -> None:
    _WORK.info(line, extra={"about": about})


def begin_log(settings: MonitoringSettings) -> AboutWork:
    """Have all loggers write as ``settings`` say, and return what writes a line about the work of the process.

    As text, lines about work go to the standard output, and warnings of loggers to the standard error. As JSON,
    everything goes to the standard output.
    """
    from knickpoint.instance.config.settings import LogChoice

    if settings.log is LogChoice.TEXT:
        return _text_line
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("knickpoint").setLevel(logging.INFO)
    return _json_line


@contextmanager
def interrupted_by_end() -> Iterator[None]:
    """Have SIGTERM interrupt as Ctrl-C does while a ``with`` lasts, so that what runs ends in order.

    By default it would kill the process: in the middle of a round of a worker, or of a line of a journal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


_MARGIN_SECONDS: Final = 1.0
"""After the time to drain, for cutting off requests and closing the store."""

_PROCESSES: Final = Path("/proc")


@dataclass
class Drain:
    """The end of a process: what it waits for when it takes nothing new, how that ended, and how long it may take.

    A thread that is still busy then, in Python or in C, and the processes that this one started end with it.

    Attributes:
        announce: receives the two lines.
        seconds: how long the process waits.
        clock: seconds that only grow.
    """

    announce: AboutWork
    seconds: int
    clock: Callable[[], float] = time.monotonic
    worker: Worker | None = field(default=None, init=False)
    _begun: float | None = field(default=None, init=False)
    cut_off: int = field(default=0, init=False)
    """Requests that ended before their answer."""

    _limited: bool = field(default=False, init=False)

    def limit(self) -> None:
        """Have the process end in any case when its time is over, which begins with the first call."""
        if not self._limited:
            self._limited = True
            threading.Thread(target=self._end_late, name="knickpoint-drain", daemon=True).start()

    def _end_late(self) -> None:
        time.sleep(self.seconds + _MARGIN_SECONDS)
        _end_process(
            self.announce,
            self.worker,
            f"something did not finish within {self.seconds} seconds (drain_seconds of [server]); it is undone",
        )

    def begin(self, requests: int = 0) -> None:
        """Say that the process takes nothing new, and waits for ``requests`` and for the tasks of the worker.

        Only once.
        """
        self.limit()
        if self._begun is not None:
            return
        self._begun = self.clock()
        tasks = list(self.worker.under_way) if self.worker else []
        waits = [counted(requests, "request")] if requests else []
        waits += [f"the worker ({', '.join(tasks)})"] if tasks else []
        text = f"waits up to {self.seconds} s for {' and '.join(waits)}" if waits else "nothing is in progress"
        self.announce(
            f"Draining: no new work is accepted; {text}",
            event="draining",
            requests=requests,
            tasks=tasks,
            seconds=self.seconds,
        )

    def requests_ended(self, cut_off: int) -> None:
        """Note that all requests have ended, ``cut_off`` of them before their answer."""
        self.cut_off = cut_off

    def end(self) -> None:
        """Say that all has ended, where :meth:`begin` was called."""
        if self._begun is None:
            return
        seconds = self.clock() - self._begun
        cut = f"; {counted(self.cut_off, 'request was', 'requests were')} cut off" if self.cut_off else ""
        self.announce(
            f"Drained after {seconds:.1f} s{cut}", event="drained", cut_off=self.cut_off, seconds=round(seconds, 3)
        )


@dataclass
class WorkThread:
    """Runs ``worker`` in a thread while a ``with`` lasts.

    At its end, or from :meth:`stop` on, the worker takes nothing new. What it works on may take ``drain_seconds`` of
    the configuration; after that, the process gives its events back and ends with the exit code 2. What was not
    finished is undone by the database and done again by another worker.

    Attributes:
        instance: the open instance of the worker.
        worker: what works.
        announce: receives why the process ended early.
        clock: seconds that only grow.
    """

    instance: Instance
    worker: Worker
    announce: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _stop: threading.Event = field(default_factory=threading.Event, init=False)
    _until: float = field(default=0.0, init=False)
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self.worker.run, args=(self._stop,), name="knickpoint-worker")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Have the worker take nothing new; the time that it has left begins now."""
        if not self._until:
            self._until = self.clock() + self.instance.config.server.drain_seconds
        self._stop.set()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._thread.join(max(0.0, self._until - self.clock()))
        if self._thread.is_alive():
            self._end_early()

    def _end_early(self) -> None:
        seconds = self.instance.config.server.drain_seconds
        _end_process(
            self.announce,
            self.worker,
            f"the worker did not finish within {seconds} seconds (drain_seconds of [server]); it is undone",
        )


def _end_process(announce: Callable[[str], None], worker: Worker | None, reason: str) -> NoReturn:
    """Give the events of ``worker`` back, kill its child processes, and end without waiting for threads."""
    announce(reason)
    if worker:
        # In a thread of its own, as the store may not answer: the leases of the events end in any case.
        giving_back = threading.Thread(target=_give_back, args=(announce, worker), daemon=True)
        giving_back.start()
        giving_back.join(1.0)
    for process in _descendants(os.getpid()):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(FAILED)


def _give_back(announce: Callable[[str], None], worker: Worker) -> None:
    try:
        released = worker.release()
    except StoreError as error:
        announce(f"its events could not be released, and wait until their leases expire: {error}")
    else:
        announce(f"{released:,} of its events are released")


def _descendants(process: int) -> Iterator[int]:
    """Yield the processes that ``process`` started, and those that these started.

    None on a system without ``/proc``.
    """
    parents: dict[int, int] = {}
    for file in _PROCESSES.glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended since
            parents[int(file.parent.name)] = int(file.read_text().rpartition(")")[2].split()[1])
    above = [process]
    while above:
        started = [child for child, parent in parents.items() if parent in above]
        yield from started
        above = started


# Start a process that lives long: its garbage collection, and the free memory that its C library retains.


_MALLOC_OPTIONS: Final = {
    "MALLOC_ARENA_MAX": (-8, 2),
    "MALLOC_TRIM_THRESHOLD_": (-1, 4 << 20),
    "MALLOC_MMAP_THRESHOLD_": (-3, 4 << 20),
}
"""Variables of the GNU C library, and for each the number of its option in ``malloc.h`` and the value that it gets."""


def limit_retained_memory() -> None:
    """Limit the free memory that the GNU C library retains for the threads of this process.

    Call it before there are threads.

    By default they allocate from up to eight arenas for each core, each of which keeps what is freed between parts that
    are in use, and up to 64 MB at its end. So in a process that answers in some twenty threads the memory grows for
    hours, although what is in use does not. Two arenas are enough there, and 4 MB at the end of each. What the
    environment sets stays, and other C libraries are as they are.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None  # musl has none
    if set_option is None:
        return
    for variable, (option, value) in _MALLOC_OPTIONS.items():
        if variable not in os.environ:
            set_option(option, value)


@contextmanager
def collecting_later() -> Iterator[Callable[[], None]]:
    """Hold back the garbage collector while a process starts, and give what to call when everything is loaded.

    A start makes some 200,000 objects that live as long as the process. The collector would walk them hundreds of times
    on the way, a fifth of the time to ready, and again at each full collection, while requests wait. So the collector
    leaves them out until the ``with`` ends.
    """
    was_on = gc.isenabled()
    gc.disable()

    def loaded() -> None:
        gc.freeze()
        if was_on:
            gc.enable()

    try:
        yield loaded
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()
