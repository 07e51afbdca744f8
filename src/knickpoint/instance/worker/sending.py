"""Plan and send notifications beside the rounds of a worker, in a thread of its own.

A receiver may take half a minute to refuse a message, and a server that is down does so for each one. Within the rounds,
that would hold up imports and alerts. The thread shares the store only: it writes a row or two for each message.
"""

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
    from knickpoint.instance.notifications import Notifications

__all__ = ["Sending"]

_TASK: Final = "notifications"
_ROUND_SECONDS: Final = 60.0
"""How long a single round of a worker sends; what is left is sent by the next one."""


@dataclass
class Sending:
    """Sends the notifications of an instance for one worker.

    Attributes:
        instance: the open instance.
        name: name of the worker.
        announce: receives one line about each failure.
        clock: seconds that only grow.
    """

    instance: Instance
    name: str
    announce: Announce
    clock: Callable[[], float]
    _tasks: TaskRunner = field(init=False)
    _made: Notifications | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._tasks = TaskRunner(self.announce, self.clock)

    @property
    def failures(self) -> Mapping[str, Failures]:
        """The task of this thread, if it fails now."""
        return dict(self._tasks.failures)

    def once(self, stop: threading.Event | None) -> None:
        """Plan, and send what is due, for at most a minute."""
        if self.instance.config.channels:
            self._tasks.run(_TASK, lambda: self._notifications().drain(stop, seconds=_ROUND_SECONDS) > 0)

    @property
    def current(self) -> str:
        """The task that runs now, "" between two tasks."""
        return self._tasks.current

    def beside(self, stop: threading.Event) -> AbstractContextManager[None]:
        """Return a context that plans and sends in a thread, until ``stop`` is set and the current message is sent."""
        return side_threads(stop, {"notifications": self._run} if self.instance.config.channels else {})

    def _run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            if not self._tasks.run(_TASK, lambda: self._notifications().step(stop)):
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
