"""Compute Q-hat of points of several dimensions in C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib


def joint_q(points: NDArray[np.float64], alpha: float, least: int, *, v_form: bool, both: bool) -> NDArray[np.float64]:
    """Return the largest Q-hat of every tau; see the reference."""
    dimensions, count = points.shape
    q = np.empty(count)
    failed = lib.kp_joint_q(points, count, dimensions, alpha, v_form, both, least, q)
    if failed:
        raise MemoryError
    return q
