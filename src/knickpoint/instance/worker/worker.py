"""The worker of an instance: rounds of tasks, and threads that receive events, send, bisect and run schedules.

A round polls the sources, follows the repositories, runs the alerts over what changed and, by schedule, over
everything, ranks suspects, reads tickets, syncs trackers, reports notices, seals full tiles and applies the retention
rules. The order matters: results that a round imports are judged in the same round.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.instance.alert_definition import read_alert_files
from knickpoint.instance.alert_round import forget_audit_entries, forget_events, forget_values, rank_new_suspects
from knickpoint.instance.instance import Instance
from knickpoint.instance.notices import find_notices
from knickpoint.instance.quarantine import QuarantineRounds, call_hooks
from knickpoint.instance.separate_import import separate_reader
from knickpoint.instance.trackers import sync_tracker, trackers
from knickpoint.instance.worker.alert_runs import AlertRuns
from knickpoint.instance.worker.heartbeat import Heartbeat
from knickpoint.instance.worker.task_runner import (
    Announce,
    Bisecting,
    Failures,
    NoMeasures,
    Scheduling,
    Sending,
    Task,
    TaskRunner,
    WorkMeasures,
)
from knickpoint.model.plain_text import counted
from knickpoint.model.service_part import WORKER_PARTS, ServicePart

if TYPE_CHECKING:
    from knickpoint.ingest import ImportSummary, WatchedSource
    from knickpoint.ingest.settings import SourceSettings
    from knickpoint.instance.relay import Relay

_MOST_NOTICES: Final = 20
_HOUR_SECONDS: Final = 3600.0
_SCHEMA_SECONDS: Final = 30.0
_CONNECTION: Final = "connection"
"""The task around all rounds of tasks."""


@dataclass
class Worker:
    """Does the work of an instance in rounds, or the part of importing alone.

    Any number of them may share one instance.

    Each piece of work is done by one of them: workers claim events with leases, and imports are exactly once. A task
    that fails is announced once and tried again after a growing pause; the other tasks go on. ``store.workers`` has the
    state of each worker.

    Attributes:
        instance: the open instance.
        announce: receives one line about each thing that the worker did or failed to do.
        clock: seconds that only grow; for tests.
        name: name of the worker in the store.
        parts: which of the parts `worker` and `ingest` it runs.
        measures: receives how long methods detect, and how long results waited.
    """

    instance: Instance
    announce: Announce = lambda _line: None
    clock: Callable[[], float] = time.monotonic
    name: str = field(default_factory=lambda: f"{socket.gethostname()}/{os.getpid()}/{threading.get_ident()}")
    parts: frozenset[ServicePart] = WORKER_PARTS
    measures: WorkMeasures = field(default_factory=NoMeasures)
    _tasks: TaskRunner = field(init=False)
    _alerts: AlertRuns = field(init=False)
    _heartbeat: Heartbeat = field(init=False)
    _quarantines: QuarantineRounds = field(init=False)
    _sending: Sending = field(init=False)
    _scheduling: Scheduling = field(init=False)
    _bisecting: Bisecting = field(init=False)
    _uses_nats: bool = field(default=False, init=False)
    _nats_failures: Mapping[str, Failures] = field(default_factory=dict, init=False)
    _sources: dict[str, WatchedSource] = field(default_factory=dict, init=False)
    _announced_notices: frozenset[object] = field(default=frozenset(), init=False)
    _ranked: str | None = field(default=None, init=False)
    _data: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Check that everything is there that the configuration asks for.

        Raises:
            ConfigError: it asks for NATS, and something for it is missing.
        """
        from knickpoint.instance.relay import uses_nats

        self._uses_nats = uses_nats(self.instance.config, self.instance.directory)
        self._tasks = TaskRunner(self.announce, self.clock)
        self._alerts = AlertRuns(self.instance, self.name, self.announce, self.clock, self.measures)
        self._quarantines = QuarantineRounds(self.instance)
        self._heartbeat = Heartbeat(self.instance.store, self.name, self.clock, self.parts)
        self._sending = Sending(self.instance, self.name, self.announce, self.clock)
        self._scheduling = Scheduling(self.instance, self.name, self.announce, self.clock)
        self._bisecting = Bisecting(self.instance, self.name, self.announce, self.clock)

    @property
    def under_way(self) -> Sequence[str]:
        """The tasks that run now: one of the rounds, and one of each kind of work beside them."""
        current = self._tasks.current
        beside = (each.current for each in (self._sending, self._scheduling, self._bisecting))
        return [name for name in ("" if current == _CONNECTION else current, *beside) if name]

    def run(self, stop: threading.Event) -> None:
        """Work until ``stop`` is set, and finish the current task; no failure ends it before."""
        with ExitStack() as stack:
            for each in (self._sending, self._scheduling, self._bisecting) if ServicePart.WORKER in self.parts else ():
                stack.enter_context(each.beside(stop))
            self._tasks.run("worker", self._beat)  # the first round may take long
            while not stop.is_set():
                self._tasks.run(_CONNECTION, lambda: self._run_rounds(stop))
                failures = self._tasks.failures.get(_CONNECTION)
                if failures is not None:
                    stop.wait(max(0.0, failures.retry_at - self.clock()))
        self._tasks.run("worker", self._end_heartbeat)

    def _run_rounds(self, stop: threading.Event) -> bool:
        """Run round after round, with a connection to NATS where the configuration names a server."""
        from knickpoint.instance.relay import listen_to_outbox

        with ExitStack() as stack:
            relay = stack.enter_context(self._relay()) if self._uses_nats else None
            if relay is None:
                listen_to_outbox(self.instance.store, wanted=False)
            while not stop.is_set():
                if relay is not None:
                    relay.check()
                    self._note_nats(relay.trouble)
                busy = self.step(stop)
                self._tasks.recover(_CONNECTION)
                if not busy:
                    stop.wait(self.instance.config.worker.poll_seconds)
        return True

    def once(self, stop: threading.Event | None = None) -> None:
        """Run one round: import what NATS announces, do all tasks, send what is due, and publish the events to NATS."""
        if self._uses_nats:
            self._relay().once()
        self.step(stop)
        if ServicePart.WORKER in self.parts:
            self._bisecting.once(stop)
            self._sending.once(stop)
        if self._uses_nats:
            self._relay().once()
        self._tasks.run("worker", self._end_heartbeat)

    def _relay(self) -> Relay:
        from knickpoint.instance.relay import Relay

        return Relay(
            self.instance,
            self.name,
            self.announce,
            publishes=ServicePart.WORKER in self.parts,
            receives=ServicePart.INGEST in self.parts,
        )

    def step(self, stop: threading.Event | None = None) -> bool:
        """Run one round of tasks; return whether there was anything to do.

        ``stop`` ends the round between two tasks. Where a newer version of Knickpoint has migrated the store, no task
        runs.
        """
        tasks: list[tuple[str, Task]] = []
        if ServicePart.INGEST in self.parts:
            tasks += self._ingest_tasks(stop)
        if ServicePart.WORKER in self.parts:
            tasks += self._worker_tasks()
        self._tasks.run("schema", self._check_schema)
        if "schema" in self._tasks.failures:
            tasks.clear()
        busy = False
        for name, task in tasks:
            if stop is not None and stop.is_set():
                break
            busy = self._tasks.run(name, task) or busy
        self._tasks.run("worker", self._beat)
        return busy

    def _ingest_tasks(self, stop: threading.Event | None) -> Sequence[tuple[str, Task]]:
        return ("sources", partial(self._poll_sources, stop)), ("history", self._follow_history)

    def _worker_tasks(self) -> Sequence[tuple[str, Task]]:
        return (
            ("alert files", self._read_alert_files),
            ("data", self._name_data),
            ("quarantine", self._quarantine),
            ("alerts over what changed", self._alerts.over_changes),
            ("alerts over everything", self._run_scheduled_alerts),
            ("suspects", self._rank_suspects),
            ("tickets", self._read_tickets),
            ("trackers", self._sync_trackers),
            ("notices", self._announce_notices),
            ("sealing", self._seal),
            ("forgetting", self._forget),
        )

    def release(self) -> int:
        """Give back the events that this worker holds, for another one; return how many. It must not work any more."""
        return self.instance.store.outbox.release_all(self.name)

    # --- the tasks -----------------------------------------------------------------------------------

    def _check_schema(self) -> bool:
        if self._tasks.is_due("schema", _SCHEMA_SECONDS):
            self.instance.store.check_schema()
        return False

    def _poll_sources(self, stop: threading.Event | None) -> bool:
        """Poll each source as a task of its own, so that one that fails does not hold up the others.

        Sources with many files take turns until all are imported, and alerts judge what is complete.
        """
        busy, left = False, list(self.instance.ingest.sources.items())
        while left and not (stop is not None and stop.is_set()):
            polls = {
                name: self._tasks.run(f"source {name}", partial(self._poll_source, name, settings))
                for name, settings in left
            }
            busy = busy or any(polls.values())
            left = [(name, settings) for name, settings in left if polls[name] and self._sources[name].unfinished]
        return busy

    def _poll_source(self, name: str, settings: SourceSettings) -> bool:
        from knickpoint.ingest import WatchedSource

        source = self._sources.setdefault(
            name, WatchedSource(self.instance, name, settings, separate_reader(self.instance))
        )
        if not self._tasks.is_due(f"source {name}", settings.every_seconds) and not source.unfinished:
            return False
        return self._announce_import(source.poll())

    def _follow_history(self) -> bool:
        from knickpoint.ingest import retry_waiting

        if not self._tasks.is_due("history", self.instance.config.worker.history_seconds):
            return False
        return self._announce_import(retry_waiting(self.instance, reader=separate_reader(self.instance)))

    def _read_alert_files(self) -> bool:
        if not self._tasks.is_due("alert files", self.instance.config.worker.history_seconds):
            return False
        for reading in read_alert_files(self.instance):
            self.announce(reading.text)
        return False

    def _announce_import(self, summary: ImportSummary) -> bool:
        for outcome in summary.files:
            for line in outcome.lines():
                self.announce(line)
        for line in summary.remarks:
            self.announce(line)
        return bool(summary.files)

    def _name_data(self) -> bool:
        """Name the data that this round begins with: most rounds find the same as before, and have nothing to do."""
        self._data = None
        self._data = self._data_id()
        return False

    def _data_id(self) -> str | None:
        database = self.instance.store.database
        with database.reading(named=True) as connection:
            return database.snapshot_id(connection)

    def _quarantine(self) -> bool:
        """Quarantine results of machines that moved before alerts see them, and call hooks about them."""
        lines = [*self._quarantines.run(data=self._data), *call_hooks(self.instance)]
        for line in lines:
            self.announce(line)
        return bool(lines)

    def _run_scheduled_alerts(self) -> bool:
        due = self._tasks.is_due("everything", self.instance.config.worker.every_seconds)
        return self._alerts.by_schedule(everything=due, data=self._data)

    def _read_tickets(self) -> bool:
        settings = self.instance.config.tickets
        if not settings.file or not self._tasks.is_due("tickets", settings.every_seconds):
            return False
        from knickpoint.instance.trackers import import_tickets, read_ticket_file

        rows = read_ticket_file(self.instance.directory / Path(settings.file).expanduser())
        imported = import_tickets(self.instance.store, rows, replace=True)
        if imported.changed:
            self.announce(
                f"imported {counted(imported.tickets, 'ticket')}, which changed {counted(imported.changed, 'finding')}"
            )
        return False

    def _sync_trackers(self) -> bool:
        """Sync each tracker as a task of its own, so that one that fails does not hold up the others."""
        for name in trackers(self.instance):
            self._tasks.run(f"tracker {name}", partial(self._sync_tracker, name))
        return False

    def _sync_tracker(self, name: str) -> bool:
        if not self._tasks.is_due(f"tracker {name}", self.instance.config.tickets.sync_seconds):
            return False
        done = sync_tracker(self.instance, name)
        for ticket in done.compared:
            self.announce(f"tracker {name}: {ticket.name} was closed with {ticket.fixed[:10]}: {ticket.verdict.value}")
        return False

    def _rank_suspects(self) -> bool:
        """Rank the suspects of what is new or changed; nothing can be while the store holds the same data.

        What changed since the round began is seen by the next one.
        """
        if self._data is not None and self._data == self._ranked:
            return False
        data = self._data_id()
        ranked = rank_new_suspects(self.instance)
        self._ranked = data
        return bool(ranked)

    def _announce_notices(self) -> bool:
        """Announce each notice once, and again only after it was gone."""
        if not self._tasks.is_due("notices", self.instance.config.worker.every_seconds):
            return False
        current = {
            (each.kind, each.repository, each.trace, each.slot, each.changes): each
            for each in find_notices(self.instance)
        }
        new = [notice for key, notice in current.items() if key not in self._announced_notices]
        for notice in new[:_MOST_NOTICES]:
            self.announce(notice.text)
        if len(new) > _MOST_NOTICES:
            self.announce(f"… and {len(new) - _MOST_NOTICES:,} more: see knick doctor")
        self._announced_notices = frozenset(current)
        return False

    def _seal(self) -> bool:
        due = self._tasks.is_due("seal", self.instance.config.worker.seal_seconds)
        return due and bool(self.instance.store.seal())

    def _forget(self) -> bool:
        if self._tasks.is_due("forget", _HOUR_SECONDS):
            for line in forget_events(self.instance):
                self.announce(line)
            if deleted := forget_audit_entries(self.instance):
                self.announce(f"audit log: deleted {counted(deleted, 'old entry', 'old entries')}")
            self.instance.store.sessions.forget(datetime.now(UTC))
            self.instance.store.database.forget_ended_connections()
        if self._tasks.is_due("retention", self.instance.config.retention.every_hours * _HOUR_SECONDS):
            for name, lost in forget_values(self.instance).items():
                lost_values = f"{counted(lost.samples, 'sample')} and {counted(lost.points, 'point')}"
                lost_values += f", {counted(lost.profiles, 'profile')}" if lost.profiles else ""
                self.announce(f"retention: deleted {lost_values} of {name}")
        return False

    def _note_nats(self, trouble: str) -> None:
        """Report a failure of NATS as long as it lasts; the connection itself tries again, and the rounds go on."""
        before = self._nats_failures.get("NATS")
        self._nats_failures = {"NATS": before or Failures(1, trouble, self.clock())} if trouble else {}

    def _beat(self) -> bool:
        beside = (self._sending, self._scheduling, self._bisecting)
        failures = dict(self._tasks.failures) | dict(self._nats_failures)
        failures |= {name: f for each in beside for name, f in each.failures.items()}
        self._heartbeat.beat(failures, self.instance.unread)
        return False

    def _end_heartbeat(self) -> bool:
        self._heartbeat.end()
        return True
