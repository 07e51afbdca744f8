"""Run the schedules beside the rounds of a worker, in a thread of its own: a measurement takes longer than a round may."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knickpoint.instance.instance import Instance
from knickpoint.instance.worker.side_threads import side_threads
from knickpoint.instance.worker.task_runner import Announce, Failures, TaskRunner

if TYPE_CHECKING:
    from knickpoint.instance.schedules import ScheduleRounds

__all__ = ["Scheduling"]

_TASK: Final = "schedules"


@dataclass
class Scheduling:
    """Runs the schedules of an instance for one worker.

    Attributes:
        instance: the open instance.
        name: name of the worker.
        announce: receives one line about each thing that a schedule did or failed to do.
        clock: seconds that only grow.
    """

    instance: Instance
    name: str
    announce: Announce
    clock: Callable[[], float]
    _tasks: TaskRunner = field(init=False)
    _made: ScheduleRounds | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._tasks = TaskRunner(self.announce, self.clock)

    @property
    def failures(self) -> Mapping[str, Failures]:
        """The task of this thread, if it fails now."""
        return dict(self._tasks.failures)

    @property
    def current(self) -> str:
        """The task that runs now, "" between two tasks."""
        return self._tasks.current

    def beside(self, stop: threading.Event) -> AbstractContextManager[None]:
        """Return a context that runs the schedules in a thread; at its end, probes that are under way wait for the next worker."""
        return side_threads(stop, {"schedules": self._run} if self.instance.config.schedule else {})

    def _run(self, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                if not self._tasks.run(_TASK, self._step):
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
