"""What a measure of spread that resists outliers amounts to, for normal noise."""

from __future__ import annotations

from typing import Final

__all__ = ["MAD"]

MAD: Final = 1.4826
"""Factor from the median distance from the median to the standard deviation of normal noise."""
