"""Measure findings of the kind ``noise``: a lasting change of the noise is found, and noise that stays gives none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_steps
from table import Reach, Row

__all__ = ["spread_rows"]

SERIES: Final = 400
COMMITS: Final = 200

_MARGIN: Final = 10
_LATER: Final = np.arange(COMMITS) >= COMMITS // 2

Draw = Callable[[np.random.Generator], NDArray[np.float64]]


def _autocorrelated(rng: np.random.Generator) -> NDArray[np.float64]:
    values = rng.normal(size=COMMITS)
    for place in range(1, COMMITS):
        values[place] = 0.5 * values[place - 1] + 0.87 * values[place]
    return values


_UNCHANGED: Final[dict[str, Draw]] = {
    "normal": lambda rng: rng.normal(size=COMMITS),
    "t with 3 degrees of freedom": lambda rng: rng.standard_t(3, COMMITS),
    "AR(1) 0.5": _autocorrelated,
    "lognormal": lambda rng: rng.lognormal(0, 0.5, COMMITS),
    "rounded to whole deviations": lambda rng: np.round(rng.normal(size=COMMITS)),
    "two modes all along": lambda rng: rng.normal(size=COMMITS) + 8 * (rng.random(COMMITS) < 0.3),
    "normal with a step of 4 sigma": lambda rng: rng.normal(size=COMMITS) + 4 * _LATER,
}

_CHANGED: Final[dict[str, Draw]] = {
    "twice the noise": lambda rng: rng.normal(size=COMMITS) * np.where(_LATER, 2, 1),
    "three times the noise": lambda rng: rng.normal(size=COMMITS) * np.where(_LATER, 3, 1),
    "two modes, 6 sigma apart": lambda rng: (
        rng.normal(size=COMMITS) + 3 * np.where(_LATER, np.sign(rng.normal(size=COMMITS)), 0)
    ),
    "two modes at an equal standard deviation": lambda rng: np.where(
        _LATER, (rng.normal(size=COMMITS) + 4 * np.sign(rng.normal(size=COMMITS))) / 17**0.5, rng.normal(size=COMMITS)
    ),
    "skewed at an equal standard deviation": lambda rng: np.where(
        _LATER, (rng.lognormal(0, 0.75, COMMITS) - 1.325) / 1.152, rng.normal(size=COMMITS)
    ),
    "a new mode with a share of .3, 8 sigma away": lambda rng: (
        rng.normal(size=COMMITS) + 8 * (_LATER & (rng.random(COMMITS) < 0.3))
    ),
    "a new mode with a share of .2, 8 sigma away": lambda rng: (
        rng.normal(size=COMMITS) + 8 * (_LATER & (rng.random(COMMITS) < 0.2))
    ),
}


def _places(draw: Draw) -> list[list[int]]:
    """Return where the noise of each series is found to change."""
    runs = (find_steps(100 + draw(np.random.default_rng([7, seed])), noise=True) for seed in range(SERIES))
    return [[step.index for step in found if step.kind.changes_distribution] for found in runs]


def spread_rows() -> list[Row]:
    """Return the rows of changes of the noise."""
    rows = []
    for name, draw in _UNCHANGED.items():
        false = 1000 * sum(map(len, _places(draw))) / SERIES / COMMITS
        rows.append(Row(f"{name}: findings of the kinds noise and mode", "/1000", false, None, "", Reach.AT_MOST, 0.08))
    for name, draw in _CHANGED.items():
        found = _places(draw)
        near = [any(abs(place - COMMITS // 2) <= _MARGIN for place in places) for places in found]
        rows.append(Row(f"{name}: found", "%", 100 * float(np.mean([bool(places) for places in found])), None, ""))
        rows.append(Row(f"{name}: found within {_MARGIN}", "%", 100 * float(np.mean(near)), None, ""))
    return rows
