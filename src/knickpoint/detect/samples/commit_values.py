"""Turn the samples of each commit into one value, and set aside the values that make the others less precise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.measured_series import safe_unit
from knickpoint.detect.samples.noise_components import NoiseComponents, estimate_components, robust_level
from knickpoint.detect.samples.sample_sets import Samples, check_samples
from knickpoint.model.step import Check, StableRegion, Step

__all__ = ["CommitValues", "combine_samples", "with_sample_evidence"]

_NEIGHBOURS: Final = 10
"""Measured commits on either side with which a commit's precision is compared."""


@dataclass(frozen=True, slots=True)
class CommitValues:
    """One value for each commit, and what is known about its noise.

    Attributes:
        values: 1-D, ``nan`` for a commit without samples or with a value that is set aside.
        counts: samples of each commit, those that are set aside included.
        errors: standard error of each value, ``nan`` where there are no samples.
        noise: what the errors are made of, for values over ``unit``.
        unit: what values are divided by, so that no square overflows.
        aside: how many values are set aside.
    """

    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    errors: NDArray[np.float64]
    noise: NoiseComponents
    unit: float
    aside: int

    @property
    def facts(self) -> Mapping[str, float]:
        """The numbers about the samples, by name."""
        return {
            "samples": float(self.counts.sum()),
            "noise within runs (standard deviation)": math.sqrt(self.noise.within) * self.unit,
            "noise between runs (standard deviation)": math.sqrt(self.noise.runs) * self.unit,
            "noise between commits (standard deviation)": math.sqrt(self.noise.commits) * self.unit,
            "commits set aside for too few samples": float(self.aside),
        }


def combine_samples(samples: Samples, values: ArrayLike | None = None) -> CommitValues:
    """Return one value for each commit from its samples.

    The level of a run is the median of the means of all pairs of its samples, and the value of a commit is the mean of its
    runs: however many samples a run has, it is one measurement of the commit. A value whose variance is so large
    that the mean of its neighbourhood is more precise without it is set aside.

    Raises:
        SeriesError: as :func:`~knickpoint.detect.samples.sample_sets.check_samples`.
    """
    runs_of = check_samples(samples, values)
    rows = np.array([row for row, runs in enumerate(runs_of) if runs], dtype=np.int64)
    found = np.full(len(runs_of), np.nan)
    errors, counts = found.copy(), np.zeros(len(runs_of), dtype=np.int64)
    if not rows.size:
        return CommitValues(found, counts, errors, NoiseComponents(0.0, 0.0, 0.0), 1.0, 0)
    measured = [runs_of[row] for row in rows]
    unit = safe_unit(np.concatenate([run for runs in measured for run in runs]))
    scaled = [[run / unit for run in runs] for runs in measured]
    noise = estimate_components(scaled)
    counts[rows] = [sum(run.size for run in runs) for runs in scaled]
    level = np.array([float(np.mean([robust_level(run) for run in runs])) for runs in scaled])
    variance = np.array([noise.commits + noise.of_samples([run.size for run in runs]) for runs in scaled])
    aside = _imprecise(variance)
    found[rows], errors[rows] = level * unit, np.sqrt(variance) * unit
    found[rows[aside]] = np.nan
    return CommitValues(found, counts, errors, noise, unit, int(aside.sum()))


def _imprecise(variances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which values make the mean less precise, both of themselves and those before, and of themselves and those after.

    So the newest values are never set aside, nor are stretches in which all values are alike.
    """
    none = np.zeros(variances.size, dtype=np.bool_)
    if not variances.min() < variances.max():
        return none
    for at in range(variances.size):
        before = variances[max(0, at - _NEIGHBOURS) : at + 1]
        after = variances[at : at + _NEIGHBOURS + 1]
        none[at] = all(variances[at] > _largest_useful(part) for part in (before, after))
    return none


def _largest_useful(variances: NDArray[np.float64]) -> float:
    """Return the largest variance of those values whose mean is the most precise; of equal ones, the one with most values."""
    ascending = np.sort(variances)
    sums = np.cumsum(ascending)
    precision = np.square(np.arange(1, ascending.size + 1)) / np.where(sums > 0, sums, 1.0)
    best = precision.max(initial=0.0) * (1 - 1e-9)
    return float(ascending[np.flatnonzero(precision >= best)[-1]])


def with_sample_evidence(step: Step, commits: CommitValues) -> Step:
    """Return ``step`` with how many samples its levels rest on, and how precisely these know its size."""

    def rests_on(region: StableRegion) -> tuple[float, float]:
        part = slice(region.first, region.last + 1)
        used = ~np.isnan(commits.values[part])
        error = float(np.hypot.reduce(commits.errors[part][used])) / max(1, int(used.sum()))
        return float(commits.counts[part][used].sum()), error

    (before, before_error), (after, after_error) = rests_on(step.before), rests_on(step.after)
    error = math.hypot(before_error, after_error)
    return replace(
        step,
        evidence=(
            *step.evidence,
            Check("samples of the level before", before),
            Check("samples of the level after", after),
            Check("standard error of the size by the samples", error),
        ),
    )
