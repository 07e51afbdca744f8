"""Outliers of one sample: the generalised ESD test.

Source: B. Rosner, "Percentage points for a generalized ESD many-outlier procedure", Technometrics 25 (1983), in the
form of the NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.5.17.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import safe_unit, unit_of_largest
from knickpoint.model.distribution import MAD
from knickpoint.native.student import student_p_value

# A sample in ascending order that loses its most extreme value, again and again, in a few steps each time.


class SortedSample:
    """Hold the ``values`` (1-D, finite) that are left, in ascending order, with the place of each in ``values``.

    The median is in the middle, and the most extreme value at one end. The values nearest to the median are neighbours;
    a removal moves the first of them by a place or two, so that no removal takes a pass over the sample.
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

        The answer is its place, and its distance in median absolute deviations, on the scale of a standard deviation.
        Of values that are equally far, the one with the first place goes.
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

        The ``rank`` + 1 nearest values are neighbours. Further up, the lowest of them is nearer and the highest further
        off; the least of the larger distance is where these cross.
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
        """Return the index of the value with the first place among those at the ``distance``; they are at the ends."""
        ascending, places = self._ascending, self._places
        found = []
        for steps in (range(len(ascending)), range(len(ascending) - 1, -1, -1)):
            for number in steps:
                if abs(ascending[number] / unit - centre) != distance:
                    break
                found.append(number)
        return min(found, key=places.__getitem__)


@dataclass(frozen=True, slots=True)
class Outliers:
    """The result of the test: the first ``count`` of ``indices`` are outliers.

    ``statistics[k]`` is how far the k-th most extreme value lies from the rest, in deviations, and ``critical[k]`` what
    this has to exceed.
    """

    count: int
    indices: tuple[int, ...]
    statistics: tuple[float, ...]
    critical: tuple[float, ...]


@lru_cache(maxsize=4096)
def student_quantile(share: float, freedom: float) -> float:
    """Return the quantile of Student's t with ``freedom`` degrees of freedom at ``share``, above 0.5 and below 1.

    Bisection finds it to 1e-12 relative.
    """
    low, high = 0.0, 1.0
    while 1 - student_p_value(high, freedom) / 2 < share:
        low, high = high, high * 2
        if high > 1e300:
            return math.inf
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        if 1 - student_p_value(middle, freedom) / 2 < share:
            low = middle
        else:
            high = middle
    return high


def critical_value(count: int, alpha: float) -> float:
    """Return the most deviations that the most extreme of ``count`` values may be off at the level ``alpha``."""
    t = student_quantile(1 - alpha / (2 * count), count - 2)
    return (count - 1) * t / math.sqrt((count - 2 + t * t) * count)


def find_outliers(
    values: NDArray[np.float64], *, most: int = 10, alpha: float = 0.05, robust: bool = False
) -> Outliers:
    """Find up to ``most`` outliers of ``values`` (1-D, finite) at the significance level ``alpha``, on both sides.

    ``robust`` measures the distance from the median in median absolute deviations, not that from the mean in standard
    deviations; the critical values are the same. Values that do not vary have no outliers. Of values that are equally
    extreme, the first one counts.
    """
    return _remove_outliers(SortedSample(values) if robust else _SampleAroundMean(values), most, alpha)


def find_outliers_of_noise(
    values: NDArray[np.float64], *, most: int, alpha: float = 0.05, rounded_to: float = 0.0
) -> Outliers:
    """Find robust outliers as :func:`find_outliers`, around the mean where values are ``rounded_to`` a few levels.

    There, the median absolute deviation is 0 or a whole level, up to three times the noise. The standard deviation is
    right within a few percent, but no less than half of what :func:`rounding` returns for the values that show the
    noise.
    """
    rest = _SampleAroundMean(values, rounded_to / 2) if rounded_to else SortedSample(values)
    return _remove_outliers(rest, most, alpha)


def rounding(values: NDArray[np.float64]) -> float:
    """Return the smallest difference of ``values`` (1-D, finite) that are rounded to a few levels, else 0.

    They are where at most half of them are different ones; values that are all equal show no rounding.
    """
    levels = np.unique(values)
    return float(np.diff(levels).min()) if 1 < levels.size <= values.size / 2 else 0.0


def _remove_outliers(rest: SortedSample | _SampleAroundMean, most: int, alpha: float) -> Outliers:
    indices: list[int] = []
    statistics: list[float] = []
    critical: list[float] = []
    count = 0
    # Remove the most extreme value, again and again. All values removed up to the last one beyond its critical value
    # are outliers, so that several of them cannot hide one another.
    for _ in range(min(most, len(rest) - 2)):
        size = len(rest)
        removed = rest.remove_extreme()
        if removed is None:
            break
        index, distance = removed
        indices.append(index)
        statistics.append(distance)
        critical.append(critical_value(size, alpha))
        if distance > critical[-1]:
            count = len(indices)
    return Outliers(count, tuple(indices), tuple(statistics), tuple(critical))


class _SampleAroundMean:
    """Hold the values that are left, in their order, with the place that each had at the start.

    ``least`` is the smallest standard deviation that their noise can have.
    """

    def __init__(self, values: NDArray[np.float64], least: float = 0.0) -> None:
        self._values = values
        self._least = least
        self._places = np.arange(values.size)

    def __len__(self) -> int:
        return self._values.size

    def remove_extreme(self) -> tuple[int, float] | None:
        """Remove the value furthest from the mean, and return its place and distance in standard deviations.

        None where nothing varies.
        """
        unit = safe_unit(self._values)
        values = self._values / unit
        distance, deviation = np.abs(values - values.mean()), max(float(values.std(ddof=1)), self._least / unit)
        if not deviation > 0:
            return None
        extreme = int(distance.argmax())
        place = int(self._places[extreme])
        self._values, self._places = np.delete(self._values, extreme), np.delete(self._places, extreme)
        return place, float(distance[extreme]) / deviation


def may_be_outlier(values: NDArray[np.float64], value: float, *, alpha: float = 0.05) -> bool:
    """Return True if ``value`` can be one of at most a tenth of outliers among ``values``, which are the noise.

    It can where these are rounded to a few levels. Else the test is the robust one, and false is certain; the test
    itself takes forty times as long. While it removes values, at least nine tenths are left. So their median lies
    between two of the sorted values, and half of them lie within one median absolute deviation on either side, an
    interval no shorter than the shortest with that many values.
    """
    if rounding(values):
        return True
    ascending = np.sort(np.append(values, value))
    ascending = ascending / safe_unit(ascending)
    value = value / safe_unit(np.append(values, value))
    count, removed = ascending.size, ascending.size // 10 + 1
    half = (count - removed + 1) // 2
    if half < 2 or count - removed < 3:
        return True
    least = MAD * float((ascending[half - 1 :] - ascending[: count - half + 1]).min()) / 2
    low, high = ascending[(count - removed - 1) // 2], ascending[min((count + removed) // 2, count - 1)]
    furthest = max(abs(value - low), abs(value - high))
    return bool(furthest >= critical_value(count - removed, alpha) * least - (high - low))
