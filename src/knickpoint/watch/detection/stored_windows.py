"""Cluster the traces of one large group window by window, each where a runner works.

The windows of a group do not depend on each other, so that any number of workers finds what one process finds. A worker reads the
values of its window from the store. See ``docs/decisions/runs-of-detection.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.store import StoreReference
from knickpoint.version import __version__
from knickpoint.watch.detection.cluster_windows import Window, WindowStep, steps_in_window
from knickpoint.watch.detection.stored_shards import UnreadStore, open_stored
from knickpoint.work import Runner

__all__ = ["LEAST_TRACES", "SharedWindows", "StoredWindow", "cluster_stored_window"]

LEAST_TRACES: Final = 8_192
"""Traces of a group from which on its windows are shared: fewer are clustered in less time than they are sent and read."""


@dataclass(frozen=True, slots=True)
class StoredWindow:
    """A window over traces of a store, by id; its columns are positions on ``line``. ``version`` is that of who asks."""

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
