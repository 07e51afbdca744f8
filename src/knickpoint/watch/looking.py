"""Look at traces with one alert: read their values in blocks, detect, and place what was found."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_steps_many
from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.regression import Sighting
from knickpoint.model.step import Step
from knickpoint.store import Store
from knickpoint.watch.clusters import look_together
from knickpoint.watch.judged import Digester, fold
from knickpoint.watch.lines import Lines
from knickpoint.watch.seeing import sightings_of
from knickpoint.work import Runner

__all__ = ["Look", "Shard", "detect_shard", "in_window", "look"]

_SHARD: Final = 256
"""Traces sent to another process or machine at a time."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one alert found in one trace, before its filters.

    ``measured`` are the positions on the line at which the trace has a value, ascending, and ``judged`` the
    first of them that the alert looked at (the length of the line where there is none). ``digest`` stands for
    everything that this depends on: see :mod:`knickpoint.watch.judged`.
    """

    trace: Trace
    measured: NDArray[np.int64]
    judged: int
    sightings: tuple[Sighting, ...]
    digest: int


@dataclass(frozen=True, slots=True)
class Shard:
    """Values of some traces, and how to judge them; it can be sent to another process."""

    values: NDArray[np.floating[Any]]
    method: str
    parameters: Mapping[str, float | int | str | bool]
    threads: int | None


def detect_shard(shard: Shard) -> list[list[Step]]:
    """Return the steps of each trace of ``shard``."""
    if not shard.values.shape[1]:
        return [[] for _ in shard.values]
    return find_steps_many(shard.values, method=shard.method, threads=shard.threads, **shard.parameters)


def in_window(values: NDArray[np.floating[Any]], window: int) -> NDArray[np.floating[Any]]:
    """Return ``values`` (traces x commits) with only the last ``window`` measured ones of each trace, 0 for all."""
    if not window:
        return values
    held = ~np.isnan(values)
    newer = np.cumsum(held[:, ::-1], axis=1)[:, ::-1]
    return np.where(newer > window, np.nan, values)


def _shards(frame: Frame, alert: Alert, runner: Runner) -> Iterator[tuple[Frame, int, Shard]]:
    rows = len(frame.traces) if runner.cores == 0 else _SHARD
    for first in range(0, len(frame.traces), max(1, rows)):
        values = in_window(frame.values[first : first + rows], alert.window)
        yield frame, first, Shard(values, alert.method, dict(alert.parameters), runner.cores or None)


@dataclass(frozen=True, slots=True)
class _Looker:
    """What is needed to tell what an alert found on a line."""

    alert: Alert
    lines: Lines
    digester: Digester

    def looks(self, frame: Frame, first: int, shard: Shard, found: Sequence[Sequence[Step]]) -> Iterator[Look]:
        values = frame.values[first : first + len(found)]
        traces = frame.traces[first : first + len(found)]
        digests = self.digester.rows(traces, frame.slots, values)
        if self.alert.method == "cluster":
            digests = fold(self.alert, traces, digests)
        held = ~np.isnan(values)
        for row, (trace, steps, digest) in enumerate(zip(traces, found, digests.tolist(), strict=True)):
            judged = np.flatnonzero(~np.isnan(shard.values[row]))
            sightings = sightings_of(self.alert.name, frame, first + row, steps, self.lines)
            yield Look(
                trace,
                np.flatnonzero(held[row]) + frame.first,
                frame.first + int(judged[0]) if judged.size else len(frame.line.slots),
                tuple(sightings),
                digest,
            )


def look(
    store: Store, alert: Alert, line: Line, trace_ids: NDArray[np.int64], *, lines: Lines, runner: Runner
) -> Iterator[Look]:
    """Yield what ``alert`` finds in each of ``trace_ids``, in their order; nothing is written.

    Errors are those of :func:`knickpoint.detect.find_steps_many`.
    """
    looker = _Looker(alert, lines, Digester(alert, line, lines))
    if alert.method == "cluster":
        for grouped in look_together(store, alert, line, trace_ids):
            shard = Shard(grouped.frame.values, alert.method, {}, None)
            yield from looker.looks(grouped.frame, 0, shard, grouped.steps)
        return
    under_way: deque[tuple[Frame, int, Shard]] = deque()

    def shards() -> Iterator[Shard]:
        for frame in store.frames.blocks(line, trace_ids):
            for item in _shards(frame, alert, runner):
                under_way.append(item)
                yield item[2]

    for found in runner.map(detect_shard, shards()):
        frame, first, shard = under_way.popleft()
        yield from looker.looks(frame, first, shard, found)
