"""Run the tasks of a worker: when they are due, or beside the rounds in threads of their own; failed ones again.

A failure of one task must not stop the others, and must not fill the log when it lasts. The runner therefore catches
every exception, announces a reason once, doubles the pause from one second to five minutes, and announces the recovery.
Bisections, schedules and notifications have threads of their own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from knickpoint.instance.instance import Instance
from knickpoint.model.errors import KnickpointError

if TYPE_CHECKING:
    from knickpoint.instance.notifications import Notifications
    from knickpoint.instance.schedules import ScheduleRounds


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


@dataclass
class _SideWork:
    """Work of a worker beside its rounds, as far as all of it is alike.

    Attributes:
        instance: the open instance.
        name: name of the worker.
        announce: receives one line about each thing that was done or failed.
        clock: seconds that only grow.
    """

    instance: Instance
    name: str
    announce: Announce
    clock: Callable[[], float]
    _runners: list[TaskRunner] = field(default_factory=list, init=False)

    @property
    def failures(self) -> Mapping[str, Failures]:
        """The tasks of these threads that fail now."""
        return {name: each for runner in self._runners for name, each in runner.failures.items()}

    @property
    def current(self) -> str:
        """The task that runs now, "" between two tasks."""
        return next((runner.current for runner in self._runners if runner.current), "")

    def _runner(self) -> TaskRunner:
        runner = TaskRunner(self.announce, self.clock)
        self._runners.append(runner)
        return runner


# Run bisections beside the rounds of a worker, each in a thread of its own.
#
# A bisection takes hours: within the rounds it would hold up imports and alerts. The threads share the store and one
# pool. On this machine one bisection runs at a time in the whole instance, so that probes do not disturb each other.


_BISECTING: Final = "bisections"
_RULE_TASK: Final = "bisections by rule"
_AT_ONCE: Final = 4
"""Bisections that one worker coordinates at a time on a pool with an address."""


@dataclass
class Bisecting(_SideWork):
    """Runs the bisections of an instance for one worker."""

    def once(self, stop: threading.Event | None) -> None:
        """Ask by rule, and run the bisections that wait, one after the other."""
        if self.instance.config.bisect:
            runner = self._runner()
            runner.run(_RULE_TASK, self._ask)
            while not (stop is not None and stop.is_set()) and runner.run(_BISECTING, lambda: self._run_next(stop, 0)):
                pass

    def beside(self, stop: threading.Event) -> AbstractContextManager[None]:
        """Return a context that runs bisections in threads; at its end they are released for another worker."""
        config = self.instance.config
        count = (_AT_ONCE if config.pool.address else 1) if config.bisect else 0
        return side_threads(stop, {f"bisections-{number}": partial(self._work, number) for number in range(count)})

    def _work(self, number: int, stop: threading.Event) -> None:
        runner = self._runner()
        while not stop.is_set():
            if number == 0 and runner.is_due(_RULE_TASK, self.instance.config.worker.poll_seconds):
                runner.run(_RULE_TASK, self._ask)
            if not runner.run(_BISECTING, lambda: self._run_next(stop, number)):
                stop.wait(self.instance.config.worker.poll_seconds)

    def _ask(self) -> bool:
        from knickpoint.instance.bisections.requests import ask_by_rule

        asked = ask_by_rule(self.instance)
        for each in asked:
            self.announce(f"bisection {each.name} of R{each.request.change_id}: requested by rule")
        return bool(asked)

    def _run_next(self, stop: threading.Event | None, number: int) -> bool:
        """Run one bisection to its end; return whether there was one."""
        from knickpoint.instance.bisections import LEASE_SECONDS, import_waiting_results, run_claimed_bisection
        from knickpoint.instance.probes import open_probe_pool

        import_waiting_results(self.instance)
        worker = f"{self.name}/{number}"
        most = 0 if self.instance.config.pool.address else 1
        claimed = self.instance.store.bisections.claim(worker, datetime.now(UTC), LEASE_SECONDS, most=most)
        if claimed is None:
            return False
        pool = open_probe_pool(self.instance)
        try:
            ended = run_claimed_bisection(
                self.instance, claimed, pool, worker=worker, stop=lambda: stop is not None and stop.is_set()
            )
        finally:
            pool.close()
        if ended.state.ended:
            about = f": {ended.answer.reason}" if ended.answer.reason else ""
            self.announce(f"bisection {ended.name}: {ended.state.value}{about}")
        return ended.state.ended


# Run the schedules beside the rounds of a worker, in a thread of its own: a measurement takes longer than a round may.


_SCHEDULING: Final = "schedules"


@dataclass
class Scheduling(_SideWork):
    """Runs the schedules of an instance for one worker."""

    _tasks: TaskRunner = field(init=False)
    _made: ScheduleRounds | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._tasks = self._runner()

    def beside(self, stop: threading.Event) -> AbstractContextManager[None]:
        """Return a context that runs the schedules in a thread.

        At its end, probes that are under way wait for the next worker.
        """
        return side_threads(stop, {"schedules": self._run} if self.instance.config.schedule else {})

    def _run(self, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                if not self._tasks.run(_SCHEDULING, self._step):
                    stop.wait(self.instance.config.worker.poll_seconds)
        finally:
            self._tasks.run("closing schedules", self._close)

    def _step(self) -> bool:
        """Run a step; while probes are under way, the next one waits for them and not for the poll."""
        rounds = self._rounds()
        return rounds.step() or rounds.busy

    def _rounds(self) -> ScheduleRounds:
        if self._made is None:
            from knickpoint.instance.schedules import ScheduleRounds

            self._made = ScheduleRounds(self.instance, f"{self.name}/schedules", self.announce)
        return self._made

    def _close(self) -> bool:
        if self._made is not None:
            self._made.close()
        return False


# Plan and send notifications beside the rounds of a worker, in a thread of its own.
#
# A receiver may take half a minute to refuse a message, and a server that is down does so for each one. Within the
# rounds, that would hold up imports and alerts. The thread shares the store only: it writes a row or two for each
# message.


_SENDING: Final = "notifications"
_ROUND_SECONDS: Final = 60.0
"""How long a single round of a worker sends; what is left is sent by the next one."""


@dataclass
class Sending(_SideWork):
    """Sends the notifications of an instance for one worker."""

    _tasks: TaskRunner = field(init=False)
    _made: Notifications | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._tasks = self._runner()

    def once(self, stop: threading.Event | None) -> None:
        """Plan, and send what is due, for at most a minute."""
        if self.instance.config.channels:
            self._tasks.run(_SENDING, lambda: self._notifications().drain(stop, seconds=_ROUND_SECONDS) > 0)

    def beside(self, stop: threading.Event) -> AbstractContextManager[None]:
        """Return a context that plans and sends in a thread, until ``stop`` is set and the current message is sent."""
        return side_threads(stop, {"notifications": self._run} if self.instance.config.channels else {})

    def _run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            if not self._tasks.run(_SENDING, lambda: self._notifications().step(stop)):
                stop.wait(self.instance.config.worker.poll_seconds)
        self._tasks.run("closing", self._close)

    def _notifications(self) -> Notifications:
        if self._made is None:
            from knickpoint.instance.notifications import Notifications

            self._made = Notifications(self.instance, self.name, self.announce)
        return self._made

    def _close(self) -> bool:
        if self._made is not None:
            self._made.close()
        return False
