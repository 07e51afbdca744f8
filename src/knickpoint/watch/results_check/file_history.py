"""The runs of a results file as the history that other results are compared with.

A point of this history is a run; where the runs are of several commits, it is a commit, as in the store. Where no benchmark has as
many runs as a verdict needs, the samples of the runs stand for them: they tell how single values scatter, and nothing of
what differs between runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family import FEWEST, NEWEST
from knickpoint.model.direction import DirectionRule, configured_better
from knickpoint.model.frame import Trace
from knickpoint.model.params import decode_key
from knickpoint.model.report import RunReport
from knickpoint.model.summary import MEDIAN, Summary
from knickpoint.model.unit import Better, convert, read_unit
from knickpoint.watch.absence.vanished_traces import is_held
from knickpoint.watch.results_check.sides import History, NewResults, gather

__all__ = ["FileHistory"]

_WINDOW: Final = 20
"""How many of the newest points show whether a benchmark is measured as a rule, as in the history of the store."""


@dataclass(frozen=True)
class FileHistory(History):
    """What the results file ``name`` says; points are its runs, or the commits that they measured.

    ``by_samples`` says that samples stand for runs. ``rules`` say which direction is better in ``repository``.
    """

    name: str
    failed: Mapping[str, int]
    by_samples: bool
    rules: Sequence[DirectionRule]
    repository: str

    @classmethod
    def from_runs(
        cls,
        runs: Sequence[RunReport],
        name: str,
        *,
        summary: Summary = MEDIAN,
        rules: Sequence[DirectionRule] = (),
        repository: str = "",
    ) -> FileHistory:
        """Return the history that the ``runs`` of a file are, in their order."""
        points = [gather(point, summary) for point in _points(runs)]
        traces, values = _traces(points)
        counts = np.count_nonzero(~np.isnan(values), axis=1)
        judged, by_samples = values, False
        if summary == MEDIAN and counts.max(initial=0) < FEWEST:
            samples = _samples(runs, traces)
            if np.count_nonzero(~np.isnan(samples), axis=1).max(initial=0) >= FEWEST:
                judged, by_samples = samples, True
        failed = {key: at for at, point in enumerate(points) for key, results in point.items() if results.failed}
        return cls(tuple(traces), values, judged, name, failed, by_samples, rules, repository)

    @property
    def is_empty(self) -> bool:
        """Whether there is no base at all."""
        return not self.traces

    def failed_at(self, key: str) -> int:
        """Return the newest point at which ``key`` failed, -1 for none."""
        return self.failed.get(key, -1)

    def at(self, point: int) -> str:  # noqa: ARG002 - a file is one place
        """Say where a point was measured: in the file."""
        return f"in {self.name}"

    def better(self, trace: Trace) -> Better | None:
        """Return the direction that the history has of ``trace``, None where the new results may state it."""
        configured = configured_better(self.rules, self.repository, decode_key(trace.key))
        stated = trace.better if trace.better is not Better.UNKNOWN else None
        return stated if configured is None else configured

    def lacking(self, shared: Mapping[str, str], submitted: Collection[int]) -> list[tuple[Trace, str]]:
        """Return the traces that the base has with all params of ``shared`` and that are not ``submitted``, by key."""
        held = ~np.isnan(self.values[:, self.measured[-_WINDOW:]])
        present = is_held(held) if held.size else np.zeros(len(self.traces), dtype=np.bool_)
        found = [
            trace
            for trace, is_present in zip(self.traces, present.tolist(), strict=True)
            if is_present and trace.id not in submitted and shared.items() <= decode_key(trace.key).items()
        ]
        return [(trace, self.at(0)) for trace in sorted(found, key=lambda trace: (trace.key, trace.id))]


def _points(runs: Sequence[RunReport]) -> list[list[RunReport]]:
    """Return the runs of each point: of each commit where they name several, else each run by itself."""
    commits: dict[str, list[RunReport]] = {}
    for run in runs:
        commits.setdefault(run.revision, []).append(run)
    several = len(commits) > 1 and "" not in commits
    return list(commits.values()) if several else [[run] for run in runs]


def _traces(points: Sequence[Mapping[str, NewResults]]) -> tuple[list[Trace], NDArray[np.float64]]:
    """Return the traces of a file, one for each key and dimension, and their traces x points; ids are rows."""
    traces: dict[tuple[str, str], Trace] = {}
    cells: list[tuple[int, int, float]] = []
    for at, point in enumerate(points):
        for key, results in point.items():
            for dimension, measured in results.measured.items():
                unit = read_unit(measured[0][1])
                better = results.better if results.better is not Better.UNKNOWN else unit.better
                trace = traces.setdefault((key, dimension), Trace(len(traces), key, unit.text, dimension, better))
                values = [convert(value, read_unit(text), read_unit(trace.unit)) for value, text in measured]
                known = [value for value in values if not np.isnan(value)]
                cells.append((trace.id, at, float(np.median(known)) if known else np.nan))
    table = np.full((len(traces), len(points)), np.nan)
    for row, column, value in cells:
        table[row, column] = value
    return list(traces.values()), table


def _samples(runs: Sequence[RunReport], traces: Sequence[Trace]) -> NDArray[np.float64]:
    """Return the samples of each trace in their order, traces x samples; of very many, evenly spaced ones."""
    found: list[list[float]] = [[] for _ in traces]
    rows = {(trace.key, trace.dimension): trace for trace in traces}
    for run in runs:
        for key, result in zip(run.results.keys, run.results, strict=True):
            if result.samples:
                unit = read_unit(result.unit)
                trace = rows[key, unit.dimension]
                found[trace.id] += [convert(value, unit, read_unit(trace.unit)) for value in result.samples]
    table = np.full((len(traces), min(NEWEST, max(map(len, found), default=0))), np.nan)
    for row, samples in enumerate(found):
        count = min(len(samples), table.shape[1])
        chosen = np.linspace(0, len(samples) - 1, count).round().astype(np.intp)
        table[row, :count] = np.array(samples, dtype=np.float64)[chosen]
    return table
