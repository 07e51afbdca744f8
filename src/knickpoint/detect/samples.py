"""Several samples of a commit: noise within runs, between runs and between commits, and one value for each commit.

``sample_sets`` checks what a caller gives, ``noise_components`` estimates the noise of each level, and
``commit_values`` turns samples into one value a commit. ``summaries`` makes another one of them, such as their 99th
percentile. See ``docs/decisions/new-values-and-samples.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.measured_series import check_series, refuse_data_frame, safe_unit
from knickpoint.model.errors import SeriesError
from knickpoint.model.plain_text import counted
from knickpoint.model.step import Check, Detection, StableRegion, Step
from knickpoint.model.summary import Summary, read_summary

# Check the samples that a caller gives, one set a commit, of one run or of several, and put them in a row.


Samples = Sequence[Any] | NDArray[np.float64]
"""An entry for each commit: the samples of its run, 1-D, or a list of such arrays, one for each run."""

Runs = list[NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class RunTable:
    """The runs of one series of ``length`` commits, those without samples left out.

    Attributes:
        length: number of commits.
        commits: the commit of each run, ascending.
        sizes: number of samples of each run, at least 1.
        samples: all samples in a row, run by run; finite.
    """

    length: int
    commits: NDArray[np.int64]
    sizes: NDArray[np.int64]
    samples: NDArray[np.float64]


def check_samples(samples: Samples, values: ArrayLike | None) -> RunTable:
    """Return the runs of each commit, without missing samples and without runs that have none.

    A commit without samples has its value in ``values`` as its only sample.

    Raises:
        SeriesError: samples are not finite or missing numbers, or there are not as many sets as values.
    """
    refuse_data_frame(samples, "Give list(frame.to_numpy()) if each row has the samples of a commit.")
    found = [_runs(item, number) for number, item in enumerate(samples)]
    if values is None:
        return _in_a_row(found)
    series = check_series(values)
    if series.size != len(found):
        raise SeriesError(
            f"there are {series.size} values and samples of {len(found)} commits",
            remedy="Give one array of samples for each value, an empty one where there are none.",
        )
    alone = [[] if np.isnan(value) else [np.array([value])] for value in series]
    return _in_a_row([runs or single for runs, single in zip(found, alone, strict=True)])


def _in_a_row(runs_of: Sequence[Runs]) -> RunTable:
    commits = np.repeat(np.arange(len(runs_of), dtype=np.int64), [len(runs) for runs in runs_of])
    every = [run for runs in runs_of for run in runs]
    sizes = np.array([run.size for run in every], dtype=np.int64)
    return RunTable(len(runs_of), commits, sizes, np.concatenate([np.empty(0), *every]))


def _runs(item: Any, commit: int) -> Runs:
    """Return the runs of one commit."""
    if getattr(item, "ndim", 1) == 0 or not hasattr(item, "__len__"):
        raise SeriesError(
            f"the samples are {item!r}", where=f"commit {commit}", remedy="Give an array of samples for each commit."
        )
    several = np.ndim(next(iter(item))) > 0 if len(item) else False
    try:
        arrays = [check_series(run) for run in (item if several else [item])]
    except SeriesError as error:
        where = f"commit {commit}, {error.where}" if error.where else f"commit {commit}"
        raise SeriesError(error.message, where=where, remedy=error.remedy) from error
    measured = (run[~np.isnan(run)] for run in arrays)
    return [run for run in measured if run.size]


# Estimate the noise of samples: within a run, between the runs of a commit, and between commits.
#
# The samples of a run share what is odd about the run, and the runs of a commit share the commit, so ten samples of one
# run are not ten measurements of the commit. All estimates are medians of squares, over what their median is for normal
# noise: a few odd runs or commits, or a step, change them little.


_MOST_PAIRED: Final = 64
"""Samples of which all pairs are compared; of more, as many quantiles take their place."""

_QUANTILES: Final = (np.arange(_MOST_PAIRED) + 0.5) / _MOST_PAIRED

_CHI_SQUARE_MEDIAN: Final = 0.4549
"""Median of the square of a standard normal number."""


@dataclass(frozen=True, slots=True)
class NoiseComponents:
    """Variances of the three kinds of noise; each is 0 where nothing was measured twice.

    Attributes:
        within: of the samples of a run around the level of the run.
        runs: of the levels of the runs of a commit, beyond what ``within`` explains.
        commits: of the values of neighbouring commits, beyond what the others explain.
    """

    within: float
    runs: float
    commits: float


@cache
def _pairs(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two places of each pair of ``count`` samples, each with itself included."""
    first, second = np.triu_indices(count)
    return first, second


def robust_levels(sizes: NDArray[np.int64], samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each run the median of the means of all pairs of its samples; ``samples`` has all runs in a row.

    It resists a quarter of outliers, and is as precise as the mean of 95 % of the samples: Hodges and Lehmann,
    "Estimates of location based on rank tests", Annals of Mathematical Statistics 34 (1963). O(n log n) time beyond 64
    samples.
    """
    levels = np.empty(sizes.size)
    for size, runs, block in by_size(sizes, samples):
        if size <= 2:
            levels[runs] = block.mean(axis=1)
            continue
        paired = block if size <= _MOST_PAIRED else np.quantile(block, _QUANTILES, axis=1).T
        first, second = _pairs(paired.shape[1])
        levels[runs] = np.median((paired[:, first] + paired[:, second]) / 2, axis=1)
    return levels


def by_size(
    sizes: NDArray[np.int64], samples: NDArray[np.float64]
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
    """Yield, for each size, the groups of that size and a matrix with the samples of one of them in each row."""
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes).tolist():
        groups = np.flatnonzero(sizes == size)
        yield size, groups, samples[starts[groups][:, None] + np.arange(size)]


def _typical_variance(sizes: NDArray[np.int64], samples: NDArray[np.float64]) -> float:
    """Return the median of the variances of groups, each over its median for normal noise; 0 without groups of two."""
    found = [np.empty(0)]
    for size, _, block in by_size(sizes, samples):
        freedom = size - 1
        if freedom:
            # Median of chi-square over its mean: Wilson and Hilferty (1931).
            usual = (1 - 2 / (9 * freedom)) ** 3
            found.append(block.var(axis=1, ddof=1) / usual)
    variances = np.concatenate(found)
    return float(np.median(variances)) if variances.size else 0.0


def _between_commits(levels: NDArray[np.float64], known: NDArray[np.float64]) -> float:
    """Return the variance that neighbouring ``levels`` have beyond the ``known`` variance of each.

    With it, half of the squared differences are larger than the median that normal noise gives them.
    """
    squares, noise = np.square(np.diff(levels)), known[1:] + known[:-1]
    if not squares.size:
        return 0.0
    excess = np.sort(squares / _CHI_SQUARE_MEDIAN - noise) / 2
    return max(0.0, float(excess[(squares.size - 1) // 2]))


@dataclass(frozen=True, slots=True)
class MeasuredCommits:
    """The commits that have samples, in their order.

    Attributes:
        rows: which commits these are.
        levels: the mean of the levels of the runs of each.
        variances: of these levels, those between commits included.
        noise: what the variances are made of.
    """

    rows: NDArray[np.int64]
    levels: NDArray[np.float64]
    variances: NDArray[np.float64]
    noise: NoiseComponents


def measure_commits(table: RunTable) -> MeasuredCommits:
    """Return the level of each commit of ``table``, which has at least one run, and estimate the noise of levels."""
    rows, starts, counts = np.unique(table.commits, return_index=True, return_counts=True)
    within = _typical_variance(table.sizes, table.samples)
    levels = robust_levels(table.sizes, table.samples)

    # What runs of a commit differ by, less what their samples explain.
    shares = np.add.reduceat(1 / table.sizes, starts)
    repeated = counts > 1
    total = _typical_variance(counts, levels)
    explained = within * shares[repeated] / counts[repeated]
    between_runs = max(0.0, total - float(np.median(explained))) if explained.size else 0.0

    # What neighbouring commits differ by, less what their runs explain.
    known = between_runs / counts + within * shares / np.square(counts)
    means = np.add.reduceat(levels, starts) / counts
    noise = NoiseComponents(within, between_runs, _between_commits(means, known))
    return MeasuredCommits(rows, means, noise.commits + known, noise)


# Turn the samples of each commit into one value, and set aside the values that make the others less precise.


_NEIGHBOURS: Final = 10
"""Measured commits on either side with which a commit's precision is compared."""


@dataclass(frozen=True, slots=True)
class CommitValues:
    """One value for each commit, and what is known about its noise.

    Attributes:
        values: 1-D, ``nan`` for a commit without samples or with a value that is set aside.
        counts: samples of each commit, those that are set aside included.
        errors: standard error of each value, ``nan`` where there are no samples, and where it is unknown.
        facts: the numbers about the samples, by name.
        aside: how many values are set aside.
    """

    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    errors: NDArray[np.float64]
    facts: Mapping[str, float]
    aside: int = 0


def _facts(counts: NDArray[np.int64], noise: NoiseComponents, unit: float, aside: int) -> Mapping[str, float]:
    """Return the numbers about samples whose ``noise`` is that of values over ``unit``."""
    return {
        "samples": float(counts.sum()),
        "noise within runs (standard deviation)": math.sqrt(noise.within) * unit,
        "noise between runs (standard deviation)": math.sqrt(noise.runs) * unit,
        "noise between commits (standard deviation)": math.sqrt(noise.commits) * unit,
        "commits set aside for too few samples": float(aside),
    }


def combine_samples(samples: Samples, values: ArrayLike | None = None) -> CommitValues:
    """Return one value for each commit from its samples, as :func:`combine_runs` does.

    Raises:
        SeriesError: as :func:`~knickpoint.detect.samples.check_samples`.
    """
    return combine_runs(check_samples(samples, values))


def combine_runs(table: RunTable) -> CommitValues:
    """Return one value for each commit from its runs.

    The level of a run is the median of the means of all pairs of its samples, and the value of a commit is the mean of
    its runs: however many samples a run has, it is one measurement of the commit. A value whose variance is so large
    that the mean of its neighbourhood is more precise without it is set aside.
    """
    found = np.full(table.length, np.nan)
    errors, counts = found.copy(), np.zeros(table.length, dtype=np.int64)
    if not table.commits.size:
        return CommitValues(found, counts, errors, _facts(counts, NoiseComponents(0.0, 0.0, 0.0), 1.0, 0))
    unit = safe_unit(table.samples)
    measured = measure_commits(replace(table, samples=table.samples / unit))
    np.add.at(counts, table.commits, table.sizes)
    aside = _imprecise(measured.variances)
    found[measured.rows], errors[measured.rows] = measured.levels * unit, np.sqrt(measured.variances) * unit
    found[measured.rows[aside]] = np.nan
    few = int(aside.sum())
    return CommitValues(found, counts, errors, _facts(counts, measured.noise, unit, few), few)


def _imprecise(variances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the values that make the mean less precise, both for those up to them and for those from them on.

    So the newest values are never set aside, nor are stretches in which all values are alike.
    """
    if not variances.min() < variances.max():
        return np.zeros(variances.size, dtype=np.bool_)
    beyond = np.full(_NEIGHBOURS, np.inf)
    around = sliding_window_view(np.concatenate([beyond, variances, beyond]), _NEIGHBOURS + 1)
    before, after = around[: variances.size], around[_NEIGHBOURS:]
    return (variances > _largest_useful(before)) & (variances > _largest_useful(after))


def _largest_useful(variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each row, the largest variance of those values whose mean is the most precise.

    Infinite ones stand for none.

    Of means that are equally precise it is the one of most values.
    """
    ascending = np.sort(variances, axis=1)
    sums = np.cumsum(ascending, axis=1)
    precision = np.square(np.arange(1, ascending.shape[1] + 1)) / np.where(sums > 0, sums, 1.0)
    best = precision.max(axis=1, keepdims=True) * (1 - 1e-9)
    last = precision.shape[1] - 1 - (precision >= best)[:, ::-1].argmax(axis=1)
    return np.take_along_axis(ascending, last[:, None], axis=1)[:, 0]


def sample_evidence(step: Step, commits: CommitValues) -> tuple[Check, ...]:
    """Return the number of samples behind the levels of ``step``, and their precision about its size, if known."""

    def rests_on(region: StableRegion) -> tuple[float, float]:
        part = slice(region.first, region.last + 1)
        used = ~np.isnan(commits.values[part])
        error = float(np.hypot.reduce(commits.errors[part][used])) / max(1, int(used.sum()))
        return float(commits.counts[part][used].sum()), error

    (before, before_error), (after, after_error) = rests_on(step.before), rests_on(step.after)
    counted = Check("samples of the level before", before), Check("samples of the level after", after)
    error = math.hypot(before_error, after_error)
    return counted if math.isnan(error) else (*counted, Check("standard error of the size by the samples", error))


def with_sample_evidence(step: Step, commits: CommitValues) -> Step:
    """Return ``step`` with its :func:`sample_evidence`."""
    return replace(step, evidence=(*step.evidence, *sample_evidence(step, commits)))


def with_sample_facts(detection: Detection, commits: CommitValues) -> Detection:
    """Return ``detection`` with what the samples say about the series, and about the levels of each of its steps."""
    return replace(
        detection,
        steps=tuple(with_sample_evidence(step, commits) for step in detection.steps),
        facts={**detection.facts, **commits.facts},
    )


# Turn the samples of each commit into one number that says how they are distributed: a percentile, the least, the
# largest.
#
# The level of samples may stay while their slowest hundredth gets slower. A percentile of too few samples is only their
# largest one, so a run with fewer than :attr:`~knickpoint.model.summary.Summary.fewest` has none.


_MORE_SAMPLES: Final = "Measure more often in each run, or choose a percentile nearer to the median."
"""What to do where a summary needs more samples."""


def summarise(samples: Samples, summary: str, values: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return the ``summary`` of the samples of each commit, such as `p99`: one value a commit, for every method.

    ``samples`` has an entry for each commit: an array of the samples of its run, or a list of arrays, one for each run,
    whose summaries then count by their median. ``values`` are those of commits without samples. A commit whose runs all
    have too few samples is ``nan``.

    Raises:
        InputError: there is no such summary.
        SeriesError: no run has enough samples for it, or the samples are not those of a series.
    """
    wanted = read_summary(summary)
    table = check_samples(samples, values)
    found = summarise_runs(table, wanted).values
    if table.sizes.size and np.isnan(found).all():
        raise SeriesError(short_text(wanted, int(table.sizes.max())), remedy=_MORE_SAMPLES)
    return found


def summarise_runs(table: RunTable, summary: Summary) -> CommitValues:
    """Return the ``summary`` of the samples of each commit; the median of those of its runs, where it has several.

    Runs with too few samples do not count.
    """
    counts = np.zeros(table.length, dtype=np.int64)
    np.add.at(counts, table.commits, table.sizes)
    of_runs = np.full(table.sizes.size, np.nan)
    for size, runs, block in by_size(table.sizes, table.samples):
        if size >= summary.fewest:
            of_runs[runs] = np.quantile(block, summary.share, axis=1)
    enough = ~np.isnan(of_runs)
    of_runs, commits = of_runs[enough], table.commits[enough]

    # Most commits have one run.
    values = np.full(table.length, np.nan)
    values[commits] = of_runs
    ends = np.flatnonzero(np.diff(commits, append=-1))
    for end, several in zip(ends.tolist(), np.diff(ends, prepend=-1).tolist(), strict=True):
        if several > 1:
            values[commits[end]] = np.median(of_runs[end + 1 - several : end + 1])
    facts = {
        "samples": float(counts.sum()),
        f"samples of a run that {summary} needs": float(summary.fewest),
        f"commits with too few samples for {summary}": float(np.count_nonzero((counts > 0) & np.isnan(values))),
    }
    return CommitValues(values, counts, np.full(table.length, np.nan), facts)


def summary_of(samples: NDArray[np.float64], summary: Summary) -> float:
    """Return the ``summary`` of the samples of one run (1-D, finite), nan where they are too few."""
    return float(np.quantile(samples, summary.share)) if samples.size >= summary.fewest else float("nan")


def needs_text(summary: Summary) -> str:
    """Return the number of samples of a run that ``summary`` needs, in words."""
    return f"{summary} needs {counted(summary.fewest, 'sample')} of a run"


def short_text(summary: Summary, most: int) -> str:
    """Return that ``summary`` needs more samples of a run than the ``most`` there are, in words."""
    return f"{needs_text(summary)}, and there are at most {most:,}"
