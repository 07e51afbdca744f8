"""Compute Q-hat, the statistic of E-Divisive, for every split of one series; ``q_hat.c`` has the formulas."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib

TIED: Final = 1e-10
"""A Q this much short of another, relatively, equals it: the same sums were only added in another order."""


def _far(difference: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """Return distances to the power ``alpha``."""
    distance = np.abs(difference)
    return distance if alpha == 1 else np.power(distance, alpha, out=distance)


def form_weight(points: NDArray[np.float64], *, v_form: bool) -> NDArray[np.float64]:
    """Return the inverse of what the distances inside a block of ``points`` are divided by.

    U gives a single point 0.
    """
    with np.errstate(divide="ignore"):
        return 1.0 / points if v_form else np.where(points > 1, 1.0 / (points - 1), 0.0)


def _inner(values: NDArray[np.float64], alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distances from each point to all before it, and to all."""
    before, every = np.empty_like(values), np.empty_like(values)
    for place, value in enumerate(values):
        distances = _far(values - value, alpha)
        before[place] = distances[:place].sum()
        every[place] = distances.sum()
    return before, every


def q_hat_in_numpy(values: NDArray[np.float64], alpha: float, *, v_form: bool) -> NDArray[np.float64]:
    """Return Q-hat of every split of ``values``, ``q[t]`` for the first ``t`` points against the rest; ``q[0]`` is 0.

    ``alpha`` in (0, 2] is the power of the distance. U form: the mean inner distance of a block is over its
    pairs; V form: over its points squared. O(T^2) time, O(T) memory here.
    """
    count = values.size
    if count < 2:
        return np.zeros(count)
    before, every = _inner(values - np.median(values), alpha)
    left = np.cumsum(before)[:-1]
    right = before.sum() - np.cumsum(every - before)[:-1]
    across = before.sum() - left - right
    points = np.arange(1.0, count)
    rest = count - points
    inner = left * rest * form_weight(points, v_form=v_form) + right * points * form_weight(rest, v_form=v_form)
    return np.concatenate([[0.0], 2.0 / count * (across - inner)])


def q_of_both(values: NDArray[np.float64], alpha: float, least: int, *, v_form: bool) -> NDArray[np.float64]:
    """Return Q of every (tau, kappa) for rows of series: rows x tau x kappa, ``-inf`` where a block is too short."""
    count = values.shape[-1]
    grid = np.full((len(values), count + 1, count + 1), -np.inf)
    distances = _far(values[:, :, np.newaxis] - values[:, np.newaxis, :], alpha)
    before = np.tril(distances, -1).sum(axis=2)
    whole = np.concatenate([np.zeros((len(values), 1)), np.cumsum(before, axis=1)], axis=1)
    right = np.zeros((len(values), count + 1))
    for tau in range(count - 1, least - 1, -1):
        right[:, tau + 1 :] += np.cumsum(distances[:, tau, tau:], axis=1)
        kappa = np.arange(tau + least, count + 1)
        points = (kappa - tau).astype(float)
        left, inner = whole[:, tau, np.newaxis], right[:, tau + least :]
        of_left = points * form_weight(np.array([float(tau)]), v_form=v_form)
        of_right = tau * form_weight(points, v_form=v_form)
        grid[:, tau, tau + least :] = (
            (whole[:, tau + least :] - left * (1 + of_left) - inner * (1 + of_right)) * 2 / kappa
        )
    return grid


def scan_both_in_numpy(
    values: NDArray[np.float64], alpha: float, least: int, *, v_form: bool
) -> tuple[int, int, float]:
    """Return (tau, kappa) with the largest Q of ``values[:tau]`` against ``values[tau:kappa]``, and that Q.

    Both blocks have at least ``least`` points; ties go to the smaller tau, then kappa. (-1, -1, -inf) when
    there is no room. O(T^2) time; O(T^2) memory here, O(T) compiled.
    """
    if values.size < 2 * least:
        return -1, -1, -np.inf
    grid = q_of_both(values[np.newaxis], alpha, least, v_form=v_form)[0]
    q = float(grid.max())
    tau, kappa = np.unravel_index(int(np.argmax(grid >= q - TIED * abs(q))), grid.shape)
    return int(tau), int(kappa), q


def q_hat_in_c(values: NDArray[np.float64], alpha: float, *, v_form: bool) -> NDArray[np.float64]:
    """Return Q-hat of every split of ``values``; see the reference. O(T log T) for ``alpha`` 1."""
    q = np.zeros(values.size)
    if lib.kp_qhat(values, values.size, alpha, v_form, q):
        raise MemoryError
    return q


def scan_both_in_c(values: NDArray[np.float64], alpha: float, least: int, *, v_form: bool) -> tuple[int, int, float]:
    """Return the best (tau, kappa) of ``values`` and its Q; see the reference."""
    found = np.empty(3)
    if lib.kp_scan_both(values, values.size, alpha, v_form, least, found):
        raise MemoryError
    tau, kappa, q = found.tolist()
    return int(tau), int(kappa), q


q_hat = choose(q_hat_in_numpy, q_hat_in_c)
scan_both = choose(scan_both_in_numpy, scan_both_in_c)
