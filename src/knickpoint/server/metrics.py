"""Collect the metrics of an instance and of its machine, for Prometheus to fetch, or to be sent to Graphite."""

from __future__ import annotations

import logging
import os
import platform
import shutil
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, get_args

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.bridge.graphite import GraphiteBridge
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from knickpoint.access.local_user import local_caller
from knickpoint.answers.health import State, list_alerts, list_workers
from knickpoint.answers.schedules import list_schedules
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.instance import Instance
from knickpoint.instance.config.settings import MonitoringSettings, graphite_address, graphite_prefix
from knickpoint.instance.worker.heartbeat import oldest_waiting_results, waiting_events
from knickpoint.model.bisection import BisectionState
from knickpoint.model.commit import Repository
from knickpoint.model.errors import KnickpointError
from knickpoint.model.service_part import WORKER_PARTS, ServicePart
from knickpoint.server.process_metrics import ProcessMetrics
from knickpoint.store import FileState, Store
from knickpoint.store.findings.selection import Selection

# Measure the machine of a process for its metrics: processors, load, memory, and the disk of the instance.
#
# A container sees its host, for that is what runs short.


_MEMORY: Final = Path("/proc/meminfo")
_STATES: Final = {"MemTotal": "total", "MemAvailable": "available"}
_KIB: Final = 1024


def host_gauges(directory: Path) -> Iterator[GaugeMetricFamily]:
    """Yield the gauges of this machine and of the disk that holds ``directory``.

    What a system does not say is left out.
    """
    yield GaugeMetricFamily("knickpoint_host_processors", "Processors of the machine.", value=os.cpu_count() or 1)
    with_load = getattr(os, "getloadavg", None)
    if with_load is not None:
        about = "Processes that run or wait for a processor or a disk, as a mean of the last minute."
        yield GaugeMetricFamily("knickpoint_host_load", about, value=with_load()[0])
    yield _by_state("knickpoint_host_memory_bytes", "Memory of the machine.", _memory())
    try:
        disk = shutil.disk_usage(directory)
    except OSError:
        return
    about = "The disk that holds the directory of the instance."
    yield _by_state("knickpoint_host_disk_bytes", about, {"total": disk.total, "available": disk.free})


def _by_state(name: str, about: str, sizes: dict[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=["state"])
    for state, size in sizes.items():
        family.add_metric([state], size)
    return family


def _memory() -> dict[str, int]:
    """Return the bytes of memory by state, {} where the system is not Linux."""
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    sizes = dict(line.split(":", 1) for line in lines if ":" in line)
    return {state: int(sizes[name].split()[0]) * _KIB for name, state in _STATES.items() if name in sizes}


# Collect the metrics of an instance for Prometheus.
#
# These metrics are gauges. They describe what the store holds, so every scrape reads the store, and it does not matter
# which process answers. What the process itself counts, and what it uses, is in
# :mod:`knickpoint.server.process_metrics` and :mod:`knickpoint.server.process_metrics`.


_DEVICE_PERIOD: Final = timedelta(days=7)
_WORK: Final = Selection(history=False)
_HISTORY: Final = Selection(history=True)


def render_metrics(metrics: Collector) -> str:
    """Return ``metrics`` in the text format of Prometheus.

    Raises:
        StoreError: the store cannot be read.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    return generate_latest(registry).decode()


def _gauge(
    name: str, help_text: str, labels: Sequence[str], samples: Iterable[tuple[Sequence[str], float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"knickpoint_{name}", help_text, labels=labels)
    for values, number in samples:
        family.add_metric(values, number)
    return family


@dataclass(frozen=True, eq=False)
class InstanceMetrics(Collector):
    """The metrics of an instance, read from its store, and those that a process counted, from ``counted``.

    They are those of the repositories that the caller may read. Events, and the machine, are for callers who may read
    all.
    """

    instance: Instance
    visible: VisibleRepositories
    counted: Sequence[CollectorRegistry] = ()

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics.

        Raises:
            StoreError: the store cannot be read.
        """
        yield from self._stored()
        if self.visible.is_everything:
            yield from host_gauges(self.instance.directory)
        for registry in self.counted:
            yield from registry.collect()

    def _stored(self) -> Iterator[GaugeMetricFamily]:
        store = self.instance.store
        yield from _repository_gauges(store, self.visible.all())
        if self.visible.is_everything:
            yield from _event_gauges(self.instance)
            yield from _file_gauges(store)
            yield from _store_gauges(store)
            yield from _delivery_gauges(store)
        yield from _search_gauges(store, self.visible.all())
        yield from _schedule_gauges(self.instance, self.visible)
        yield from _alert_gauges(self.instance, self.visible)
        yield from _worker_gauges(self.instance, self.visible)


def _repository_gauges(store: Store, repositories: Sequence[Repository]) -> Iterator[GaugeMetricFamily]:
    labels = ["repository"]
    yield _gauge("traces", "Traces.", labels, [([each.name], store.traces.count(each)) for each in repositories])
    yield _gauge(
        "commits",
        "Commits of the default line.",
        labels,
        [([each.name], len(store.commits.line(each).slots)) for each in repositories],
    )
    yield _gauge(
        "changes_unprocessed",
        "Unprocessed regressions and improvements after the history boundary.",
        labels,
        [([each.name], store.findings.count(each, processed=False, selection=_WORK)) for each in repositories],
    )
    yield _gauge(
        "changes_history",
        "Unprocessed regressions and improvements that are history.",
        labels,
        [([each.name], store.findings.count(each, processed=False, selection=_HISTORY)) for each in repositories],
    )


def _event_gauges(instance: Instance) -> Iterator[GaugeMetricFamily]:
    waiting = [([each.consumer, each.kind.value], each.count) for each in waiting_events(instance)]
    yield _gauge("events_waiting", "Events to be processed.", ["consumer", "kind"], waiting)
    yield _gauge("events_failed", "Events that failed for good.", [], [([], len(instance.store.outbox.dead()))])

    oldest = oldest_waiting_results(instance)
    yield _gauge(
        "events_oldest_time",
        "When the oldest results that the alerts have not judged were stored, seconds since 1970.",
        [],
        [([], oldest.timestamp())] if oldest else [],
    )


def _file_gauges(store: Store) -> Iterator[GaugeMetricFamily]:
    counts = store.ledger.counts()
    states = [([state.value], counts.get(state, 0)) for state in FileState]
    yield _gauge("files", "Results files by state.", ["state"], states)


def _store_gauges(store: Store) -> Iterator[GaugeMetricFamily]:
    size = store.database.size()
    yield _gauge("store_bytes", "Size of the store.", [], [([], size)])


def _delivery_gauges(store: Store) -> Iterator[GaugeMetricFamily]:
    counts = store.notifications.counts()
    channels = [([channel, state.value], count) for (channel, state), count in sorted(counts.items(), key=str)]
    yield _gauge("deliveries", "Messages by channel and state.", ["channel", "state"], channels)
    due = store.notifications.next_due()
    yield _gauge(
        "delivery_due_time",
        "When the message that waits longest was due, or the next one is, seconds since 1970.",
        [],
        [([], due.timestamp())] if due else [],
    )


def _search_gauges(store: Store, repositories: Sequence[Repository]) -> Iterator[GaugeMetricFamily]:
    """Yield the gauges of bisections, and of the devices that they and schedules measured on."""
    counts = store.bisections.counts(repositories)
    yield _gauge(
        "bisections",
        "Bisections by state.",
        ["repository", "state"],
        [
            ([each.name, state.value], counts.get((each.id, state), 0))
            for each in repositories
            for state in BisectionState
        ],
    )
    used = store.bisections.device_use(repositories, datetime.now(UTC) - _DEVICE_PERIOD)
    labels = ["device"]
    made = [([use.name], use.probes) for use in used]
    lost = [([use.name], use.lost) for use in used]
    seen = [([use.name], use.last.timestamp()) for use in used]
    yield _gauge("device_probes", "Probes of the device in the last 7 days.", labels, made)
    yield _gauge("device_probes_lost", "Probes of the last 7 days during which the device was lost.", labels, lost)
    yield _gauge("device_used_time", "When its last probe began or ended, seconds since 1970.", labels, seen)


def _schedule_gauges(instance: Instance, visible: VisibleRepositories) -> Iterator[GaugeMetricFamily]:
    schedules = list_schedules(instance, visible)
    yield _gauge(
        "schedule_up",
        "1 where the schedule keeps up and can run.",
        ["schedule"],
        [([each.name], not each.problem) for each in schedules],
    )
    yield _gauge(
        "schedule_commits_waiting",
        "New commits to choose from.",
        ["schedule"],
        [([each.name], each.new) for each in schedules],
    )
    yield _gauge(
        "scheduled_probes",
        "Measurements by state.",
        ["schedule", "state"],
        [([each.name, state], count) for each in schedules for state, count in each.states.items()],
    )


def _alert_gauges(instance: Instance, visible: VisibleRepositories) -> Iterator[GaugeMetricFamily]:
    alerts = list_alerts(instance, visible, warnings=False)
    yield _gauge(
        "alert_up", "1 where the alert can run.", ["alert"], [([each.name], not each.failure) for each in alerts]
    )
    yield _gauge(
        "alert_run_seconds",
        "Duration of the last run.",
        ["alert"],
        [([each.name], each.seconds) for each in alerts if each.seconds is not None],
    )
    yield _gauge(
        "alert_run_time",
        "Start of the last run, seconds since 1970.",
        ["alert"],
        [([each.name], each.last_run.timestamp()) for each in alerts if each.last_run is not None],
    )


def _worker_gauges(instance: Instance, visible: VisibleRepositories) -> Iterator[GaugeMetricFamily]:
    """Yield the gauges of all workers together.

    The name of a worker has its process and its thread. As a label, it would begin a new series at each start.
    """
    workers = list_workers(instance, visible, datetime.now(UTC))
    states = Counter(each.state for each in workers)
    yield _gauge("workers", "Workers by state.", ["state"], [([state], states[state]) for state in get_args(State)])
    yield _gauge(
        "workers_slowed",
        "Workers that are slower than they could be, as those who detect for them cannot read the store.",
        [],
        [([], sum(bool(each.slowed) for each in workers))],
    )
    yield _gauge(
        "worker_failures",
        "Consecutive failures of the worker that has most of them.",
        [],
        [([], max((each.failures for each in workers), default=0))],
    )
    running = Counter(part for each in workers if each.state != "lost" for part in each.parts)
    yield _gauge(
        "part_workers",
        "Workers that run a part of the instance, without lost ones.",
        ["part"],
        [([part.value], running[part]) for part in ServicePart if part in WORKER_PARTS],
    )
    yield _gauge(
        "worker_seen_time",
        "Newest heartbeat of any worker, seconds since 1970.",
        [],
        [([], max(each.seen for each in workers).timestamp())] if workers else [],
    )


_LOG: Final = logging.getLogger("knickpoint.graphite")
_TIMEOUT_SECONDS: Final = 10.0


@contextmanager
def sending_to_graphite(instance: Instance, process_metrics: ProcessMetrics, process: str) -> Iterator[None]:
    """Send all metrics while a ``with`` lasts, where the configuration names a server; each new failure is logged once.

    ``process`` is the name of this process among those of its machine. The first values are sent at once, and the last
    ones at the end. A value that cannot be sent is lost: the next one tells as much.
    """
    settings = instance.config.monitoring
    address = graphite_address(settings)
    if address is None:
        yield
        return
    stop = threading.Event()
    visible = VisibleRepositories(instance.store, local_caller())
    metrics = InstanceMetrics(instance, visible, process_metrics.registries)
    bridge = GraphiteBridge(address, metrics, timeout_seconds=_TIMEOUT_SECONDS)
    sender = _Sender(bridge, settings, graphite_prefix(settings, platform.node(), process))
    thread = threading.Thread(target=sender.run, args=(stop,), name="knickpoint-graphite", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(_TIMEOUT_SECONDS)


class _Sender:
    """Pushes until it is stopped."""

    def __init__(self, bridge: GraphiteBridge, settings: MonitoringSettings, prefix: str) -> None:
        self._bridge = bridge
        self._settings = settings
        self._prefix = prefix
        self._failure = ""

    def run(self, stop: threading.Event) -> None:
        while True:
            self._push()
            if stop.wait(self._settings.graphite_seconds):
                break
        self._push()

    def _push(self) -> None:
        try:
            self._bridge.push(prefix=self._prefix)
        except (OSError, KnickpointError) as error:
            if str(error) != self._failure:
                _LOG.warning("metrics cannot be sent to Graphite at %s: %s", self._settings.graphite, error)
            self._failure = str(error)
        else:
            if self._failure:
                _LOG.warning("metrics are sent to Graphite at %s again", self._settings.graphite)
            self._failure = ""
