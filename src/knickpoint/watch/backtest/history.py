"""What a backtest replays: commits of one line in order, and the values of some traces at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Commit, Line
from knickpoint.model.frame import Trace
from knickpoint.store import PointSamples, Store

__all__ = ["ReplayHistory", "read_history"]


@dataclass(frozen=True)
class ReplayHistory:
    """Values of ``traces`` at ``commits``, shape (traces, commits), nan for missing.

    The replay begins behind the position ``start``: what is there up to it is known before, and is history; -1 begins with
    nothing. ``samples`` are what runs measured behind the values, None where the replay judges values alone. ``release`` is
    the position of the release with which the alert compares drifts, -1 for none.
    """

    repository: str
    commits: Sequence[Commit]
    traces: Sequence[Trace]
    values: NDArray[np.float64]
    start: int = -1
    samples: PointSamples | None = None
    release: int = -1


def read_history(
    store: Store, line: Line, trace_ids: Sequence[int], start: int, *, samples: bool = False
) -> ReplayHistory:
    """Read what is to be replayed of ``trace_ids`` on ``line``, with the ``samples`` of runs where these count."""
    slotted = {each.slot: each.commit for each in store.commits.get(line.repository, list(line.slots))}
    values = np.asarray(store.frames.values(line, trace_ids), dtype=np.float64)
    return ReplayHistory(
        repository=line.repository.name,
        commits=[slotted[slot] for slot in line.slots],
        traces=store.traces.get(trace_ids),
        values=values,
        start=start,
        samples=store.samples.read(line, np.array(trace_ids, dtype=np.int64)) if samples else None,
    )
