"""Judge a shard of traces where a runner works: read it from the store there, and bring back only what was found.

The process that runs an alert sends the ids of traces instead of their values, so reading, digests and descriptions are
divided as detection is. See ``docs/decisions/runs-of-detection.md``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
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
from knickpoint.watch.detection.alert_settings import DriftReference
from knickpoint.watch.detection.clusters import Window, WindowStep, detect_group, steps_in_window
from knickpoint.watch.detection.digests import Digester
from knickpoint.watch.detection.judged_rows import AlertsOnLine, JudgedRows, cut_rows, detect_shard
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
        _LOG.warning("values are sent to the workers, as the store cannot be named to them: %s", error)
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
            f"a worker has Knickpoint {__version__}, and was asked by {version}",
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
