"""A sample in ascending order that loses its most extreme value, again and again, in a few steps each time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import unit_of_largest
from knickpoint.model.normal_noise import MAD

__all__ = ["SortedSample"]


class SortedSample:
    """Hold the ``values`` (1-D, finite) that are left, in ascending order, with the place of each in ``values``.

    The median is in the middle, and the most extreme value at one end. The values nearest to the median are neighbours; a
    removal moves the first of them by a place or two, so that no removal takes a pass over the sample.
    """

    def __init__(self, values: NDArray[np.float64]) -> None:
        places = np.argsort(values, kind="stable")
        self._ascending: list[float] = values[places].tolist()
        self._places: list[int] = places.tolist()
        self._first = 0

    def __len__(self) -> int:
        return len(self._ascending)

    def remove_extreme(self) -> tuple[int, float] | None:
        """Remove the value furthest from the median; None where the median absolute deviation is 0.

        The answer is its place, and its distance in median absolute deviations, on the scale of a standard deviation. Of
        values that are equally far, the one with the first place goes.
        """
        ascending, count = self._ascending, len(self._ascending)
        unit = unit_of_largest(max(abs(ascending[0]), abs(ascending[-1])))
        centre = (ascending[(count - 1) // 2] / unit + ascending[count // 2] / unit) / 2
        low, high = self._nearest(centre, unit, (count - 1) // 2), self._nearest(centre, unit, count // 2)
        deviation = MAD * ((low + high) / 2)
        if not deviation > 0:
            return None
        furthest = max(centre - ascending[0] / unit, ascending[-1] / unit - centre)
        extreme = self._first_at(centre, unit, furthest)
        place = self._places.pop(extreme)
        del ascending[extreme]
        return place, furthest / deviation

    def _nearest(self, centre: float, unit: float, rank: int) -> float:
        """Return the distance from the ``centre`` that ``rank`` values are nearer than.

        The ``rank`` + 1 nearest values are neighbours. Further up, the lowest of them is nearer and the highest further off;
        the least of the larger distance is where these cross.
        """
        ascending = self._ascending
        last = len(ascending) - 1 - rank
        first = min(self._first, last)
        while first > 0 and centre - ascending[first - 1] / unit <= ascending[first - 1 + rank] / unit - centre:
            first -= 1
        while first < last and centre - ascending[first] / unit > ascending[first + rank] / unit - centre:
            first += 1
        self._first = first
        reach = max(centre - ascending[first] / unit, ascending[first + rank] / unit - centre)
        return min(reach, centre - ascending[first - 1] / unit) if first else reach

    def _first_at(self, centre: float, unit: float, distance: float) -> int:
        """Return where the value with the first place among those at the ``distance`` is; they are at the ends."""
        ascending, places = self._ascending, self._places
        found = []
        for steps in (range(len(ascending)), range(len(ascending) - 1, -1, -1)):
            for number in steps:
                if abs(ascending[number] / unit - centre) != distance:
                    break
                found.append(number)
        return min(found, key=places.__getitem__)
