"""Records of runs: what is to be written, what the write did, and what the store keeps of a run and of its points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.report import Outcome, Result, RunReport

__all__ = ["Receipt", "Run", "RunHead", "RunKind", "RunPoint", "RunWrite", "ValueChanges"]


@dataclass(frozen=True, slots=True)
class RunWrite:
    """A run that the store is asked to write.

    Attributes:
        slot: the slot of its commit.
        report: what the run measured.
        identity: what makes it this run and no other: its CI run id, or a hash of its content.
        content_hash: the hash of the content of the run; the same identity with another hash is a correction.
        source: where it came from, such as the path of a file.
        branch: "" for the branch that the report names.
    """

    slot: int
    report: RunReport
    identity: str
    content_hash: str
    source: str
    branch: str = ""


class RunKind(Enum):
    """Say what a written run is, compared with what was stored before.

    NEW is the first to measure its traces at its commit. SAME was stored with this content before; nothing changes.
    A CORRECTION replaces a stored run of its identity. A RERUN is new too, but one of its traces had a value of
    another run at its commit.
    """

    NEW = "new"
    SAME = "same"
    CORRECTION = "correction"
    RERUN = "rerun"


def _no_ids() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


def _no_values() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True)
class ValueChanges:
    """What a correction changed: each trace's value in this run before and after, NaN where it had or has none."""

    trace_ids: NDArray[np.int64] = field(default_factory=_no_ids)
    before: NDArray[np.float64] = field(default_factory=_no_values)
    after: NDArray[np.float64] = field(default_factory=_no_values)

    def __len__(self) -> int:
        return len(self.trace_ids)


@dataclass(frozen=True)
class Receipt:
    """What a write did with one run.

    ``trace_ids`` are the traces of the run, sorted, none for a run that is the SAME; ``new_traces`` those that did
    not exist before, and ``other_units`` those of them whose keys have older traces, in units that do not convert.
    """

    kind: RunKind
    run_id: int
    trace_ids: NDArray[np.int64] = field(default_factory=_no_ids)
    new_traces: NDArray[np.int64] = field(default_factory=_no_ids)
    other_units: NDArray[np.int64] = field(default_factory=_no_ids)
    changes: ValueChanges = field(default_factory=ValueChanges)


@dataclass(frozen=True, slots=True)
class RunHead:
    """The least of a run: which it is, the commit that it measured, and its environment."""

    id: int
    slot: int
    identity: str
    environment: Mapping[str, str]


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
