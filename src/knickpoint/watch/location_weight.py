"""How likely the data make a place near a change, compared with its suspect range."""

from __future__ import annotations

from typing import Final

__all__ = ["location_weight"]

_LEAST_LIKELIHOOD: Final = 20.0
"""The farthest place of an interval of location is that many times less likely than the best (``docs/decisions/default-method.md``)."""


def location_weight(distance: int, interval: int) -> float:
    """Return the likelihood of a place in (0, 1], ``distance`` measured commits from the suspect range, which has 1.

    It falls evenly on a logarithmic scale, to 1 / 20 at the end of the interval of location and on beyond it. Without an
    interval nothing outside is likely.
    """
    if not distance:
        return 1.0
    return _LEAST_LIKELIHOOD ** (-abs(distance) / interval) if interval else 0.0
