"""Shares of counts, with intervals that hold for few counts as well.

The interval is the one of Wilson, "Probable inference, the law of succession, and statistical inference", J. Am. Stat.
Assoc. 22 (1927): the shares that a test with the normal approximation would not reject. Unlike the share with its own
standard error, it stays in [0, 1] and is not empty at 0 of n and at n of n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

__all__ = ["Rate"]

_Z: Final = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: intervals hold 95 %."""


@dataclass(frozen=True, slots=True)
class Rate:
    """``part`` of ``whole`` counts."""

    part: int
    whole: int

    @property
    def share(self) -> float:
        """The part over the whole, nan where there is nothing."""
        return self.part / self.whole if self.whole else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the share, (0, 1) where there is nothing."""
        if not self.whole:
            return 0.0, 1.0
        number, square = self.whole, _Z * _Z
        centre = (self.part + square / 2) / (number + square)
        spread = self.part * (number - self.part) / number + square / 4
        half = _Z * math.sqrt(spread) / (number + square)
        return max(0.0, centre - half), min(1.0, centre + half)
