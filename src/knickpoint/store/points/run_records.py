"""Records of runs: what the store says of a run, of its points, and of what writing it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.report import Outcome, Result

__all__ = ["Changes", "Put", "Receipt", "Run", "RunPoint"]


class Put(Enum):
    """Say what became of a run that was put into the store."""

    NEW = "new"
    SAME = "same"
    CORRECTION = "correction"
    RERUN = "rerun"


@dataclass(frozen=True)
class Changes:
    """What a correction changed: each trace's value in this run before and after, NaN where it had or has none."""

    trace_ids: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    before: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    after: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.trace_ids)


@dataclass(frozen=True)
class Receipt:
    """What :meth:`Runs.put` did.

    ``trace_ids`` are the traces of the run, sorted; ``new_traces`` those that did not exist before.
    """

    outcome: Put
    run_id: int
    trace_ids: NDArray[np.int64]
    new_traces: NDArray[np.int64]
    changes: Changes


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the store keeps it; ``unmeasured`` are results without a value that made no trace."""

    id: int
    repository_id: int
    slot: int
    identity: str
    content_hash: str
    source: str
    entry: str
    branch: str
    time: datetime | None
    environment: Mapping[str, str]
    links: Mapping[str, str]
    revisions: Mapping[str, str]
    created: datetime
    corrections: int
    unmeasured: tuple[Result, ...] = ()


@dataclass(frozen=True, slots=True)
class RunPoint:
    """What one run gave to one point.

    ``samples`` are in ``unit``, as they came; ``value`` is their median in the trace's unit, NaN unless
    measured.
    """

    run: Run
    trace_id: int
    outcome: Outcome
    value: float
    unit: str
    samples: tuple[float, ...]
    message: str = ""
