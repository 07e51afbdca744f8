"""Describe a series and its noise, before and after its levels are taken out; ``noise.c`` is the twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.distribution import MAD

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Series:
    """Hold a series and what is known of its noise.

    ``noise`` is per point and ``scale`` for all, both standard deviations; ``residual`` is what remains of the values
    ``x`` without their levels. The rest describes the residuals in units of ``scale``: ``phi`` their autocorrelation at
    lag one, ``memory`` its sum over six lags, ``square`` their mean square, ``tail`` the share beyond 4, ``weight`` the
    90 % quantile of their size over the median; and the values: ``distinct`` the share of distinct ones, ``drift`` how
    far the medians of eighths lie apart.
    """

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


def _noise_between(x: Array) -> float:
    """Return the noise between neighbours, from differences at lag 1 and 2."""
    best = max(MAD * median(np.abs(x[lag:] - x[:-lag])) / np.sqrt(2.0) for lag in (1, 2))
    if best > 0:
        return float(best)
    # More than half of the differences are 0: the trimmed mean of all shows how coarse the values are.
    kept = int(0.9 * (x.size - 1))
    return float(0.8862 * np.sort(np.abs(np.diff(x)))[:kept].sum() / kept) if kept else 0.0


def study_values(x: Array, ordered: Array) -> float:
    """Return the noise between neighbours, 0 where nothing varies; ``ordered`` are the values, ascending."""
    width, largest = float(ordered[-1] - ordered[0]), max(abs(float(ordered[0])), abs(float(ordered[-1])))
    if not width > 1e-13 * largest:
        return 0.0
    return max(_noise_between(x), 1e-6 * width, 1e-12 * largest)


def _take_residuals(x: Array, places: Sequence[int]) -> Array:
    """Return the residuals of the values around the median of each level."""
    return np.concatenate([part - median(part) for part in np.split(x, list(places))])


def _autocorrelation(z: Array, lag: int) -> float:
    """Return the autocorrelation at a lag, 0 where nothing varies."""
    centred = z - z.mean()
    total = float((centred * centred).sum())
    return float((centred[lag:] * centred[:-lag]).sum()) / total if total > 0 and z.size > lag else 0.0


def study_noise(x: Array, places: Sequence[int], floor: float, ordered: Array) -> Series:
    """Describe the noise around the levels that begin at ``places``; ``floor`` is that between neighbours.

    ``ordered`` are the values, ascending.
    """
    n, residual = x.size, _take_residuals(x, places)
    size = np.abs(residual)
    everywhere = MAD * median(size)
    scale = min(max(everywhere, floor), 2.5 * floor)

    # The tails
    ratio = size / scale
    by_size = np.sort(size)
    half, most = quantile(by_size, 0.5), quantile(by_size, 0.9)

    # Autocorrelation at lag 1 and over all lags
    clipped = np.clip(residual, -3 * scale, 3 * scale)
    first = _autocorrelation(clipped, 1)
    memory = first
    for lag in range(2, 7):
        if lag < n // 4:
            memory += _autocorrelation(clipped, lag)

    # The noise around each point, every 4 points, drawn towards that of the whole series
    noise = np.full(n, max(everywhere, scale))
    if n >= 30:
        for t in range(0, n, 4):
            near = MAD * median(size[max(0, t - 20) : t + 21])
            mixed = 0.35 * everywhere + 0.65 * near
            noise[t : t + 4] = min(max(mixed, 0.5 * scale), 4 * max(scale, everywhere))

    # The medians of eighths of the series
    parts = min(n // 8 + 1, 8)
    medians = [median(x[p * n // parts : (p + 1) * n // parts]) for p in range(parts)]
    return Series(
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
