"""Hold what the search of the default method finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Hold the candidates in the order in which they were dropped, those that stay last.

    ``rounds`` is -1 for what stays, ``indices`` the first point of the new level, ``scores`` the log-odds.
    ``features`` are candidates x features. ``proofs`` are candidates x 4: the jump in noise, the values of the
    shorter level that agree, how many such runs per 1,000 values chance would make, and the half width of the interval
    of location in values. A candidate whose proofs reach one of the ``BARS`` has ``CERTAIN`` added to its score.
    ``facts``: scale of the noise, lag-one autocorrelation, mean square and share beyond 4 of the residuals. ``room`` is
    what the kernel knows of the series, for a search that goes on; None where it would have to study the series anew.
    """

    rounds: NDArray[np.int32]
    indices: NDArray[np.int32]
    scores: NDArray[np.float64]
    features: NDArray[np.float64]
    proofs: NDArray[np.float64]
    facts: tuple[float, float, float, float]
    room: NDArray[np.uint8] | None = None


@dataclass(frozen=True, slots=True)
class Segmentations:
    """Findings of the search in many series: nearly all have no change, so each is unpacked when asked for.

    ``stay`` is the number of candidates that stay in each series, -2 where so many were dropped that it is not known
    yet. ``facts`` are series x 4, those of :class:`Segmentation`. ``of`` returns what was found in one series, by its
    number.
    """

    stay: NDArray[np.int64]
    facts: NDArray[np.float64]
    of: Callable[[int], Segmentation]
