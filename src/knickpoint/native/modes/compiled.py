"""Sort values into modes, and divide the visits to them, in C."""

from __future__ import annotations

import numpy as np

from knickpoint.native.binding import lib
from knickpoint.native.modes.reference import Floats, Places, VisitChances, gammas_and_logs, read_division


def sort_into_modes(
    values: Floats, levels: Floats, noise: float, furthest: float, switch: float, rounds: int
) -> tuple[Places, Floats]:
    """Return the mode of each value, and the median of each mode; see the reference."""
    labels, medians = np.empty(values.size, np.int64), levels.copy()
    used = lib.kp_sort_into_modes(values, values.size, medians, levels.size, noise, furthest, switch, rounds, labels)
    if used < 0:
        raise MemoryError
    return labels, medians[:used]


def medians_of_modes(values: Floats, labels: Places, count: int) -> Floats:
    """Return the median of the ``values`` of each of ``count`` modes; see the reference."""
    medians = np.empty(count)
    if lib.kp_medians_of_modes(values, labels, values.size, count, medians):
        raise MemoryError
    return medians


def divide_visits(
    modes: Places, lengths: Places, starts: Places, chances: VisitChances
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
