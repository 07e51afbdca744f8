"""Compute Q-hat in C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib


def q_hat(values: NDArray[np.float64], alpha: float, *, v_form: bool) -> NDArray[np.float64]:
    """Return Q-hat of every split of ``values``; see the reference. O(T log T) for ``alpha`` 1."""
    q = np.zeros(values.size)
    if lib.kp_qhat(values, values.size, alpha, v_form, q):
        raise MemoryError
    return q


def scan_both(values: NDArray[np.float64], alpha: float, least: int, *, v_form: bool) -> tuple[int, int, float]:
    """Return the best (tau, kappa) of ``values`` and its Q; see the reference."""
    found = np.empty(3)
    if lib.kp_scan_both(values, values.size, alpha, v_form, least, found):
        raise MemoryError
    tau, kappa, q = found.tolist()
    return int(tau), int(kappa), q
