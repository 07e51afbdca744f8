"""Measure slow changes of known truth: ramps, exact counters that grow, a step on top of a drift.

Levels are 100 and slopes are shares of it by commit, so a slope of 0.001 is 0.1 % a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_steps
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Step
from table import Reach, Row

__all__ = ["COMMITS", "counter", "drift_rows", "ramp", "step_on_drift"]

Array = NDArray[np.float64]
Places = Callable[[Sequence[Array]], list[list[int]]]

COMMITS: Final = 300
SERIES: Final = 100
"""Generated series of each kind."""

_LEVEL: Final = 100.0
_SLOPES: Final = (0.0002, 0.0005, 0.001, 0.002)
_NOISES: Final = (0.005, 0.01)
_MARGIN: Final = 5


def ramp(slope: float, noise: float, seed: int, *, before: int = 0, after: int = 0) -> Array:
    """Return a ramp over :data:`COMMITS` commits with normal noise, with a steady level ``before`` and ``after``."""
    places = np.arange(before + COMMITS + after, dtype=np.float64)
    shape = np.clip(places - before, 0, COMMITS)
    return np.asarray(_LEVEL * (1 + slope * shape + noise * _normal(1, seed, places.size)), dtype=np.float64)


def counter(base: float, usual: float, seed: int, commits: int = 1000) -> Array:
    """Return exact values that grow by a few with every commit, ``usual`` in the mean."""
    return base + np.cumsum(np.random.default_rng([2, seed]).poisson(usual, commits)).astype(np.float64)


def step_on_drift(slope: float, noise: float, deviations: float, seed: int) -> Array:
    """Return a ramp with a step of so many deviations of the noise in its middle."""
    places = np.arange(COMMITS)
    step = deviations * noise * (places >= COMMITS // 2)
    return np.asarray(_LEVEL * (1 + slope * places + step + noise * _normal(3, seed, COMMITS)), dtype=np.float64)


def _normal(kind: int, seed: int, count: int) -> Array:
    return np.random.default_rng([kind, seed]).normal(size=count)


def _is_one_drift(found: Sequence[Step]) -> bool:
    return len(found) == 1 and found[0].kind is FindingKind.DRIFT


def _jump(found: Sequence[Step]) -> float | None:
    """Return the size of the step in the middle, None where it was not found."""
    near = [step for step in found if step.kind is FindingKind.STEP and abs(step.index - COMMITS // 2) <= _MARGIN]
    return near[0].size if near else None


def _percent(held: Sequence[bool]) -> float:
    return 100 * float(np.mean(held))


def _ramp_rows(peer: Places | None, name: str) -> list[Row]:
    rows = []
    for slope in _SLOPES:
        series = [
            ramp(slope, noise, seed, before=before, after=before)
            for noise in _NOISES
            for before in (0, 100)
            for seed in range(SERIES // 4)
        ]
        held = _percent([_is_one_drift(find_steps(values)) for values in series])
        rows.append(
            Row(f"ramp of {slope:.2%} a commit: one finding, a drift", "%", held, None, "", Reach.AT_LEAST, 95.0)
        )
        count = float(np.mean([len(find_steps(values)) for values in series]))
        other = float(np.mean([len(found) for found in peer(series[:20])])) if peer else None
        rows.append(Row(f"ramp of {slope:.2%} a commit: findings", "", count, other, name))
    return rows


def _counter_rows(peer: Places | None, name: str) -> list[Row]:
    rows = []
    for usual in (0.3, 3.0):
        series = [counter(1e6, usual, seed) for seed in range(SERIES // 4)]
        count = float(np.mean([len(find_steps(values)) for values in series]))
        other = float(np.mean([len(found) for found in peer(series[:3])])) if peer else None
        measure = f"exact counter that grows by {usual:g} of a million a commit: findings"
        rows.append(Row(measure, "/1000", count, other, name, Reach.AT_MOST, 2.0))
    return rows


def _step_rows() -> list[Row]:
    rows = []
    for slope in (0.0, *_SLOPES):
        jumps = [
            (noise, _jump(find_steps(step_on_drift(slope, noise, 2.0, seed))))
            for noise in _NOISES
            for seed in range(SERIES // 2)
        ]
        found = [jump is not None for _, jump in jumps]
        near = [abs((jump or 0.0) / (2 * noise * _LEVEL) - 1) <= 0.2 for noise, jump in jumps if jump is not None]
        named = f"step of 2 sigma on a drift of {slope:.2%} a commit"
        rows.append(Row(f"{named}: found", "%", _percent(found), None, "", Reach.AT_LEAST, 95.0))
        rows.append(Row(f"{named}: size within 20 %", "%", _percent(near), None, "", Reach.AT_LEAST, 90.0))
    return rows


def drift_rows(peer: Places | None, name: str) -> list[Row]:
    """Return the rows of slow changes; ``peer`` gives the places that the peer ``name`` finds."""
    return _ramp_rows(peer, name) + _counter_rows(peer, name) + _step_rows()
