"""Measure what several samples of a commit are worth: recall of a late step, and false alarms where runs share an effect.

Noise has a standard deviation of 1 in a single value; the step lies :data:`LATER` commits before the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from knickpoint.detect import find_steps
from knickpoint.model.step import Step
from table import Reach, Row

__all__ = ["sample_rows"]

SERIES: Final = 500
COMMITS: Final = 120
LATER: Final = 12

_MARGIN: Final = 5

Commit = list[np.ndarray[tuple[int], np.dtype[np.float64]]]
Draw = Callable[[np.random.Generator], Commit]


def _single(count: int) -> Draw:
    return lambda rng: [rng.normal(0, 1, count)]


def _mixed(rng: np.random.Generator) -> Commit:
    """Draw one sample or ten, equally often."""
    return [rng.normal(0, 1, 1 if rng.random() < 0.5 else 10)]


def _shared(rng: np.random.Generator) -> Commit:
    """Draw a run of one to ten samples that share nearly all of their noise."""
    return [rng.normal(0, 0.95) + rng.normal(0, 0.3, rng.integers(1, 11))]


def _nested(rng: np.random.Generator) -> Commit:
    """Draw one to three runs of five samples: noise of the commit, of each run, and within it."""
    commit = rng.normal(0, 0.5)
    return [commit + rng.normal(0, 0.8) + rng.normal(0, 0.3, 5) for _ in range(rng.integers(1, 4))]


def _by_samples(commits: Sequence[Commit]) -> Sequence[Step]:
    return find_steps(None, samples=commits)


def _by_medians(commits: Sequence[Commit]) -> Sequence[Step]:
    """Return the steps of what a store keeps of each commit, and alerts read: the median of the medians of its runs."""
    return find_steps([float(np.median([np.median(run) for run in runs])) for runs in commits])


def _measure(
    draw: Draw, step: float, find: Callable[[Sequence[Commit]], Sequence[Step]] = _by_samples
) -> tuple[float, float]:
    """Return the share of series, in percent, whose step is found, and the other findings per 1,000 commits."""
    found = false = 0
    for seed in range(SERIES):
        rng = np.random.default_rng([4, seed])
        commits = [draw(rng) for _ in range(COMMITS)]
        at = COMMITS - LATER
        samples = [[100 + step * (commit >= at) + run for run in runs] for commit, runs in enumerate(commits)]
        near = [abs(each.index - at) <= _MARGIN and step > 0 for each in find(samples)]
        found += any(near)
        false += len(near) - sum(near)
    return 100 * found / SERIES, 1000 * false / SERIES / COMMITS


def sample_rows() -> list[Row]:
    """Return the rows of samples."""
    rows = []
    kinds = (
        ("1 sample a commit", _single(1)),
        ("5 samples a commit", _single(5)),
        ("1 or 10 samples a commit", _mixed),
    )
    alone, _ = _measure(_single(1), 1.0)
    for name, draw in kinds:
        reach = (Reach.AT_LEAST, 2 * alone) if name.startswith("5") else ()
        rows.append(Row(f"{name}: late step of 1 sigma found", "%", _measure(draw, 1.0)[0], None, "", *reach))
        rows.append(Row(f"{name}: false alarms without a step", "/1000", _measure(draw, 0.0)[1], None, ""))
    # Alerts read these.
    late, false = _measure(_single(5), 1.0, _by_medians)[0], _measure(_single(5), 0.0, _by_medians)[1]
    name = "5 samples a commit, by their medians"
    rows.append(Row(f"{name}: late step of 1 sigma found", "%", late, None, ""))
    rows.append(Row(f"{name}: false alarms without a step", "/1000", false, None, ""))
    for name, draw in (("runs that share an effect", _shared), ("up to three runs of five samples", _nested)):
        false = _measure(draw, 0.0)[1]
        rows.append(Row(f"{name}: false alarms without a step", "/1000", false, None, "", Reach.AT_MOST, 0.2))
    return rows
