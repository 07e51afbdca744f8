"""Measure how often results of a calm machine are held back, and those of a slow one are not: generated machines.

A part of ``make bench-watch``. Each machine runs two canaries at 200 commits. In calm histories nothing happens to it
but noise; in slow ones it is slower for three commits, then as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.quarantine import QuarantineState
from knickpoint.watch.quarantine.assessment import CanaryTrace, MachineRun, assess_machine
from knickpoint.watch.quarantine.canaries import QuarantineRule
from table import Reach, Row

__all__ = ["machine_rows"]

_SEED: Final = 20261124
_MACHINES, _COMMITS = 60, 200
_SLOW: Final = range(120, 123)
_CANARIES: Final = {key: CanaryTrace(name, key, f",name={name},", "ms") for key, name in ((1, "loop"), (2, "copy"))}

Noise = Callable[[np.random.Generator], NDArray[np.float64]]


def _normal(random: np.random.Generator) -> NDArray[np.float64]:
    noise: NDArray[np.float64] = random.standard_normal((_COMMITS, 2))
    return noise


def _heavy_tails(random: np.random.Generator) -> NDArray[np.float64]:
    noise: NDArray[np.float64] = random.standard_t(3, (_COMMITS, 2)) / np.sqrt(3)
    return noise


def _correlated(random: np.random.Generator) -> NDArray[np.float64]:
    """Return noise of which each value keeps half of the one before."""
    shocks: NDArray[np.float64] = random.standard_normal((_COMMITS, 2)) * np.sqrt(0.75)
    noise = np.empty_like(shocks)
    noise[0] = shocks[0] / np.sqrt(0.75)
    for row in range(1, _COMMITS):
        noise[row] = 0.5 * noise[row - 1] + shocks[row]
    return noise


def _skewed(random: np.random.Generator) -> NDArray[np.float64]:
    """Return log-normal noise (0.8) of mean 0 and variance 1."""
    square = np.exp(0.8**2)
    noise: NDArray[np.float64] = np.exp(0.8 * random.standard_normal((_COMMITS, 2))) - np.sqrt(square)
    noise /= np.sqrt((square - 1) * square)
    return noise


def _two_modes(random: np.random.Generator) -> NDArray[np.float64]:
    """Return noise around two levels 2.3 apart, the upper one at three commits of ten."""
    levels = np.where(random.random((_COMMITS, 2)) < 0.3, 1.6, -0.7)
    noise: NDArray[np.float64] = levels + 0.3 * random.standard_normal((_COMMITS, 2))
    return noise


def _quantised(random: np.random.Generator) -> NDArray[np.float64]:
    noise: NDArray[np.float64] = np.round(random.standard_normal((_COMMITS, 2)))
    return noise


_NOISES: Final[dict[str, Noise]] = {
    "normal noise": _normal,
    "heavy tails (t, 3 degrees)": _heavy_tails,
    "correlated noise (0.5)": _correlated,
    "log-normal noise (0.8)": _skewed,
    "two modes": _two_modes,
    "whole deviations": _quantised,
}


def _suspect(values: NDArray[np.float64]) -> set[int]:
    """Return the commits whose run is quarantined or kept out."""
    runs = [
        MachineRun(str(row), row, {}, {1: float(values[row, 0]), 2: float(values[row, 1])}) for row in range(_COMMITS)
    ]
    found = assess_machine(runs, _CANARIES, QuarantineRule(), machine="bench-1").runs
    return {int(key) for key, each in found.items() if each.state is not QuarantineState.ENVIRONMENT_CHANGED}


def _histories(noise: Noise, deviation: float, slower: float) -> Sequence[set[int]]:
    random = np.random.default_rng(_SEED)
    found = []
    for _ in range(_MACHINES):
        values = 100 * (1 + deviation * noise(random))
        values[_SLOW.start : _SLOW.stop] *= 1 + slower
        found.append(_suspect(values))
    return found


def machine_rows() -> list[Row]:
    """Return the share of runs of calm machines that are held, and of slow ones that are, by the noise of the canaries."""
    rows = []
    for name, noise in _NOISES.items():
        for deviation in (0.005, 0.02):
            calm = _histories(noise, deviation, 0.0)
            slow = _histories(noise, deviation, 0.1)
            title = f"canaries, {name} of {deviation:.1%}"
            held = sum(map(len, calm)) / (_MACHINES * _COMMITS)
            hits = sum(len(each & set(_SLOW)) for each in slow) / (_MACHINES * len(_SLOW))
            rows += [
                Row(f"{title}: runs of a calm machine held back", "", held, reach=Reach.AT_MOST, bound=0.01),
                Row(f"{title}: runs of a machine slower by 10 % held back", "", hits),
            ]
    return rows
