"""Keep an instance going: take in what arrives, run alerts over what changed, seal what is full."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.instance.heartbeat import Presence, Trouble
from knickpoint.instance.instance import Instance
from knickpoint.instance.notices import find_notices
from knickpoint.instance.retention import forget_events, forget_values
from knickpoint.model.errors import KnickpointError, StoreError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from knickpoint.ingest import ImportSummary, WatchedSource
    from knickpoint.ingest.settings import SourceSettings
    from knickpoint.instance.relay import Relay
    from knickpoint.store import Event

__all__ = ["Announce", "Notify", "Worker"]

_LOG: Final = logging.getLogger("knickpoint.worker")
_BATCH: Final = 256
_MOST_NOTICES: Final = 20
_HOUR_SECONDS: Final = 3600.0

Announce = Callable[[str], None]
"""Is told, in one line, what the worker did or could not do."""

Notify = Callable[["Event"], None]
"""Delivers what an event about findings says; raises a ``KnickpointError`` to have it tried again."""


@dataclass
class Worker:
    """Does the work of an instance in rounds; any number of workers may share one instance.

    Every piece of work is done by one of them: events are claimed with leases, imports are exactly once. A piece
    of work that fails, for whatever reason, is told once, and tried again after a pause that grows; the others go
    on, and nothing that was done before is lost. How a worker does stands in ``store.workers``.

    Attributes:
        instance: the open instance.
        announce: is told what happened.
        notify: delivers findings; without it, such events stay for a worker that does.
        clock: seconds that only grow; for tests.
        name: what the worker is called in the outbox.
    """

    instance: Instance
    announce: Announce = lambda _line: None
    notify: Notify | None = None
    clock: Callable[[], float] = time.monotonic
    name: str = field(default_factory=lambda: f"{socket.gethostname()}/{os.getpid()}/{threading.get_ident()}")
    troubles: dict[str, Trouble] = field(default_factory=dict, init=False)
    _due: dict[str, float] = field(default_factory=dict)
    _watched: dict[str, WatchedSource] = field(default_factory=dict)
    _relays: bool = field(default=False, init=False)
    _alert_failures: dict[str, str] = field(default_factory=dict, init=False)
    _noticed: frozenset[object] = field(default=frozenset(), init=False)
    _presence: Presence = field(init=False)

    def __post_init__(self) -> None:
        """See that what the configuration asks for is there.

        Raises:
            ConfigError: it asks for NATS, and something for it is missing.
        """
        from knickpoint.instance.relay import uses_nats

        self._relays = uses_nats(self.instance.config, self.instance.directory)
        self._presence = Presence(self.instance.store, self.name, self.clock)

    def run(self, stop: threading.Event) -> None:
        """Work until ``stop`` is set; the round that is under way is finished.

        Nothing that goes wrong ends it before.
        """
        while not stop.is_set():
            self._attempt("connection", lambda: self._keep_on(stop))
            trouble = self.troubles.get("connection")
            if trouble is not None:
                stop.wait(max(0.0, trouble.until - self.clock()))
        self._attempt("worker", self._leave)

    def _keep_on(self, stop: threading.Event) -> bool:
        """Do round after round, beside the relay where there is one."""
        from knickpoint.instance.relay import listen_to_outbox

        with ExitStack() as stack:
            relay = stack.enter_context(self._relay()) if self._relays else None
            if relay is None:
                listen_to_outbox(self.instance.store, wanted=False)
            while not stop.is_set():
                if relay is not None:
                    relay.check()
                busy = self.step(stop)
                self._is_well("connection")
                if not busy:
                    stop.wait(self.instance.config.worker.poll_seconds)
        return True

    def _leave(self) -> bool:
        self._presence.end()
        return True

    def once(self, stop: threading.Event | None = None) -> None:
        """Do one round of everything: what NATS has for us, the work, and what we have for NATS."""
        if self._relays:
            self._relay().once()
        self.step(stop)
        if self._relays:
            self._relay().once()
        self._attempt("worker", self._leave)

    def _relay(self) -> Relay:
        from knickpoint.instance.relay import Relay

        return Relay(self.instance, self.name, self.announce)

    def step(self, stop: threading.Event | None = None) -> bool:
        """Do one round; tell whether there was anything to do.

        ``stop`` ends a round between two pieces of work.
        """
        pieces: Sequence[tuple[str, Callable[[], bool]]] = (
            ("sources", self._poll_sources),
            ("history", self._follow_history),
            ("alerts over what changed", self._look_at_changes),
            ("alerts over everything", self._look_at_everything),
            ("tickets", self._read_tickets),
            ("notices", self._notice),
            ("notifications", self._deliver),
            ("sealing", self._seal),
            ("forgetting", self._forget),
        )
        busy = False
        for name, piece in pieces:
            if stop is not None and stop.is_set():
                break
            busy = self._attempt(name, piece) or busy
        self._attempt("worker", self._be_seen)
        return busy

    def _attempt(self, name: str, piece: Callable[[], bool]) -> bool:
        """Do a piece of work, unless it rests; what goes wrong with it is told, and ends nothing else."""
        trouble = self.troubles.get(name)
        if trouble is not None and self.clock() < trouble.until:
            return False
        due = dict(self._due)
        try:
            busy = piece()
        except KnickpointError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, the worker has to go on
            _LOG.exception("%s failed", name)
            reason = f"it failed unexpectedly, the log has the details: {error!r}"
        else:
            self._is_well(name)
            return busy
        self._due = due
        if self.troubles.setdefault(name, Trouble()).add(reason, self.clock()):
            self.announce(f"{name}: {reason}")
        return False

    def _is_well(self, name: str) -> None:
        if self.troubles.pop(name, None) is not None:
            self.announce(f"{name}: all is well again")

    def _be_seen(self) -> bool:
        self._presence.tell(self.troubles)
        return False

    def _is_due(self, what: str, every_seconds: float) -> bool:
        """Tell whether ``what`` is to be done now, and note when it is next."""
        now = self.clock()
        if now < self._due.get(what, now):
            return False
        self._due[what] = now + every_seconds
        return True

    def _poll_sources(self) -> bool:
        polls = [
            self._attempt(f"source {name}", partial(self._poll_source, name, settings))
            for name, settings in self.instance.ingest.sources.items()
        ]
        return any(polls)

    def _poll_source(self, name: str, settings: SourceSettings) -> bool:
        from knickpoint.ingest import WatchedSource

        if not self._is_due(f"source {name}", settings.every_seconds):
            return False
        return self._tell(self._watched.setdefault(name, WatchedSource(self.instance, name, settings)).poll())

    def _follow_history(self) -> bool:
        from knickpoint.ingest import retry_waiting

        if not self._is_due("history", self.instance.config.worker.history_seconds):
            return False
        return self._tell(retry_waiting(self.instance))

    def _look_at_changes(self) -> bool:
        """Run alerts over the traces of events; an event is done when its findings are written."""
        import numpy as np

        from knickpoint.store import EventKind, unpack_ids

        outbox = self.instance.store.outbox
        seconds = self.instance.config.worker.lease_seconds
        events: list[Event] = []
        ids: list[NDArray[np.int64]] = []
        for event in outbox.claim([EventKind.TRACES_CHANGED], self.name, seconds, _BATCH):
            try:
                ids.append(unpack_ids(event.payload))
            except (KeyError, ValueError, TypeError) as error:
                outbox.fail(event, f"the event cannot be read: {error!r}")
            else:
                events.append(event)
        if not events:
            return False
        lease = _Lease(self, events, seconds)
        try:
            self._run_alerts(np.unique(np.concatenate(ids)), lease.keep)
        except StoreError:  # has nothing to do with the events, which are as good as before
            for event in events:
                outbox.release(event)
            raise
        except Exception as error:
            for event in events:
                outbox.fail(event, str(error) or repr(error))
            raise
        for event in events:
            outbox.done(event)
        return True

    def _look_at_everything(self) -> bool:
        if not self._is_due("everything", self.instance.config.worker.every_seconds):
            return False
        return self._run_alerts(None, None)

    def _read_tickets(self) -> bool:
        settings = self.instance.config.tickets
        if not settings.file or not self._is_due("tickets", settings.every_seconds):
            return False
        from knickpoint.instance.ticket_import import put_rows, read_ticket_file

        rows = read_ticket_file(self.instance.directory / Path(settings.file).expanduser())
        done = put_rows(self.instance.store, rows, replace=True)
        if done.changed:
            self.announce(f"tickets: {done.tickets:,} of them, which changed {done.changed:,} findings")
        return False

    def _notice(self) -> bool:
        """Say what is to be noticed: each thing once, until it is over."""
        if not self._is_due("notices", self.instance.config.worker.every_seconds):
            return False
        now = {
            (own.kind, own.repository, own.trace, own.slot, own.regressions): own for own in find_notices(self.instance)
        }
        fresh = [notice for key, notice in now.items() if key not in self._noticed]
        for notice in fresh[:_MOST_NOTICES]:
            self.announce(notice.text)
        if len(fresh) > _MOST_NOTICES:
            self.announce(f"… and {len(fresh) - _MOST_NOTICES:,} more: see knick doctor")
        self._noticed = frozenset(now)
        return False

    def _run_alerts(self, traces: NDArray[np.int64] | None, progress: Callable[[int, int], None] | None) -> bool:
        from knickpoint.watch.alert_run.run import run_alerts

        summary = run_alerts(
            self.instance.store,
            self.instance.alerts,
            traces=traces,
            progress=progress,
            as_work=self.instance.config.history.as_work,
        )
        for name, reason in summary.failures.items():
            if self._alert_failures.get(name) != reason:
                self.announce(f"alert {name!r} could not run: {reason}")
        self._alert_failures = dict(summary.failures)
        if summary.nothing_new:
            return False
        found = len(summary.new_regressions)
        self.announce(
            f"looked at {summary.traces:,} traces: {summary.new:,} new change points, {found:,} new regressions"
            + (f", and {summary.history_regressions:,} that are history" if summary.history_regressions else "")
        )
        return True

    def _deliver(self) -> bool:
        if self.notify is None:
            return False
        from knickpoint.store import EventKind

        outbox, lease = self.instance.store.outbox, self.instance.config.worker.lease_seconds
        events = outbox.claim([EventKind.REGRESSIONS_CHANGED], self.name, lease, _BATCH)
        for event in events:
            try:
                self.notify(event)
            except Exception as error:  # noqa: BLE001  # one event that cannot be delivered must not hold up the others
                if not isinstance(error, KnickpointError):
                    _LOG.exception("a notification failed")
                outbox.fail(event, str(error) or repr(error))
                self.announce(f"notification: {error}")
            else:
                outbox.done(event)
        return bool(events)

    def _seal(self) -> bool:
        if not self._is_due("seal", self.instance.config.worker.seal_seconds):
            return False
        return bool(self.instance.store.seal())

    def _forget(self) -> bool:
        if self._is_due("forget", _HOUR_SECONDS):
            for line in forget_events(self.instance):
                self.announce(line)
        if self._is_due("retention", self.instance.config.retention.every_hours * _HOUR_SECONDS):
            for name, lost in forget_values(self.instance).items():
                self.announce(f"retention: {lost.samples:,} samples and {lost.points:,} points of {name} are forgotten")
        return False

    def _tell(self, summary: ImportSummary) -> bool:
        for outcome in summary.files:
            for line in outcome.lines():
                self.announce(line)
        for line in summary.remarks:
            self.announce(line)
        return bool(summary.files)


@dataclass
class _Lease:
    """Keeps events ours while work on them takes long."""

    worker: Worker
    events: Sequence[Event]
    seconds: float
    until: float = field(init=False)

    def __post_init__(self) -> None:
        self.until = self.worker.clock() + self.seconds / 2

    def keep(self, done: int, total: int) -> None:
        """Extend the lease when half of it is over; called again and again while work goes on."""
        if done < total and self.worker.clock() > self.until:
            for event in self.events:
                self.worker.instance.store.outbox.extend(event, self.seconds)
            self.until = self.worker.clock() + self.seconds / 2
