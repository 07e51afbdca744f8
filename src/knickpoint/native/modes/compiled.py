"""Find the cheapest level of each value in C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib
from knickpoint.native.modes.reference import VisitChances, gammas_and_logs, read_division


def likeliest_modes(
    values: NDArray[np.float64], levels: NDArray[np.float64], noise: float, furthest: float, switch: float
) -> NDArray[np.int64]:
    """Return the cheapest of ``levels`` for each value; see the reference."""
    labels = np.empty(values.size, np.int64)
    if lib.kp_likeliest_modes(values, values.size, levels, levels.size, noise, furthest, switch, labels):
        raise MemoryError
    return labels


def divide_visits(
    modes: NDArray[np.int64], lengths: NDArray[np.int64], starts: NDArray[np.int64], chances: VisitChances
) -> tuple[list[tuple[int, int]], float]:
    """Return the likeliest division of visits to ``modes`` into regimes, and its log likelihood; see the reference."""
    count, distinct = modes.size, int(modes.max()) + 1
    gammas, logs = gammas_and_logs(2 * (int(lengths.sum()) + distinct) + 40)
    came_from, kinds, best = (
        np.empty((2, count + 1), np.int64),
        np.empty((2, count + 1), np.int64),
        np.empty((2, count + 1)),
    )
    failed = lib.kp_divide_visits(
        modes,
        lengths,
        count,
        distinct,
        starts,
        starts.size,
        gammas,
        logs,
        chances.step,
        chances.change,
        chances.other,
        np.array(chances[3:]),
        came_from,
        kinds,
        best,
    )
    if failed:
        raise MemoryError
    return read_division(came_from, kinds, best)
