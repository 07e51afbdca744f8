"""What the search of the default method finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["BARS", "CERTAIN", "Segmentation"]

BARS: Final = ((7.0, 0.02), (20.0, 0.5))
"""What makes a change certain: a jump of so much noise, and at most so many runs per 1,000 values by chance."""


CERTAIN: Final = 10.0
"""What certainty adds to the log-odds."""


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Hold the candidates in the order in which they were dropped, those that stay last.

    ``rounds`` is -1 for what stays, ``indices`` the first point of the new level, ``scores`` the log-odds.
    ``features`` are candidates x features. ``proofs`` are candidates x 4: the jump in noise, the values of the
    shorter level that agree, how many such runs per 1,000 values chance would make, and the half width of the interval
    of location in values. A candidate whose proofs reach one of :data:`BARS` has :data:`CERTAIN` added to its score.
    ``facts``: scale of the noise, lag-one autocorrelation, mean square and share beyond 4 of the residuals.
    """

    rounds: NDArray[np.int32]
    indices: NDArray[np.int32]
    scores: NDArray[np.float64]
    features: NDArray[np.float64]
    proofs: NDArray[np.float64]
    facts: tuple[float, float, float, float]
