"""Run the tasks of a worker when they are due, and after a failure again with growing pauses.

A failure of one task must not stop the others, and must not fill the log when it lasts. The runner therefore catches
every exception, announces a reason once, doubles the pause from one second to five minutes, and announces the recovery.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

from knickpoint.model.errors import KnickpointError

_LOG: Final = logging.getLogger("knickpoint.worker")
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 300.0
_MOST_DOUBLINGS: Final = 16

Announce = Callable[[str], None]
"""Receives one line about what the worker did or failed to do."""

Task = Callable[[], bool]
"""Does a task, and returns whether there was anything to do."""


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of one task in a row: how many, the last reason, and when the runner tries again."""

    count: int
    reason: str
    retry_at: float


@dataclass
class TaskRunner:
    """Runs tasks by name, and keeps when each is due and how it fails.

    Attributes:
        announce: receives each new reason of a failure, and each recovery.
        clock: seconds that only grow.
        current: the task that runs now, "" between two tasks.
    """

    announce: Announce
    clock: Callable[[], float] = time.monotonic
    current: str = field(default="", init=False)
    _failures: dict[str, Failures] = field(default_factory=dict, init=False)
    _due: dict[str, float] = field(default_factory=dict, init=False)

    @property
    def failures(self) -> Mapping[str, Failures]:
        """The tasks that fail now, by name."""
        return self._failures

    def run(self, name: str, task: Task) -> bool:
        """Run a task unless it pauses after a failure; return whether there was anything to do."""
        failures = self._failures.get(name)
        if failures is not None and self.clock() < failures.retry_at:
            return False
        due, around = dict(self._due), self.current
        self.current = name
        try:
            busy = task()
        except KnickpointError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001  # no defect of one task may end the worker
            _LOG.exception("%s failed", name)
            reason = f"it failed unexpectedly, the log has the details: {error!r}"
        else:
            self.recover(name)
            return busy
        finally:
            self.current = around
        self._due = due  # the pause decides when the task runs again, not its schedule
        self._fail(name, reason)
        return False

    def _fail(self, name: str, reason: str) -> None:
        before = self._failures.get(name)
        count = before.count if before else 0
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** min(count, _MOST_DOUBLINGS))
        self._failures[name] = Failures(count + 1, reason, self.clock() + pause)
        if before is None or before.reason != reason:
            self.announce(f"{name}: {reason}")

    def recover(self, name: str) -> None:
        """Forget the failures of a task, and announce that it works again."""
        if self._failures.pop(name, None) is not None:
            self.announce(f"{name}: all is well again")

    def is_due(self, name: str, every_seconds: float) -> bool:
        """Return True if ``name`` is due now; if so, it is due again in ``every_seconds``."""
        now = self.clock()
        if now < self._due.get(name, now):
            return False
        self._due[name] = now + every_seconds
        return True


# Threads that run beside the rounds of a worker and end with them.


@contextmanager
def side_threads(stop: threading.Event, targets: Mapping[str, Callable[[threading.Event], None]]) -> Iterator[None]:
    """Run ``targets``, by the name of their thread, while a ``with`` lasts; at its end, set ``stop`` and wait for them.

    Each target is called with ``stop`` and returns soon after that is set.
    """
    threads = [
        threading.Thread(target=target, args=(stop,), name=f"knickpoint-{name}", daemon=True)
        for name, target in targets.items()
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


# What a worker measures of its own work; the server makes metrics of it.


class WorkMeasures(Protocol):
    """Receives what a worker measures."""

    def detected(self, method: str, seconds: float, traces: int) -> None:
        """Record a run of an alert with ``method`` over ``traces``."""

    def judged(self, seconds: float) -> None:
        """Record that results were judged so many seconds after they were stored; their findings are there."""


class NoMeasures:
    """Record nothing."""

    def detected(self, method: str, seconds: float, traces: int) -> None:
        """Do nothing."""

    def judged(self, seconds: float) -> None:
        """Do nothing."""
