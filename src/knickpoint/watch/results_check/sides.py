"""Both sides of a check: the new results by key, and the history of the same keys up to the base."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.samples import summary_of
from knickpoint.model.commit import Line
from knickpoint.model.errors import HistoryError
from knickpoint.model.frame import Trace
from knickpoint.model.report import Outcome, RunReport
from knickpoint.model.summary import MEDIAN, Summary
from knickpoint.model.unit import Better, read_unit
from knickpoint.store import Store
from knickpoint.watch.absence.vanished_traces import failed_positions, find_vanished
from knickpoint.watch.detection.commit_values import read_summaries

__all__ = ["History", "NewResults", "StoredHistory", "base_position", "gather"]


@dataclass(slots=True)
class NewResults:
    """The new results of one key: by dimension, a value and its unit for each run; messages of failures and skips.

    Values are ``nan`` where a run has too few samples for the summary that is asked for; ``most`` is the largest number of
    samples of a run.
    """

    measured: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    better: Better = Better.UNKNOWN
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    most: int = 0

    @property
    def runs(self) -> int:
        """The number of runs that measured it, or failed."""
        return max((len(values) for values in self.measured.values()), default=0) + len(self.failed)


def gather(runs: Sequence[RunReport], summary: Summary = MEDIAN) -> dict[str, NewResults]:
    """Gather one value a run and key: the ``summary`` of the run's samples; a point of the history is their median."""
    found: dict[str, NewResults] = {}
    for run in runs:
        samples: dict[tuple[str, str], list[float]] = {}
        for key, result in zip(run.results.keys, run.results, strict=True):
            new = found.setdefault(key, NewResults())
            if result.outcome is Outcome.FAILED:
                new.failed.append(result.message)
            if result.outcome is Outcome.SKIPPED:
                new.skipped.append(result.message)
            if result.samples:
                samples.setdefault((key, result.unit), []).extend(result.samples)
                new.better = result.better if new.better is Better.UNKNOWN else new.better
        for (key, unit), values in samples.items():
            measured = found[key].measured.setdefault(read_unit(unit).dimension, [])
            found[key].most = max(found[key].most, len(values))
            measured.append((summary_of(np.asarray(values, dtype=np.float64), summary), unit))
    return found


@dataclass(frozen=True)
class History(ABC):
    """What is known of some keys up to the base.

    ``traces`` are those of the keys, and ``values`` their traces x points, oldest first: a point is a commit of a line, or a
    run of a file. ``judged`` are the values that new results are compared with: the same, unless a summary of the samples
    is, or samples stand for runs.
    """

    traces: tuple[Trace, ...]
    values: NDArray[np.float64]
    judged: NDArray[np.float64]

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there is no base at all."""

    @abstractmethod
    def failed_at(self, key: str) -> int:
        """Return the newest point at which ``key`` failed, -1 for none."""

    @abstractmethod
    def at(self, point: int) -> str:
        """Say where a point was measured: "at 1a2b3c4d5e6f", "in before.json"."""

    @abstractmethod
    def better(self, trace: Trace) -> Better | None:
        """Return the direction that the history has of ``trace``, None where the new results may state it."""

    @abstractmethod
    def lacking(self, shared: Mapping[str, str], submitted: Collection[int]) -> list[tuple[Trace, str]]:
        """Return the traces that the base has with all params of ``shared`` and that are not ``submitted``, by key.

        Each comes with the place where it was last measured, in words.
        """

    @cached_property
    def measured(self) -> NDArray[np.int64]:
        """The points at which any of the traces was measured."""
        return np.flatnonzero((~np.isnan(self.values)).any(axis=0))

    @cached_property
    def newest(self) -> list[int]:
        """The last point at which each trace was measured, -1 for never."""
        return [int(np.flatnonzero(~np.isnan(row)).max(initial=-1)) for row in self.values]

    @cached_property
    def rows(self) -> dict[str, list[int]]:
        """Key → rows of its traces, one for each dimension."""
        found: dict[str, list[int]] = {}
        for row, trace in enumerate(self.traces):
            found.setdefault(trace.key, []).append(row)
        return found

    def of(self, key: str) -> dict[str, int]:
        """Return dimension → row of the traces of a key that were measured, the last measured one first."""
        rows = [row for row in self.rows.get(key, []) if self.newest[row] >= 0]
        rows.sort(key=lambda row: -self.newest[row])
        return {self.traces[row].dimension: row for row in rows}


@dataclass(frozen=True)
class StoredHistory(History):
    """What the store knows of some keys on ``line`` up to and including the position ``last``; points are positions."""

    store: Store
    line: Line
    last: int

    @classmethod
    def read(cls, store: Store, line: Line, last: int, keys: Iterable[str], summary: Summary = MEDIAN) -> StoredHistory:
        """Read the history of ``keys`` on ``line`` up to and including the position ``last``, -1 for none."""
        ids = sorted(number for found in store.traces.find_ids(line.repository, keys).values() for number in found)
        values = judged = np.empty((len(ids), 0))
        if ids and last >= 0 and summary != MEDIAN:
            frame = store.frames.read(line, ids, last=last)
            values, judged = np.asarray(frame.values, dtype=np.float64), read_summaries(store, frame, summary)
        elif ids and last >= 0:
            values = judged = np.asarray(store.frames.values(line, ids, last=last), dtype=np.float64)
        return cls(tuple(store.traces.get(ids)), values, judged, store, line, last)

    @property
    def is_empty(self) -> bool:
        """Whether there is no base at all."""
        return self.last < 0

    def failed_at(self, key: str) -> int:
        """Return the newest point at which ``key`` failed, -1 for none."""
        return self._failures.get(key, -1)

    @cached_property
    def _failures(self) -> Mapping[str, int]:
        return failed_positions(self.store, self.line, self.last) if self.last >= 0 else {}

    def at(self, point: int) -> str:
        """Say where a point was measured: at its commit."""
        return self._at_slot(self.line.slots[point])

    def _at_slot(self, slot: int) -> str:
        return f"at {self.store.commits.get(self.line.repository, [slot])[0].commit.hash[:12]}"

    def better(self, trace: Trace) -> Better | None:
        """Return the direction that the history has of ``trace``, None where the new results may state it."""
        decided = trace.better is not Better.UNKNOWN or self.store.traces.has_configured_direction(trace)
        return trace.better if decided else None

    def lacking(self, shared: Mapping[str, str], submitted: Collection[int]) -> list[tuple[Trace, str]]:
        """Return the traces that the base has with all params of ``shared`` and that are not ``submitted``, by key."""
        found = find_vanished(
            self.store, self.line, self.last, shared=shared, submitted=submitted, measured=self.measured
        )
        names = {slot: self._at_slot(slot) for slot in {vanished.slot for vanished in found}}
        return [(vanished.trace, names[vanished.slot]) for vanished in found]


def base_position(line: Line, base: int | None) -> int:
    """Return the position of the base on the line, -1 for none."""
    if base is None:
        return -1
    if base not in line.positions:
        raise HistoryError(
            f"the base commit (slot {base}) is not on the line {line.name!r}",
            where=line.repository.name,
            remedy="Name a commit of that line, such as the merge base.",
        )
    return line.positions[base]
