"""Look at traces with one alert: read their values in blocks, detect, and place what was found."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_steps_many, judges_groups
from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.regression import Sighting
from knickpoint.model.step import Step
from knickpoint.store import Store
from knickpoint.watch.detection.alert_window import Spans, known_columns, spans_of, within
from knickpoint.watch.detection.clusters import look_together
from knickpoint.watch.detection.digests import Digester, fold
from knickpoint.watch.detection.sightings import group_key, sightings_of
from knickpoint.watch.lines import Lines
from knickpoint.work import Runner

__all__ = ["Look", "Shard", "detect_shard", "look"]

_SHARD: Final = 256
"""Traces sent to another process or machine at a time."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one alert found in one trace, before its filters.

    ``measured`` are the positions on the line at which the trace has a value, ascending. The alert reports what lies
    after the position ``judged``; sightings up to there say only which known ones are still seen (see
    :mod:`knickpoint.watch.detection.alert_window`). ``digest`` stands for everything that this depends on: see
    :mod:`knickpoint.watch.detection.digests`.
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


@dataclass(frozen=True, slots=True)
class _Piece:
    """Rows of a frame from ``first`` on, and where they are looked at."""

    frame: Frame
    first: int
    spans: Spans


@dataclass(frozen=True, slots=True)
class _Looker:
    """What is needed to say what an alert found on a line."""

    store: Store
    alert: Alert
    line: Line
    lines: Lines
    digester: Digester

    def known(self, frame: Frame, first: int, count: int) -> list[Sequence[int]]:
        """Return the columns of the change points that the alert knows in some rows of ``frame``."""
        ids = [trace.id for trace in frame.traces[first : first + count]]
        known = known_columns(self.store, self.alert, self.line, ids, first=frame.first)
        return [known.get(key, ()) for key in ids]

    def pieces(self, frame: Frame, runner: Runner) -> Iterator[tuple[_Piece, Shard]]:
        """Cut ``frame`` into what is sent to the runner at a time."""
        rows = max(1, len(frame.traces) if runner.cores == 0 else _SHARD)
        for first in range(0, len(frame.traces), rows):
            values = frame.values[first : first + rows]
            spans = spans_of(~np.isnan(values), self.alert.window, self.known(frame, first, len(values)))
            shard = Shard(within(values, spans), self.alert.method, dict(self.alert.parameters), runner.cores or None)
            yield _Piece(frame, first, spans), shard

    def looks(
        self, piece: _Piece, found: Sequence[Sequence[Step]], *, group_anchor: int | None = None
    ) -> Iterator[Look]:
        """Yield the look at each row of ``piece``; ``group_anchor`` is the column that all of a group begin at."""
        frame, spans = piece.frame, piece.spans
        values = frame.values[piece.first : piece.first + len(found)]
        traces = frame.traces[piece.first : piece.first + len(found)]
        if group_anchor is None:
            digests = self.digester.rows(traces, frame.slots, values, spans.anchor)
        else:
            digests = self.digester.rows(traces, frame.slots, values)
            digests = fold(self.alert, traces, digests, {group_key(self.alert, traces[0]): group_anchor})
        held = ~np.isnan(values)
        for row, (trace, steps, digest) in enumerate(zip(traces, found, digests.tolist(), strict=True)):
            sightings = sightings_of(self.alert.name, frame, piece.first + row, steps, self.lines)
            yield Look(
                trace,
                np.flatnonzero(held[row]) + frame.first,
                frame.first + int(spans.reported[row]),
                tuple(sightings),
                digest,
            )


def look(
    store: Store, alert: Alert, line: Line, trace_ids: NDArray[np.int64], *, lines: Lines, runner: Runner
) -> Iterator[Look]:
    """Yield what ``alert`` finds in each of ``trace_ids``, in their order; nothing is written.

    Errors are those of :func:`knickpoint.detect.find_steps_many`.
    """
    looker = _Looker(store, alert, line, lines, Digester(alert, line, lines))
    if judges_groups(alert.method):
        for grouped in look_together(store, alert, line, trace_ids):
            piece = _Piece(grouped.frame, 0, grouped.spans)
            yield from looker.looks(piece, grouped.steps, group_anchor=grouped.anchor)
        return
    under_way: deque[_Piece] = deque()

    def shards() -> Iterator[Shard]:
        for frame in store.frames.blocks(line, trace_ids):
            for piece, shard in looker.pieces(frame, runner):
                under_way.append(piece)
                yield shard

    for found in runner.map(detect_shard, shards()):
        yield from looker.looks(under_way.popleft(), found)
