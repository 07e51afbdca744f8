"""What is known of a series and its noise, before and after its levels are taken out, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAD", "Array", "Study", "median", "noise_of_values", "quantile", "study_noise"]

Array = NDArray[np.float64]

MAD: Final = 1.4826
"""Makes the median absolute deviation a standard deviation of normal noise."""


@dataclass(frozen=True, slots=True)
class Study:
    """Hold a series and what is known of its noise; ``noise`` is per point, ``scale`` for all."""

    x: Array
    noise: Array
    residual: Array
    scale: float
    phi: float
    square: float
    tail: float
    memory: float
    weight: float
    distinct: float
    drift: float


def quantile(ordered: Array, share: float) -> float:
    """Return the quantile of ascending values, between two of them in proportion."""
    place = share * (ordered.size - 1)
    low = int(place)
    if low >= ordered.size - 1:
        return float(ordered[-1])
    return float(ordered[low] + (place - low) * (ordered[low + 1] - ordered[low]))


def median(values: Array) -> float:
    """Return the median of values as a plain number."""
    return float(np.median(values))


def _difference_scale(x: Array) -> float:
    best = max(MAD * median(np.abs(x[lag:] - x[:-lag])) / np.sqrt(2.0) for lag in (1, 2))
    if best > 0:
        return float(best)
    # more than half of the differences are 0: the trimmed mean of the rest tells the grain
    kept = int(0.9 * (x.size - 1))
    return float(0.8862 * np.sort(np.abs(np.diff(x)))[:kept].sum() / kept) if kept else 0.0


def noise_of_values(x: Array, ordered: Array) -> float:
    """Return the noise between neighbours, 0 where nothing varies; ``ordered`` are the values, ascending."""
    width, largest = float(ordered[-1] - ordered[0]), max(abs(float(ordered[0])), abs(float(ordered[-1])))
    if not width > 1e-13 * largest:
        return 0.0
    return max(_difference_scale(x), 1e-6 * width, 1e-12 * largest)


def _residuals(x: Array, places: Sequence[int]) -> Array:
    return np.concatenate([part - median(part) for part in np.split(x, list(places))])


def _correlation(z: Array, lag: int) -> float:
    centred = z - z.mean()
    total = float((centred * centred).sum())
    return float((centred[lag:] * centred[:-lag]).sum()) / total if total > 0 and z.size > lag else 0.0


def study_noise(x: Array, places: Sequence[int], floor: float, ordered: Array) -> Study:
    """Look at the noise around the levels that begin at ``places``."""
    n, residual = x.size, _residuals(x, places)
    size = np.abs(residual)
    everywhere = MAD * median(size)
    scale = min(max(everywhere, floor), 2.5 * floor)
    ratio = size / scale
    by_size = np.sort(size)
    half, most = quantile(by_size, 0.5), quantile(by_size, 0.9)
    clipped = np.clip(residual, -3 * scale, 3 * scale)
    first = _correlation(clipped, 1)
    memory = first
    for lag in range(2, 7):
        if lag < n // 4:
            memory += _correlation(clipped, lag)
    noise = np.full(n, max(everywhere, scale))
    if n >= 30:
        for t in range(0, n, 4):
            near = MAD * median(size[max(0, t - 20) : t + 21])
            mixed = 0.35 * everywhere + 0.65 * near
            noise[t : t + 4] = min(max(mixed, 0.5 * scale), 4 * max(scale, everywhere))
    parts = min(n // 8 + 1, 8)
    medians = [median(x[p * n // parts : (p + 1) * n // parts]) for p in range(parts)]
    return Study(
        x=x,
        noise=noise,
        residual=residual,
        scale=scale,
        phi=0.0 if n < 12 else min(max(first + 1.0 / n - 1.0 / np.sqrt(n), 0.0), 0.8),
        square=float(np.square(np.minimum(ratio, 8)).mean()),
        tail=float((ratio > 4).mean()),
        memory=memory,
        weight=min(max(most / half, 0.0), 20.0) if half > 0 else 20.0,
        distinct=float(1 + np.count_nonzero(np.diff(ordered))) / n,
        drift=(max(medians) - min(medians)) / scale,
    )
