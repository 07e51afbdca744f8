"""Report in the store that a worker is at work and whether it fails, so that other processes can show it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from knickpoint.instance.machine import this_machine
from knickpoint.instance.worker.task_runner import Failures
from knickpoint.model.service_part import WORKER_PARTS, ServicePart
from knickpoint.store import Store

__all__ = ["Heartbeat"]

_EVERY_SECONDS: Final = 30.0


@dataclass
class Heartbeat:
    """Writes the state of one worker every 30 seconds, and at once when it begins or ceases to fail or to be slowed down."""

    store: Store
    name: str
    clock: Callable[[], float]
    parts: Collection[ServicePart] = WORKER_PARTS
    _started: float = field(default_factory=time.time)
    _reported_failing: bool = False
    _reported_slowed: str = ""
    _next: float | None = None

    def beat(self, failures: Mapping[str, Failures], slowed: str = "") -> None:
        """Write the state of the worker, if that is due; of several failing tasks, the one that fails most.

        ``slowed`` is why it is slower than it could be, "" where it is not.

        Raises:
            StoreError: the store cannot be written.
        """
        failing = bool(failures)
        same = failing == self._reported_failing and slowed == self._reported_slowed
        if self._next is not None and self.clock() < self._next and same:
            return
        count, reason = 0, ""
        if failures:
            name, worst = max(failures.items(), key=lambda pair: pair[1].count)
            count, reason = worst.count, f"{name}: {worst.reason}"
        self.store.workers.report(
            self.name,
            started=self._started,
            failures=count,
            reason=reason,
            slowed=slowed if slowed or self._reported_slowed else None,
            parts=self.parts,
            machine=this_machine(),
        )
        self._reported_failing, self._reported_slowed = failing, slowed
        self._next = self.clock() + _EVERY_SECONDS

    def end(self) -> None:
        """Remove the worker from the store, because it ended in order."""
        self.store.workers.remove(self.name)
