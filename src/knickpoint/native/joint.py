"""Compute Q-hat, the statistic of E-Divisive, for points of several dimensions; ``joint.c`` explains how."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib
from knickpoint.native.q_hat import form_weight


def joint_q_in_numpy(
    points: NDArray[np.float64], alpha: float, least: int, *, v_form: bool, both: bool
) -> NDArray[np.float64]:
    """Return the largest Q-hat of every tau: ``q[t]`` for the first ``t`` points against those up to any kappa.

    ``points`` is dimensions x points, contiguous; the distance of two is the Euclidean one to the power ``alpha``, in
    (0, 2]. Without ``both`` the right block reaches to the end. Blocks have at least ``least`` points; ``-inf`` where
    that leaves none. O(T^2) time for each dimension, O(T) memory.
    """
    count = points.shape[1]
    q = np.full(count, -np.inf)
    after, inside = np.zeros(count), np.zeros(count + 1)
    weight = form_weight(np.arange(1.0, count + 1), v_form=v_form)
    for last in range(count):
        # Each point comes as the end of the right block
        kappa = last + 1
        far = np.square(points[:, :last] - points[:, last, np.newaxis]).sum(axis=0) ** (alpha / 2)
        after[:last] += far
        inside[kappa] = inside[last] + far.sum()
        if kappa < 2 * least or not (both or kappa == count):
            continue
        tau = np.arange(least, kappa - least + 1)
        left, right = inside[tau], np.cumsum(after[last::-1])[last - tau]
        across = inside[kappa] - left - right
        inner = (kappa - tau) * left * weight[tau - 1] + tau * right * weight[kappa - tau - 1]
        q[tau] = np.maximum(q[tau], (across - inner) * 2 / kappa)
    return q


def joint_q_in_c(
    points: NDArray[np.float64], alpha: float, least: int, *, v_form: bool, both: bool
) -> NDArray[np.float64]:
    """Return the largest Q-hat of every tau; see the reference."""
    dimensions, count = points.shape
    q = np.empty(count)
    failed = lib.kp_joint_q(points, count, dimensions, alpha, v_form, both, least, q)
    if failed:
        raise MemoryError
    return q


joint_q = choose(joint_q_in_numpy, joint_q_in_c)
