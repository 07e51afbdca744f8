"""The noise of a stable region: its scale, its autocorrelation, and how far runs of its values stray by themselves.

New samples are compared with the level of a region. How far they may lie from it depends on the noise of the region, on
how well its level is known, and on how many samples there are; neighbouring values that resemble each other say less
than independent ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.outliers import find_outliers_of_noise, rounding
from knickpoint.model.distribution import MAD

RARE: Final = 0.02
"""Share of the runs of a region that may stray as far as new samples do."""


@dataclass(frozen=True, slots=True)
class RegionNoise:
    """The level of a region, and how its values stray from it.

    Attributes:
        centre: median of the values.
        scale: standard deviation.
        phi: autocorrelation at lag 1.
        count: how many values the numbers above come from.
        values: all measured values, outliers included; the numbers above leave outliers out.
        outliers: how many outliers there are.
    """

    centre: float
    scale: float
    phi: float
    count: float
    values: NDArray[np.float64]
    outliers: int

    def standard_error(self, samples: int) -> float:
        """Return the standard deviation of the median of so many samples less the centre, which is a median, too."""
        lags = np.arange(1, samples)
        of_mean = float(1 + 2 * ((1 - lags / samples) * self.phi**lags).sum()) / samples
        of_level = (1 + self.phi) / (1 - self.phi) / self.count
        return self.scale * math.sqrt(of_mean * _median_to_mean(samples) + of_level * _median_to_mean(int(self.count)))

    def run_distances(self, samples: int) -> NDArray[np.float64]:
        """Return the distances of the medians of all runs of a length, at most half of the region, from the centre."""
        length = min(samples, self.values.size // 2)
        medians: NDArray[np.float64] = np.median(np.lib.stride_tricks.sliding_window_view(self.values, length), axis=1)
        return medians - self.centre

    def usual_distance(self, samples: int) -> float:
        """Return the distance, to either side, that only the rare runs of so many values exceed."""
        distances = self.run_distances(samples)
        beyond = int(rare_share(distances.size) * distances.size)
        return float(max(np.sort(side)[-beyond - 1] for side in (distances, -distances)))


def rare_share(runs: int) -> float:
    """Return the share of so many runs that may stray as far: at least one run where there are few."""
    return RARE + 1 / runs if runs < 1 / RARE else RARE


def _median_to_mean(samples: int) -> float:
    """Return the variance of the median of so many normal samples over that of their mean, to 3 % for odd numbers."""
    odd = samples - 1 + samples % 2
    return math.pi * odd / (2 * odd + math.pi - 2)


def estimate_noise(values: NDArray[np.float64], *, ordered: bool) -> RegionNoise:
    """Estimate level, noise and autocorrelation of a region, with at most a tenth of the values set aside as outliers.

    The autocorrelation around an estimated level is too small by (1 + 3 phi) / n (Kendall 1954), which is corrected.
    Values without an order have none.
    """
    level = rounding(values)
    found = find_outliers_of_noise(values, most=max(1, values.size // 10), alpha=0.01, rounded_to=level)
    kept = np.delete(values, list(found.indices[: found.count]))
    # Scale: the largest of the standard deviation around the median, the median absolute deviation, and half of the
    #     rounding.
    centre = float(np.median(kept))
    residual = kept - centre
    deviation = float(np.sqrt(np.square(residual).sum() / max(kept.size - 1, 1)))
    scale = max(deviation, MAD * float(np.median(np.abs(residual))), level / 2)
    # Autocorrelation of residuals within three deviations, between 0 and 0.8.
    clipped = np.clip(residual, -3 * scale, 3 * scale)
    total = float(np.square(clipped).sum())
    first = float((clipped[1:] * clipped[:-1]).sum()) / total if total > 0 else 0.0
    phi = min(max(first + (1 + 3 * first) / kept.size, 0.0), 0.8) if ordered else 0.0
    return RegionNoise(centre, scale, phi, float(kept.size), values, found.count)
