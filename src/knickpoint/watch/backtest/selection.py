"""Choose the traces that a backtest replays: those with a step behind the start, at any time, and those with a label.

Most traces never show a step, and need no replay. To find the others, the method runs over each trace as it was at
*checkpoints*, a few commits apart. A finding is announced only when it was found with the newest values one after the
other: with at least three, by default. So checkpoints three commits apart miss nothing that was announced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_steps_many, judges_groups
from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.store import Store
from knickpoint.watch.alert_run.run import Progress
from knickpoint.watch.detection.alert_window import blank_before_window, window_columns
from knickpoint.watch.detection.commit_values import block_bytes, read_commit_values, with_commit_values
from knickpoint.watch.detection.method_parameters import method_parameters

__all__ = ["MOST_JUDGED", "Checkpoints", "Selection", "plan_checkpoints", "sample_traces", "traces_with_steps"]

_CONSECUTIVE: Final = 3
"""The views without none, one and two of the newest values are always among those that settle a finding."""

MOST_JUDGED: Final = 400_000_000
"""Values that the method may read at checkpoints: more commits lie between these where a store has more values."""

_BLOCK_BYTES: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The positions at which traces are looked at, ascending, and how many commits lie between two of them.

    ``exact`` says that no announced finding can lie between two of them unseen.
    """

    positions: tuple[int, ...]
    apart: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """The traces to replay (ascending), and those with steps that were left out to bound the cost."""

    traces: tuple[int, ...]
    left_out: int


def plan_checkpoints(alert: Alert, commits: int, start: int, traces: int, *, most: int = MOST_JUDGED) -> Checkpoints:
    """Return the checkpoints behind ``start`` of a line of ``commits``, as dense as ``most`` values allow."""
    dense = max(1, min(_CONSECUTIVE, alert.settle_rule.needed(1)))
    apart = dense
    while apart < max(1, commits - start - 1) and traces * _judged(commits, start, apart) > most:
        apart += dense
    positions = _positions(commits, start, apart)
    return Checkpoints(positions, apart, exact=apart == dense)


def _positions(commits: int, start: int, apart: int) -> tuple[int, ...]:
    """Return every ``apart``-th position behind ``start``, and the last one."""
    found = list(range(start + apart, commits, apart))
    if commits and (not found or found[-1] != commits - 1):
        found.append(commits - 1)
    return tuple(found)


def _judged(commits: int, start: int, apart: int) -> int:
    return sum(position + 1 for position in _positions(commits, start, apart))


def traces_with_steps(
    store: Store,
    alert: Alert,
    line: Line,
    trace_ids: NDArray[np.int64],
    checkpoints: Checkpoints,
    *,
    start: int,
    progress: Progress | None = None,
) -> list[int]:
    """Return those of ``trace_ids`` (ascending) in which the method finds a step behind ``start`` at a checkpoint.

    With a method that judges groups, these are all: what it finds in one trace depends on the others.
    """
    if judges_groups(alert.method):
        return list(map(int, trace_ids))
    found: list[int] = []
    done = 0
    for frame in store.frames.blocks(line, trace_ids, memory=block_bytes(alert, _BLOCK_BYTES)):
        values = with_commit_values(frame, read_commit_values(store, alert, frame))
        rows = _rows_with_steps(alert, values, checkpoints.positions, start)
        found += [frame.traces[row].id for row in rows]
        done += len(frame.traces)
        if progress:
            progress(done, len(trace_ids))
    return found


def _rows_with_steps(
    alert: Alert, values: NDArray[np.floating[Any]], positions: Iterable[int], start: int
) -> list[int]:
    """Return the rows of ``values`` with a step behind ``start`` as of one of ``positions``, ascending."""
    held = ~np.isnan(values)
    open_rows = np.flatnonzero(held[:, start + 1 :].any(axis=1))
    # A row is judged only where a value arrived since the last checkpoint; a trace that never varied has no step.
    open_rows = open_rows[_varies(values[open_rows])]
    found: set[int] = set()
    before = start
    for position in positions:
        fresh = open_rows[held[open_rows, before + 1 : position + 1].any(axis=1)]
        before = position
        if not fresh.size:
            continue
        view = values[fresh, : position + 1]
        view = blank_before_window(view, window_columns(~np.isnan(view), alert.window))
        steps = find_steps_many(view, method=alert.method, threads=None, **method_parameters(alert))
        hits = [
            row for row, several in zip(fresh.tolist(), steps, strict=True) if any(s.index > start for s in several)
        ]
        found.update(hits)
        open_rows = np.setdiff1d(open_rows, hits)
    return sorted(found)


def _varies(values: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    low = np.nanmin(values, axis=1) if values.size else np.zeros(len(values))
    high = np.nanmax(values, axis=1) if values.size else np.zeros(len(values))
    varies: NDArray[np.bool_] = low != high
    return varies


def sample_traces(labelled: Iterable[int], stepping: Iterable[int], most: int) -> Selection:
    """Return all ``labelled`` traces, and of those that are ``stepping`` as many as fit into ``most``.

    Which ones fit depends on a hash of their ids, so it is the same in each backtest, and unrelated to names.
    """
    first = set(labelled)
    others = sorted(set(stepping) - first, key=_hash)
    room = max(0, most - len(first))
    return Selection(tuple(sorted(first | set(others[:room]))), max(0, len(others) - room))


def _hash(trace: int) -> bytes:
    return blake2b(str(trace).encode(), digest_size=8).digest()
