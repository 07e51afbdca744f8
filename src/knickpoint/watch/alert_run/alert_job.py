"""Plan what one alert does in one repository: its line, its traces, and those of them that changed."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.model.errors import KnickpointError, StoreError
from knickpoint.store import Store
from knickpoint.watch.detection.alert_settings import find_reference, watched_traces, whole_groups
from knickpoint.watch.detection.digests import WholeChunks, changed_traces, unchanged_traces
from knickpoint.watch.lines import Lines

_LOG: Final = logging.getLogger("knickpoint.watch")
_NO_IDS: Final = np.empty(0, dtype=np.int64)
_NO_DIGESTS: Final = np.empty(0, dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class AlertJob:
    """One alert on one line, and the traces that a run is about.

    ``watched`` counts the traces of the alert; ``trace_ids`` are those of them that the run is about, ``due`` those
    of them in which it has to detect, and ``known_digests`` the digests of these before the run, one each, 0 for
    none. ``complete`` says that the run is about all traces of the alert. ``kept`` counts the sightings in traces
    that are not due. ``failure`` says why the alert cannot run, "" where it can; then no trace is due. ``whole`` are
    the digests of whole chunks before any value was read, by chunk. ``seconds`` is the time that planning took.
    """

    alert: Alert
    line: Line
    watched: int = 0
    trace_ids: NDArray[np.int64] = field(default_factory=_NO_IDS.copy)
    due: NDArray[np.int64] = field(default_factory=_NO_IDS.copy)
    known_digests: NDArray[np.uint64] = field(default_factory=_NO_DIGESTS.copy)
    complete: bool = False
    whole: Mapping[int, int] = field(default_factory=dict)
    kept: int = 0
    failure: str = ""
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    seconds: float = 0.0


def failure_of(alert: Alert, error: Exception) -> str:
    """Return the reason for which ``alert`` failed, so that the other alerts can go on.

    An error of the store is not about the alert, and is raised.
    """
    if isinstance(error, StoreError):
        raise error
    if isinstance(error, KnickpointError):
        return str(error)
    _LOG.error("the alert %r failed", alert.name, exc_info=error)
    return f"it failed unexpectedly: {error!r}"


def unable_job(alert: Alert, reason: str, lines: Lines) -> AlertJob:
    """Return the job of an alert that cannot run, for the record."""
    return AlertJob(alert, lines.default, failure=reason)


def plan_jobs(
    store: Store,
    alerts: Sequence[Alert],
    lines: Lines,
    *,
    traces: NDArray[np.int64] | None = None,
    afresh: bool = False,
) -> list[AlertJob]:
    """Return the jobs of those of ``alerts`` that watch the repository of ``lines``, in their order.

    ``traces`` are those of an event: only these are due, with their groups where an alert judges traces together.
    Without them the run is complete, and all traces are due that changed since the alert's last run, or with ``afresh``
    all that there are.
    """
    renames = {rename.old: rename.new for rename in store.traces.renames.all(lines.repository)}
    chunks = WholeChunks(store, lines, renames)
    touched = traces if traces is None else _with_successors(traces, renames)
    return [
        _plan(store, alert, lines, touched, chunks, afresh=afresh) for alert in alerts if _watches(store, alert, lines)
    ]


def _with_successors(traces: NDArray[np.int64], renames: Mapping[int, int]) -> NDArray[np.int64]:
    """Return ``traces`` and those that continue them, sorted: a late value of the old one is a value of the new one."""
    found = set(traces.tolist()) if renames else set()
    reached = found & renames.keys()
    while reached:
        later = {renames[old] for old in reached} - found
        found |= later
        reached = later & renames.keys()
    return np.array(sorted(found), dtype=np.int64) if renames else traces


def _watches(store: Store, alert: Alert, lines: Lines) -> bool:
    """Return True if ``alert`` is about this repository: an alert for all repositories may name a line of some."""
    if alert.repository:
        return alert.repository == lines.repository.name
    return not alert.line or alert.line in store.commits.lines(lines.repository)


def _plan(
    store: Store, alert: Alert, lines: Lines, traces: NDArray[np.int64] | None, chunks: WholeChunks, *, afresh: bool
) -> AlertJob:
    begun = time.perf_counter()
    job = AlertJob(alert, lines.default, complete=traces is None)
    try:
        # The traces that the run is about.
        line = lines.existing(alert.line)
        find_reference(alert, line, lines)  # raises where there is none
        ids = watched_traces(store, alert, lines.repository)
        if chunks.renames:
            ids = np.setdiff1d(ids, sorted(chunks.renames))
        job = replace(job, line=line, watched=ids.size)
        if traces is not None:
            ids = whole_groups(store, alert, ids, traces)
        job = replace(job, trace_ids=ids)

        # Those of them that changed.
        known = store.findings.digests.get(alert.name, ids)
        whole = chunks.digests(alert, line, ids) if job.complete else {}
        due = ids
        if job.complete and not afresh:
            left = ~unchanged_traces(alert, ids, known, store.findings.digests.whole(alert.name), whole)
            due = changed_traces(store, alert, line, ids=ids[left], known=known[left], lines=lines)
        chosen = np.isin(ids, due, assume_unique=True)
        unchanged = ids[~chosen].tolist()
        kept = store.findings.sightings.count(alert.name, unchanged) if unchanged else 0
        job = replace(job, due=due, known_digests=known[chosen], whole=whole, kept=kept)
    except Exception as error:  # noqa: BLE001  # a defect of one alert must not stop the others
        job = replace(job, failure=failure_of(alert, error))
    return replace(job, seconds=time.perf_counter() - begun)
