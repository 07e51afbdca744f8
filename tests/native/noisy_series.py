"""Series of the kinds that make kernels round and tie."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

__all__ = ["noisy_series", "shapes"]

shapes = st.sampled_from(["ties", "offset", "tiny", "heavy", "step"])


def noisy_series(seed: int, count: int, shape: str) -> NDArray[np.float64]:
    draw = np.random.default_rng(seed)
    values = draw.normal(size=count)
    match shape:
        case "ties":
            return np.round(values)
        case "offset":
            return values + 1e9
        case "tiny":
            return values * 1e-9
        case "heavy":
            return draw.standard_t(2, count)
        case _:
            return np.repeat([0.0, 5.0], [count // 2, count - count // 2]) + values
