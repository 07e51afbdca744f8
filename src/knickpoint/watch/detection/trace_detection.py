"""Detect with one alert: read values in blocks, run the method on each trace, and describe what it found.

A runner whose workers reach the store gets the ids of traces instead of their values, so reading, digests and
descriptions are divided as detection is (``docs/decisions/runs-of-detection.md``); others get shards of values. Methods
that judge groups get whole groups (:mod:`knickpoint.watch.detection.clusters`).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import judges_groups
from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.model.errors import ServiceError, StoreError
from knickpoint.store import Store, StoreReference, open_reference, refer_to_file, refer_to_server
from knickpoint.store.traces.trace_chunks import CHUNK
from knickpoint.version import __version__
from knickpoint.watch.detection.alert_settings import DriftReference, find_reference, method_parameters
from knickpoint.watch.detection.clusters import Window, WindowStep, detect_group, group_ids, steps_in_window
from knickpoint.watch.detection.commit_values import block_bytes
from knickpoint.watch.detection.digests import Digester
from knickpoint.watch.detection.judged_rows import (
    AlertsOnLine,
    JudgedRows,
    Rows,
    Shard,
    cut_rows,
    detect_shard,
)
from knickpoint.watch.lines import Lines
from knickpoint.work import Place, Runner

_LOG: Final = logging.getLogger("knickpoint.watch")

_SHARD: Final = 256
"""Traces of a shard, in a run over few of them."""

_MANY_CHUNKS: Final = 16
"""From this many chunks of traces on, a shard is a whole chunk: no two workers read the same rows."""


@dataclass(frozen=True, slots=True)
class StoredShard:
    """Traces of a store, by id, and the alerts that judge them on ``lines[0]``.

    The other lines are its bases, in order.

    Drifts are compared with ``drifts_since``, with their start for None. ``version`` is that of the program that asks.
    """

    store: StoreReference
    alerts: Sequence[Alert]
    lines: Sequence[Line]
    digesters: Sequence[Digester]
    trace_ids: NDArray[np.int64]
    threads: int | None
    version: str = __version__
    drifts_since: DriftReference | None = None


@dataclass(frozen=True, slots=True)
class UnreadStore:
    """Why a worker could not open the store; the values have to be sent to it."""

    reason: str


def store_reference(store: Store, runner: Runner) -> StoreReference | None:
    """Return a reference to ``store`` for the place where ``runner`` works, None if values have to be sent."""
    try:
        match runner.place:
            case Place.HERE:
                return None
            case Place.THIS_MACHINE:
                return refer_to_file(store) or refer_to_server(store)
            case Place.CLUSTER:
                return refer_to_server(store)
    except StoreError as error:  # some servers tell nobody which cluster they are
        _LOG.warning("values are sent to the workers, since they cannot reach the store: %s", error)
        runner.unread = str(error)
        return None


def shard_ids(trace_ids: NDArray[np.int64], *, times: int = 1) -> Iterator[NDArray[np.int64]]:
    """Cut ``trace_ids``, ascending, into shards, ``times`` as large where the work on a trace is short."""
    chunks, firsts = np.unique(trace_ids // CHUNK, return_index=True)
    if chunks.size >= _MANY_CHUNKS and trace_ids.size >= chunks.size * _SHARD:
        yield from np.split(trace_ids, firsts[times::times])
        return
    for first in range(0, trace_ids.size, _SHARD * times):
        yield trace_ids[first : first + _SHARD * times]


def judge_stored_shard(shard: StoredShard) -> JudgedRows | UnreadStore:
    """Read the traces of ``shard``, judge them, all together where the method judges groups, and return what was found.

    Raises:
        ServiceError: this process has another version of Knickpoint.
        StoreError: the store was lost while it was read.
    """
    store = open_stored(shard.store, shard.version)
    if isinstance(store, UnreadStore):
        return store
    line = shard.lines[0]
    lines = Lines(store, line.repository, read=shard.lines)
    alerts = AlertsOnLine(shard.alerts, line, lines, shard.digesters, shard.drifts_since)
    if judges_groups(alerts.alert.method):
        return alerts.judged_group(detect_group(store, alerts.alert, alerts.line, shard.trace_ids.tolist()))
    frame = store.frames.read(alerts.line, shard.trace_ids)
    (rows,) = cut_rows(store, alerts.alert, frame, len(shard.trace_ids))
    return alerts.judged(rows, detect_shard(alerts.shard(rows, shard.threads)))


def open_stored(reference: StoreReference, version: str) -> Store | UnreadStore:
    """Open the store of work that ``version`` of the program sent here.

    Raises:
        ServiceError: this process has another version of Knickpoint.
    """
    if version != __version__:
        raise ServiceError(
            f"a worker has Knickpoint {__version__}, but the run uses {version}",
            remedy="Install the same version on all workers.",
        )
    try:
        return open_reference(reference)
    except StoreError as error:
        return UnreadStore(str(error))


# Cluster the traces of one large group window by window, each where a runner works.
#
# The windows of a group do not depend on each other, so that any number of workers finds what one process finds. A
# worker reads the values of its window from the store. See ``docs/decisions/runs-of-detection.md``.


LEAST_TRACES: Final = 8_192
"""Traces of a group from which on its windows are shared: fewer are clustered in less time than they are sent and read.
"""


@dataclass(frozen=True, slots=True)
class StoredWindow:
    """A window over traces of a store, by id; its columns are positions on ``line``.

    ``version`` is that of who asks.
    """

    store: StoreReference
    alert: Alert
    line: Line
    trace_ids: NDArray[np.int64]
    window: Window
    threads: int | None
    version: str = __version__


def cluster_stored_window(stored: StoredWindow) -> list[WindowStep] | UnreadStore:
    """Read the values of a window, cluster its traces, and return the steps of the clusters.

    Raises:
        ServiceError: this process has another version of Knickpoint.
        StoreError: the store was lost while it was read.
    """
    store = open_stored(stored.store, stored.version)
    if isinstance(store, UnreadStore):
        return store
    columns = stored.window.columns
    first, last = int(columns[0]), int(columns[-1])
    values = store.frames.values(stored.line, stored.trace_ids, first=first, last=last)
    return steps_in_window(values[:, columns - first], stored.window, stored.alert, threads=stored.threads)


@dataclass(frozen=True, slots=True)
class SharedWindows:
    """Have a runner cluster each window of one group, the widest first, as it takes longest."""

    runner: Runner
    store: StoreReference
    alert: Alert
    line: Line
    trace_ids: NDArray[np.int64]

    def __call__(self, windows: Sequence[Window]) -> Iterable[Sequence[WindowStep] | None]:
        """Return the steps of each window; None for those that a worker could not read."""
        threads = self.runner.cores or None
        sent = (
            StoredWindow(self.store, self.alert, self.line, self.trace_ids, window, threads)
            for window in reversed(windows)
        )
        found = list(self.runner.map(cluster_stored_window, sent))
        self.runner.unread = next((each.reason for each in found if isinstance(each, UnreadStore)), "")
        return [None if isinstance(each, UnreadStore) else each for each in reversed(found)]


_BLOCK_BYTES: Final = 256 * 2**20

_SHARD_BYTES: Final = 64 * 2**20

"""Traces whose values are sent to another process or machine at a time."""


def detection_key(alert: Alert) -> Hashable:
    """Return the key of the detection of ``alert``: alerts on one line with equal keys find the same steps in a trace.

    Alerts that judge groups, and alerts with a window, which depends on what they know, share with no other.
    """
    if judges_groups(alert.method) or alert.window:
        return alert.name
    return (
        alert.method,
        tuple(sorted(method_parameters(alert).items())),
        alert.settle_rule,
        alert.samples,
        alert.summary,
        alert.since,
    )


def detect_traces(
    store: Store, alerts: Sequence[Alert], line: Line, trace_ids: NDArray[np.int64], *, lines: Lines, runner: Runner
) -> Iterator[JudgedRows]:
    """Yield what each of ``alerts`` finds in ``trace_ids``, some rows at a time, before its filters.

    Nothing is written.

    The alerts have one :func:`detection_key`, so that one detection serves all of them. Traces come in their order,
    those of methods that judge groups in the order of the groups; where some workers cannot read the store, the traces
    that they were given come at the end. Errors are those of :func:`knickpoint.detect.find_steps_many` and
    :func:`.find_reference`.
    """
    digesters = [Digester(alert, line, lines) for alert in alerts]
    context = AlertsOnLine(alerts, line, lines, digesters, find_reference(alerts[0], line, lines))
    if judges_groups(context.alert.method):
        yield from _detect_together(store, context, trace_ids, runner)
        return
    reference = store_reference(store, runner)
    if reference is None:
        yield from _detect_values(store, context, trace_ids, runner)
    else:
        yield from _detect_stored(store, context, trace_ids, runner, reference)


def _detect_together(
    store: Store, context: AlertsOnLine, trace_ids: NDArray[np.int64], runner: Runner
) -> Iterator[JudgedRows]:
    """Detect in groups whose traces are judged together: workers that reach the store take whole groups.

    Of a single large group, workers of other machines take windows. The cores of this machine share the rows of each
    window.
    """
    groups = group_ids(store, context.alert, trace_ids)
    if len(groups) == 1 and len(groups[0]) >= LEAST_TRACES and runner.place is Place.CLUSTER:
        yield from _detect_in_windows(store, context, groups[0], runner)
        return
    reference = store_reference(store, runner) if len(groups) > 1 else None
    if reference is not None:
        lines = context.lines.with_bases(context.line)
        shards = (
            StoredShard(
                reference,
                context.alerts,
                lines,
                context.digesters,
                np.array(ids, dtype=np.int64),
                None,
                drifts_since=context.reference,
            )
            for ids in groups
        )
        judged = runner.map(judge_stored_shard, shards)
        runner.unread = ""
    for ids in groups:
        found = next(judged) if reference is not None else None
        if isinstance(found, UnreadStore):
            runner.unread = found.reason
        if not isinstance(found, JudgedRows):
            found = context.judged_group(detect_group(store, context.alert, context.line, ids))
        yield found


def _detect_in_windows(store: Store, context: AlertsOnLine, ids: Sequence[int], runner: Runner) -> Iterator[JudgedRows]:
    """Detect in a group whose windows are clustered by the workers that reach the store, and here without any."""
    alert, line = context.alert, context.line
    reference = store_reference(store, runner)
    if reference is None:
        found = detect_group(store, alert, line, ids)
    else:
        shared = SharedWindows(runner, reference, alert, line, np.array(ids, dtype=np.int64))
        found = detect_group(store, alert, line, ids, shared)
    yield context.judged_group(found)


def _detect_values(
    store: Store, context: AlertsOnLine, trace_ids: NDArray[np.int64], runner: Runner
) -> Iterator[JudgedRows]:
    """Read the values here, and send them to where they are judged."""
    alert = context.alert
    under_way: deque[Rows] = deque()

    def shards() -> Iterator[Shard]:
        for frame in store.frames.blocks(context.line, trace_ids, memory=block_bytes(alert, _BLOCK_BYTES)):
            # Everything at once, where the runner works in this process.
            for rows in cut_rows(store, alert, frame, len(frame.traces) if runner.cores == 0 else _SHARD):
                under_way.append(rows)
                yield context.shard(rows, runner.cores or None)

    # The runner takes shards ahead of the results that it gives back, and keeps their order.
    for detected in runner.map(detect_shard, shards()):
        yield context.judged(under_way.popleft(), detected)


def _detect_stored(
    store: Store, context: AlertsOnLine, trace_ids: NDArray[np.int64], runner: Runner, reference: StoreReference
) -> Iterator[JudgedRows]:
    """Have the workers read the values; what they cannot read is sent to them."""
    under_way: deque[NDArray[np.int64]] = deque()
    unread: list[NDArray[np.int64]] = []

    def shards() -> Iterator[StoredShard]:
        lines = context.lines.with_bases(context.line)
        memory = block_bytes(context.alert, _SHARD_BYTES)
        for ids in shard_ids(trace_ids):
            for part in store.frames.parts(context.line, ids, memory=memory):
                if unread:
                    unread.append(part)
                    continue
                under_way.append(part)
                yield StoredShard(
                    reference,
                    context.alerts,
                    lines,
                    context.digesters,
                    part,
                    runner.cores or None,
                    drifts_since=context.reference,
                )

    runner.unread = ""
    for judged in runner.map(judge_stored_shard, shards()):
        ids = under_way.popleft()
        if isinstance(judged, UnreadStore):
            if not unread:
                _LOG.warning(
                    "values are sent to the workers, since one of them cannot read the store: %s", judged.reason
                )
                runner.unread = judged.reason
            unread.append(ids)
        else:
            yield judged
    if unread:
        yield from _detect_values(store, context, np.sort(np.concatenate(unread)), runner)
