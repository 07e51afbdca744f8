"""Let a process that is to end finish what it works on within a stated time, and say what it waits for.

The worker runs in a thread of its own.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self

from knickpoint.cli.exit_codes import FAILED
from knickpoint.instance import Instance, Worker
from knickpoint.model.errors import StoreError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from knickpoint.cli.log_lines import AboutWork

__all__ = ["Drain", "WorkThread"]


@dataclass
class Drain:
    """The log of the end of a process: what it waits for when it takes nothing new, and how that ended.

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
    _cut_off: int = field(default=0, init=False)

    def begin(self, requests: int = 0) -> None:
        """Say that the process takes nothing new, and waits for ``requests`` and for the tasks of the worker; only once."""
        if self._begun is not None:
            return
        self._begun = self.clock()
        tasks = list(self.worker.under_way) if self.worker else []
        waits = [counted(requests, "request")] if requests else []
        waits += [f"the worker ({', '.join(tasks)})"] if tasks else []
        text = f"waits up to {self.seconds} s for {' and '.join(waits)}" if waits else "nothing is under way"
        self.announce(
            f"Draining: nothing new is taken; {text}",
            event="draining",
            requests=requests,
            tasks=tasks,
            seconds=self.seconds,
        )

    def requests_ended(self, cut_off: int) -> None:
        """Note that all requests have ended, ``cut_off`` of them before their answer."""
        self._cut_off = cut_off

    def end(self) -> None:
        """Say that all has ended, where :meth:`begin` was called."""
        if self._begun is None:
            return
        seconds = self.clock() - self._begun
        cut = f"; {counted(self._cut_off, 'request was', 'requests were')} cut off" if self._cut_off else ""
        self.announce(
            f"Drained after {seconds:.1f} s{cut}", event="drained", cut_off=self._cut_off, seconds=round(seconds, 3)
        )


@dataclass
class WorkThread:
    """Runs ``worker`` in a thread while a ``with`` lasts.

    At its end, or from :meth:`stop` on, the worker takes nothing new. What it works on may take ``drain_seconds`` of the
    configuration; after that, the process gives its events back and ends with the exit code 2. What was not finished is
    undone by the database and done again by another worker.

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
        self.announce(f"the worker did not finish within {seconds} seconds (drain_seconds of [server]); it is undone")
        # In a thread of its own, as the store may not answer: the leases of the events end in any case.
        giving_back = threading.Thread(target=self._give_back, daemon=True)
        giving_back.start()
        giving_back.join(1.0)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(FAILED)

    def _give_back(self) -> None:
        try:
            released = self.worker.release()
        except StoreError as error:
            self.announce(f"its events are not given back, and wait for the end of their leases: {error}")
        else:
            self.announce(f"{released:,} of its events are given back")
