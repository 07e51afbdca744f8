"""Q-hat of E-Divisive for points of several dimensions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.kernel import COMPILED

__all__ = ["joint_q"]


def joint_q(points: NDArray[np.float64], alpha: float, least: int, *, v_form: bool, both: bool) -> NDArray[np.float64]:
    """Return the largest Q-hat of every tau: ``q[t]`` for the first ``t`` points against those up to any kappa.

    ``points`` is dimensions x points, contiguous; the distance of two is the Euclidean one to the power ``alpha``, in
    (0, 2]. Without ``both`` the right block reaches to the end. Blocks have at least ``least`` points; ``-inf`` where
    that leaves none. O(T^2) time for each dimension, O(T) memory.
    """
    if COMPILED:
        from knickpoint.native.joint_compiled import joint_q as chosen
    else:
        from knickpoint.native.joint_reference import joint_q as chosen
    return chosen(points, alpha, least, v_form=v_form, both=both)
