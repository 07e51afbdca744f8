"""Turn the samples of each commit into one value, and set aside the values that make the others less precise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.measured_series import safe_unit
from knickpoint.detect.samples.noise_components import NoiseComponents, measure_commits
from knickpoint.detect.samples.sample_sets import RunTable, Samples, check_samples
from knickpoint.model.step import Check, Detection, StableRegion, Step

__all__ = [
    "CommitValues",
    "combine_runs",
    "combine_samples",
    "sample_evidence",
    "with_sample_evidence",
    "with_sample_facts",
]

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
        SeriesError: as :func:`~knickpoint.detect.samples.sample_sets.check_samples`.
    """
    return combine_runs(check_samples(samples, values))


def combine_runs(table: RunTable) -> CommitValues:
    """Return one value for each commit from its runs.

    The level of a run is the median of the means of all pairs of its samples, and the value of a commit is the mean of its
    runs: however many samples a run has, it is one measurement of the commit. A value whose variance is so large
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
    """Return which values make the mean less precise, both of themselves and those before, and of themselves and those after.

    So the newest values are never set aside, nor are stretches in which all values are alike.
    """
    if not variances.min() < variances.max():
        return np.zeros(variances.size, dtype=np.bool_)
    beyond = np.full(_NEIGHBOURS, np.inf)
    around = sliding_window_view(np.concatenate([beyond, variances, beyond]), _NEIGHBOURS + 1)
    before, after = around[: variances.size], around[_NEIGHBOURS:]
    return (variances > _largest_useful(before)) & (variances > _largest_useful(after))


def _largest_useful(variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each row, the largest variance of those values whose mean is the most precise; infinite ones stand for none.

    Of means that are equally precise it is the one of most values.
    """
    ascending = np.sort(variances, axis=1)
    sums = np.cumsum(ascending, axis=1)
    precision = np.square(np.arange(1, ascending.shape[1] + 1)) / np.where(sums > 0, sums, 1.0)
    best = precision.max(axis=1, keepdims=True) * (1 - 1e-9)
    last = precision.shape[1] - 1 - (precision >= best)[:, ::-1].argmax(axis=1)
    return np.take_along_axis(ascending, last[:, None], axis=1)[:, 0]


def sample_evidence(step: Step, commits: CommitValues) -> tuple[Check, ...]:
    """Return how many samples the levels of ``step`` rest on, and how precisely these know its size, where that is known."""

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
