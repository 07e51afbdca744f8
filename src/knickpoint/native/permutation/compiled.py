"""Permute series in C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib


def permute(
    ordered: NDArray[np.float64],
    bounds: NDArray[np.int64],
    alpha: float,
    *,
    v_form: bool,
    both: bool,
    least: int,
    seed: int,
    turn: int,
    count: int,
    reach: float = np.inf,
    allowed: int = -1,
    tops: NDArray[np.float64] | None = None,
) -> tuple[int, int]:
    """Return the number of permutations that reach ``reach``, and of those that were judged; see the reference."""
    exceeded = np.zeros(1, dtype=np.int64)
    judged = lib.kp_permute(
        ordered,
        bounds,
        bounds.size - 1,
        alpha,
        v_form,
        both,
        least,
        seed,
        turn,
        0,
        count,
        reach,
        allowed,
        tops,
        exceeded,
    )
    if judged < 0:
        raise MemoryError
    return int(exceeded[0]), int(judged)
