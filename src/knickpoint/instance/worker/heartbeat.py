"""What an instance knows of its workers: whether one is at work, whether it fails, and which events wait for one."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final

from knickpoint.instance.instance import Instance
from knickpoint.instance.relay.session import CONSUMER
from knickpoint.instance.worker.task_runner import Failures
from knickpoint.model.errors import ConfigError
from knickpoint.model.service_part import WORKER_PARTS, ServicePart
from knickpoint.store import EventKind, Store
from knickpoint.store.events import MAIN, EventCount

# Know this machine again, and refuse an embedded store that processes of several machines use.


_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
"""The kernel's random id of its start: containers of one machine share it, and machines do not."""

_SEEN: Final = timedelta(seconds=90)
"""Three heartbeats: a worker that has not been seen for longer has ended."""


@cache
def this_machine() -> str:
    """Return the name of this machine and the id of its start, with a space between; without an id, the name."""
    name = platform.node()
    try:
        return f"{name} {_BOOT.read_text(encoding='ascii').strip()}"
    except OSError:
        return name


def same_machine(one: str, other: str) -> bool:
    """Return True if two texts of :func:`this_machine` are of one machine.

    Name or start are the same: a container that begins anew has another name, a machine another start.
    """
    return not set(one.split()).isdisjoint(other.split())


def check_machine(instance: Instance, now: datetime | None = None) -> None:
    """Refuse to serve an embedded store that a worker of another machine uses, as through a network file system.

    Raises:
        ConfigError: such a worker was seen within the last 90 seconds.
        StoreError: the store cannot be read.
    """
    if not instance.store.database.embedded:
        return
    since = (now or datetime.now(UTC)) - _SEEN
    for worker in instance.store.workers.all():
        if worker.machine and worker.seen > since and not same_machine(worker.machine, this_machine()):
            raise ConfigError(
                f"the worker {worker.name} on another machine uses this embedded store, which only one machine may use",
                where=instance.store.location,
                remedy="Stop that worker, or keep the instance on PostgreSQL: back it up, and restore with --store.",
            )


_EVERY_SECONDS: Final = 30.0


@dataclass
class Heartbeat:
    """Writes the state of one worker every 30 seconds, and at once when it begins or ceases to fail or to be slow."""

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


_LOST_AFTER: Final = timedelta(minutes=10)


def waiting_events(instance: Instance) -> list[EventCount]:
    """Count the events that wait for a worker or for NATS, by consumer and kind.

    Events about findings are for NATS, and for programs that read the outbox through the library: the copies of the
    latter stay, and nothing waits for them.

    Raises:
        StoreError: the store cannot be read.
    """
    pending = instance.store.outbox.pending(after=_covered(instance))
    waiting = [each for each in pending if each.consumer == MAIN and each.kind is EventKind.TRACES_CHANGED]
    if instance.config.nats.url:
        waiting += [each for each in instance.store.outbox.pending() if each.consumer == CONSUMER]
    return waiting


def oldest_waiting_results(instance: Instance) -> datetime | None:
    """Return since when results have waited for the alerts, None where none wait.

    Raises:
        StoreError: the store cannot be read.
    """
    return instance.store.outbox.oldest(MAIN, [EventKind.TRACES_CHANGED], after=_covered(instance))


def abandoned_since(instance: Instance, now: datetime) -> datetime | None:
    """Return since when results have waited for more than ten minutes while no worker runs alerts.

    None where that is not so.

    Raises:
        StoreError: the store cannot be read.
    """
    since = now - _LOST_AFTER
    if any(ServicePart.WORKER in each.parts and each.seen >= since for each in instance.store.workers.all()):
        return None
    oldest = oldest_waiting_results(instance)
    return oldest if oldest is not None and oldest < since else None


def _covered(instance: Instance) -> datetime | None:
    """Return until when results were judged without their events; None where a worker takes the events.

    Without a worker, the last complete run covered the traces of all events before it.
    """
    store = instance.store
    if store.workers.all():
        return None
    runs = [
        run for alert in instance.alerts for run in store.findings.alert_runs.runs(alert.name, last=1, complete=True)
    ]
    return max((run.started for run in runs), default=None)
