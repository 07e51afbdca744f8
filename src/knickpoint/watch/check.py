"""Judge new results against history: the verdict on a commit, a patch or a pull request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from knickpoint.detect import judge
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import HistoryError
from knickpoint.model.frame import Trace
from knickpoint.model.judgement import Judgement
from knickpoint.model.report import Outcome, RunReport
from knickpoint.model.step import Verdict
from knickpoint.model.unit import Better, convert, read_unit
from knickpoint.store import Store

__all__ = ["CheckReport", "CheckedTrace", "check_results"]


@dataclass(frozen=True, slots=True)
class CheckedTrace:
    """The verdict on one trace.

    ``values`` has one value a run, in ``unit``, the unit of the history where there is one. ``trace`` is None
    where the history does not know the key. ``failed`` holds what failed runs said.
    """

    key: str
    trace: Trace | None
    unit: str
    values: tuple[float, ...]
    judgement: Judgement
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The verdicts on all traces of the new results, by key.

    ``base`` is the slot of the last commit that counted as history, None where there is no history at all.
    """

    line: str
    base: int | None
    traces: tuple[CheckedTrace, ...]
    counts: Mapping[Verdict, int] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the whole: regressed if any trace is, no data if none could be judged."""
        worst = (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.UNCHANGED, Verdict.UNSTABLE)
        return next((verdict for verdict in worst if self.counts.get(verdict)), Verdict.NO_DATA)


@dataclass(slots=True)
class _Given:
    """What the new results say about one key."""

    units: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    better: Better = Better.UNKNOWN
    failed: list[str] = field(default_factory=list)


def _collect(runs: Sequence[RunReport]) -> dict[str, _Given]:
    """Gather one value a run and key: the median of the run's samples, as a point of the history is."""
    found: dict[str, _Given] = {}
    for run in runs:
        samples: dict[tuple[str, str], list[float]] = {}
        for number, result in enumerate(run.results):
            given = found.setdefault(run.results.keys[number], _Given())
            if result.outcome is Outcome.FAILED:
                given.failed.append(result.message or "failed")
            if result.samples:
                samples.setdefault((run.results.keys[number], result.unit), []).extend(result.samples)
                given.better = result.better if given.better is Better.UNKNOWN else given.better
        for (key, unit), own in samples.items():
            found[key].units.append(unit)
            found[key].values.append(float(np.median(own)))
    return found


def _trace_of(candidates: Sequence[Trace], unit: str) -> Trace | None:
    """Return the trace whose unit ``unit`` converts into."""
    dimension = read_unit(unit).dimension
    return next((trace for trace in candidates if read_unit(trace.unit).dimension == dimension), None)


def _base(store: Store, line: Line, runs: Sequence[RunReport], base: int | None) -> int:
    """Return the position of the last commit that counts as history, -1 for none.

    Without ``base`` that is the commit before the first one of the new results that is on the line, else
    the newest one: new results are never their own history.
    """
    if base is not None:
        if base not in line.positions:
            raise HistoryError(
                f"the base commit (slot {base}) is not on the line {line.name!r}",
                where=line.repository.name,
                remedy="Name a commit of that line, such as the merge base.",
            )
        return line.positions[base]
    positions = []
    for revision in {run.revision for run in runs if run.revision}:
        commit = store.commits.find(line.repository, revision)
        if commit and commit.slot in line.positions:
            positions.append(line.positions[commit.slot])
    return min(positions) - 1 if positions else len(line.slots) - 1


def check_results(
    store: Store,
    repository: Repository | None,
    runs: Sequence[RunReport],
    *,
    base: int | None = None,
    line: str = "",
    alpha: float = 0.01,
    minimum_effect: float = 0.0,
) -> CheckReport:
    """Judge the results of ``runs`` against the history of ``line`` up to and including ``base`` (a slot).

    Several runs of one benchmark are several samples; the samples within a run are one value, their median,
    because that is what the history consists of. Without a ``repository`` there is no history. Nothing is written.

    Raises:
        HistoryError: no such line, or the base is not on it.
        InputError: ``alpha`` or ``minimum_effect`` cannot be.
    """
    given = _collect(runs)
    if repository is None:
        unknown = [
            _judged(key, given[key], None, np.empty(0), alpha=alpha, minimum_effect=0.0) for key in sorted(given)
        ]
        return CheckReport(line, None, tuple(unknown), Counter(one.judgement.verdict for one in unknown))
    own = store.commits.line(repository, line)
    position = _base(store, own, runs, base)
    names = store.traces.find_ids(repository, given)
    known = {trace.id: trace for trace in store.traces.get([number for ids in names.values() for number in ids])}
    chosen: dict[str, Trace] = {}
    for key, one in given.items():
        candidates = [known[number] for number in names.get(key, [])]
        found = _trace_of(candidates, one.units[0]) if one.units else next(iter(candidates), None)
        if found:
            chosen[key] = found
    ids = np.array(sorted(trace.id for trace in chosen.values()), dtype=np.int64)
    history = np.empty((0, 0))
    if ids.size and position >= 0:
        history = np.asarray(store.frames.values(own, ids, last=position), dtype=np.float64)
    checked = []
    for key in sorted(given):
        trace = chosen.get(key)
        past = history[np.searchsorted(ids, trace.id)] if trace and history.size else np.empty(0)
        checked.append(_judged(key, given[key], trace, past, alpha=alpha, minimum_effect=minimum_effect))
    counts = Counter(one.judgement.verdict for one in checked)
    return CheckReport(own.name, own.slots[position] if position >= 0 else None, tuple(checked), counts)


def _judged(
    key: str, given: _Given, trace: Trace | None, past: np.ndarray, *, alpha: float, minimum_effect: float
) -> CheckedTrace:
    unit = trace.unit if trace else (given.units[0] if given.units else "")
    target = read_unit(unit)
    values = tuple(
        convert(value, read_unit(own), target)
        for value, own in zip(given.values, given.units, strict=True)
        if read_unit(own).dimension == target.dimension
    )
    better = trace.better if trace and trace.better is not Better.UNKNOWN else given.better
    judgement = judge(past, values, better=better, alpha=alpha, minimum_effect=minimum_effect)
    return CheckedTrace(key, trace, unit, values, judgement, tuple(given.failed))
