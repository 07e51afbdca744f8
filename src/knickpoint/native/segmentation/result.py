"""Hold what the search of the default method finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Segmentation"]


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Hold the candidates in the order in which they were dropped, those that stay last.

    ``rounds`` is -1 for what stays, ``indices`` the first point of the new level, ``scores`` the log-odds.
    ``features`` are candidates x features. ``proofs`` are candidates x 4: the jump in noise, the values of the
    shorter level that agree, how many such runs per 1,000 values chance would make, and the half width of the interval
    of location in values. A candidate whose proofs reach one of the ``BARS`` has ``CERTAIN`` added to its score.
    ``facts``: scale of the noise, lag-one autocorrelation, mean square and share beyond 4 of the residuals.
    """

    rounds: NDArray[np.int32]
    indices: NDArray[np.int32]
    scores: NDArray[np.float64]
    features: NDArray[np.float64]
    proofs: NDArray[np.float64]
    facts: tuple[float, float, float, float]
