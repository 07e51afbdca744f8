"""Run the alerts over the traces of events, or over everything; any number of workers may do so at a time.

A worker claims events for a limited time, the lease. While alerts run, it extends the lease; when it dies, the lease
ends, and another worker claims the events. An event is done when its findings are written. Running alerts again over
the same traces changes nothing, so an event that is processed twice does no harm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from knickpoint.instance.alert_round import acknowledge_accepted
from knickpoint.instance.instance import Instance
from knickpoint.instance.worker.task_runner import Announce, NoMeasures, WorkMeasures
from knickpoint.model.alert import Alert
from knickpoint.model.errors import ServiceError, StoreError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from knickpoint.store import Event
    from knickpoint.work import Runner

_BATCH: Final = 256
"""Events that one run of the alerts processes together."""


@dataclass
class AlertRuns:
    """Runs the alerts of an instance for one worker.

    Attributes:
        instance: the open instance.
        worker: name of the worker that claims the events.
        announce: receives what was found, and which alerts cannot run.
        clock: seconds that only grow.
        measures: receives how long methods detect, and how long results waited.
    """

    instance: Instance
    worker: str
    announce: Announce
    clock: Callable[[], float]
    measures: WorkMeasures = field(default_factory=NoMeasures)
    _failures: dict[str, str] = field(default_factory=dict, init=False)
    _ran: dict[str, Alert] = field(default_factory=dict, init=False)
    _due: dict[str, float] = field(default_factory=dict, init=False)
    _nothing_due: str | None = field(default=None, init=False)
    _caching: Runner | None = field(default=None, init=False)

    def over_changes(self) -> bool:
        """Run the alerts over the traces of the next events; return whether there were any.

        Raises:
            StoreError: the store cannot be read or written; the events are available again at once.
            ServiceError: the processes or the cluster that detect are gone; the events are available again at once.
        """
        import numpy as np

        from knickpoint.store import EventKind

        outbox = self.instance.store.outbox
        # Who waits for a lost cluster holds nothing: a lease that ends meanwhile would count as an attempt of the
        # event.
        if not outbox.has_due([EventKind.TRACES_CHANGED]):
            return False
        self.instance.runner.connect()
        lease_seconds = self.instance.config.worker.lease_seconds
        events, ids = self._claim(lease_seconds)
        if not events:
            return False
        # Run the alerts once over the traces of all events.
        lease = _Lease(self.instance, self.clock, events, lease_seconds)
        try:
            resting = [each.name for each in self.instance.alerts if each.every_minutes]
            self._run(np.unique(np.concatenate(ids)), lease.extend, resting=resting)
        except (ServiceError, StoreError):  # not the fault of the events
            for event in events:
                outbox.release(event)
            raise
        except Exception as error:
            for event in events:
                outbox.fail(event, str(error) or repr(error))
            raise
        for event in events:
            outbox.done(event)
            self.measures.judged(max(0.0, (datetime.now(UTC) - event.created).total_seconds()))
        return True

    def _claim(self, lease_seconds: float) -> tuple[list[Event], list[NDArray[np.int64]]]:
        """Claim the next events; return them, and the traces of each. One that cannot be read holds up no other."""
        from knickpoint.store import EventKind, unpack_ids

        outbox = self.instance.store.outbox
        events: list[Event] = []
        ids: list[NDArray[np.int64]] = []
        for event in outbox.claim([EventKind.TRACES_CHANGED], self.worker, lease_seconds, _BATCH):
            try:
                ids.append(unpack_ids(event.payload))
            except (KeyError, ValueError, TypeError) as error:
                outbox.fail(event, f"the event cannot be read: {error!r}")
            else:
                events.append(event)
        return events, ids

    def by_schedule(self, *, everything: bool, data: str | None = None) -> bool:
        """Run over all traces the alerts that are due; return whether anything changed.

        With ``everything`` those are due that run on events. An alert with a schedule of its own is due when that has
        passed since its last run, by whichever worker. An alert that is new or judges by other settings than at the
        last run is due at once. Alerts are not read again while the store holds the same ``data``, by its name, and
        none has a schedule of its own.
        """
        if not everything and data is not None and data == self._nothing_due:
            return False
        alerts = self.instance.alerts
        due = {each.name for each in alerts if self._is_due(each, everything=everything)}
        removed = self._ran.keys() - {each.name for each in alerts}
        self._nothing_due = None
        if not due and not removed:
            self._nothing_due = None if any(each.every_minutes for each in alerts) else data
            return False
        try:
            busy = self._run(None, None, resting=[each.name for each in alerts if each.name not in due])
        except BaseException:
            self._due.clear()  # the runner tries again after a pause
            raise
        self._ran = {each.name: each for each in alerts}
        return busy

    def _is_due(self, alert: Alert, *, everything: bool) -> bool:
        from knickpoint.model.alert import judging_settings

        before = self._ran.get(alert.name)
        if before is not None and before != alert and judging_settings(before) != judging_settings(alert):
            return True
        if not alert.every_minutes:
            return everything or (before is None and bool(self._ran))
        pause = alert.every_minutes * 60.0
        if self.clock() < self._due.get(alert.name, -math.inf):
            return False
        runs = self.instance.store.findings.alert_runs.runs(alert.name, last=1)
        age = (datetime.now(UTC) - runs[0].started).total_seconds() if runs else math.inf
        rest = pause - max(0.0, age)
        self._due[alert.name] = self.clock() + (rest if rest > 0 else pause)
        return rest <= 0

    def _runner(self) -> Runner:
        """Return the runner that detects; a worker that detects in its own process caches views."""
        from knickpoint.watch.detection.judged_rows import CachingRunner
        from knickpoint.work import Place

        if self.instance.runner.place is not Place.HERE:
            return self.instance.runner
        self._caching = self._caching or CachingRunner()
        return self._caching

    def _run(
        self,
        traces: NDArray[np.int64] | None,
        progress: Callable[[int, int], None] | None,
        *,
        resting: Sequence[str],
    ) -> bool:
        from knickpoint.watch.alert_run.persistence import REWATCH, unwatched_text
        from knickpoint.watch.alert_run.run import run_alerts

        summary = run_alerts(
            self.instance.store,
            self.instance.alerts,
            resting=resting,
            traces=traces,
            progress=progress,
            runner=self._runner(),
            as_work=self.instance.config.history.as_work,
            announcements=self.instance.config.findings.rule,
        )
        methods = {alert.name: alert.method for alert in self.instance.alerts}
        for run in summary.alerts:
            if run.alert in methods and not run.failure:
                self.measures.detected(methods[run.alert], run.seconds, run.traces)
        for name, reason in summary.failures.items():
            if self._failures.get(name) != reason:
                self.announce(f"alert {name!r} could not run: {reason}")
        kept = {name: reason for name, reason in self._failures.items() if name in resting}
        self._failures = {**kept, **summary.failures}
        acknowledge_accepted(self.instance, summary.new_changes)
        if summary.nothing_new:
            return False
        found = len(summary.new_changes)
        if summary.unwatched:
            self.announce(f"{unwatched_text(summary.unwatched)}. {REWATCH}")
        self.announce(
            f"checked {counted(summary.traces, 'trace')}: {counted(summary.new, 'new change point')}, "
            + counted(found, "new change")
            + (f", and {summary.history_changes:,} that are history" if summary.history_changes else "")
        )
        return True


@dataclass
class _Lease:
    """Keeps claimed events from other workers while the work on them lasts."""

    instance: Instance
    clock: Callable[[], float]
    events: Sequence[Event]
    seconds: float
    _extend_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._extend_at = self.clock() + self.seconds / 2

    def extend(self, done: int, total: int) -> None:
        """Extend the lease when half of it is over; the alerts call this as they progress."""
        if done < total and self.clock() > self._extend_at:
            for event in self.events:
                self.instance.store.outbox.extend(event, self.seconds)
            self._extend_at = self.clock() + self.seconds / 2
