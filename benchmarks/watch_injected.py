"""Inject changes of known size into quiet parts of real histories, beside the delay of a test that knows place and size.

A part is quiet where the default method finds no step in the whole series. The change is that of the level, in standard
deviations of the part before it, at its middle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_steps
from knickpoint.detect.methods.default.model import FALSE_ALARMS
from knickpoint.detect.region_noise import estimate_noise
from watch_replay import Replay

__all__ = ["SIZES", "Injected", "inject", "outcome", "soonest"]

SIZES: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 20.0)
"""Sizes of the changes, in standard deviations of the noise."""

_HALF: Final = 50
"""Values before and after an injected change."""


@dataclass(frozen=True, slots=True)
class Injected:
    """A part of a real series with a change of ``size`` standard deviations at :attr:`place`."""

    values: NDArray[np.float64]
    size: float
    soonest: int
    place: int = _HALF


def soonest(size: float, phi: float) -> int:
    """Return after how many values a test that knows place and size finds a change with a probability of one half.

    It raises as many false alarms as the default method promises. ``size`` is in standard deviations, ``phi`` the
    autocorrelation of the noise at lag 1.
    """
    quantile = -NormalDist().inv_cdf(FALSE_ALARMS / 1000)
    return max(1, math.ceil(quantile**2 * (1 + phi) / (1 - phi) / size**2))


def inject(series: Sequence[NDArray[np.float64]], seed: int, *, each: int) -> list[Injected]:
    """Return ``each`` changes of every size, at random quiet places of different series."""
    random = np.random.default_rng(seed)
    quiet = [part for values in series for part in _quiet_parts(values)]
    made = []
    for size in SIZES:
        for number in random.choice(len(quiet), each, replace=False).tolist():
            first = int(random.integers(quiet[number].size - 2 * _HALF + 1))
            values = quiet[number][first : first + 2 * _HALF].copy()
            noise = estimate_noise(values[:_HALF], ordered=True)
            values[_HALF:] += random.choice([-1, 1]) * size * noise.scale
            made.append(Injected(values, size, soonest(size, noise.phi)))
    return made


def _quiet_parts(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the parts between two steps that are long enough, and not constant, one for each series at most."""
    measured = values[~np.isnan(values)]
    bounds = [0, *(step.index for step in find_steps(measured)), measured.size]
    parts = [measured[first:stop] for first, stop in pairwise(bounds) if stop - first >= 2 * _HALF]
    return [part for part in parts if estimate_noise(part[:_HALF], ordered=True).scale > 0][:1]


def outcome(changes: Sequence[Injected], replays: Sequence[Replay]) -> tuple[list[int], int, int]:
    """Return the delays of the changes that were announced, how often they were, and the announcements of others."""
    delays, announced, false = [], 0, 0
    for change, replay in zip(changes, replays, strict=True):
        hits = [each for each in replay.opened if each.covers(change.place) and each.commit >= change.place]
        delays += [hits[0].commit - change.place + 1] if hits else []
        announced += len(hits)
        false += len(replay.opened) - len(hits)
    return delays, announced, false
