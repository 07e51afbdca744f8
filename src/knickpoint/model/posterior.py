"""What a bisection knows: the probability of each commit. Apart from its other nouns, as commands start without numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

_LIKELY: Final = 0.95
"""The commits that are left hold this share of the probability."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """What is known after some observations.

    ``single`` has the probability of each candidate to be the only culprit (``candidates`` numbers), ``none`` that no
    commit made the change, ``several`` that more than one did; together they sum to 1. ``marginal`` is the probability
    of each candidate to be a culprit, alone or with others.
    """

    single: NDArray[np.float64]
    none: float
    several: float
    marginal: NDArray[np.float64]

    @property
    def left(self) -> tuple[int, ...]:
        """The candidates that hold most of the probability, the likeliest first; empty if no commit made the change."""
        if self.none > 1 - _LIKELY / 2:
            return ()
        order = np.argsort(-self.marginal, kind="stable")
        shares = np.cumsum(self.marginal[order]) / (self.marginal.sum() or 1.0)
        return tuple(order[: int(np.searchsorted(shares, _LIKELY)) + 1].tolist())
