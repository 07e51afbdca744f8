"""Outliers of one sample: the generalised ESD test.

Source: B. Rosner, "Percentage points for a generalized ESD many-outlier procedure", Technometrics 25 (1983), in the
form of the NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.5.17.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import safe_unit
from knickpoint.native.student import student_p_value

__all__ = ["Outliers", "critical_value", "find_outliers", "may_be_outlier", "student_quantile"]

_MAD = 1.4826
"""Factor from the median absolute deviation to the standard deviation of normal noise."""


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
    """Return the quantile of Student's t with ``freedom`` degrees of freedom at ``share``, between 0.5 and 1, exclusive.

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
    """Return how many deviations off the most extreme of ``count`` values may lie at the level ``alpha``."""
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
    indices: list[int] = []
    statistics: list[float] = []
    critical: list[float] = []
    measure = _distances_from_median if robust else _distances_from_mean
    # Sorted, the median is in the middle and the most extreme value at one end.
    rows = np.argsort(values, kind="stable") if robust else np.arange(values.size)
    rest = values[rows]
    count = 0
    # Remove the most extreme value, again and again. All values removed up to the last one beyond its critical value are
    # outliers, so that several of them cannot hide one another.
    for _ in range(min(most, values.size - 2)):
        distance, deviation = measure(rest / safe_unit(rest))
        if not deviation > 0:
            break
        furthest = np.flatnonzero(distance == distance.max())
        extreme = int(furthest[rows[furthest].argmin()])
        indices.append(int(rows[extreme]))
        statistics.append(float(distance[extreme]) / deviation)
        critical.append(critical_value(rest.size, alpha))
        if statistics[-1] > critical[-1]:
            count = len(indices)
        rest, rows = _without(rest, extreme), _without(rows, extreme)
    return Outliers(count, tuple(indices), tuple(statistics), tuple(critical))


def _distances_from_mean(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the distance of each value from the mean, and the standard deviation."""
    return np.abs(values - values.mean()), float(values.std(ddof=1))


def _distances_from_median(ascending: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the distance of each value from the median, and their median on the scale of a standard deviation."""
    low, high = (ascending.size - 1) // 2, ascending.size // 2
    distance = np.abs(ascending - (ascending[low] + ascending[high]) / 2)
    middle = np.partition(distance, (low, high))
    return distance, _MAD * float((middle[low] + middle[high]) / 2)


def may_be_outlier(values: NDArray[np.float64], value: float, *, alpha: float = 0.05) -> bool:
    """Return whether ``value`` can be among the outliers of ``values`` and itself, by the robust test, at most a tenth.

    False is certain; the test itself takes forty times as long. While the test removes values, at least nine tenths are
    left. So their median lies between two of the sorted values, and half of them lie within one median absolute deviation
    on either side, an interval no shorter than the shortest with that many values.
    """
    ascending = np.sort(np.append(values, value))
    ascending = ascending / safe_unit(ascending)
    value = value / safe_unit(np.append(values, value))
    count, removed = ascending.size, ascending.size // 10 + 1
    half = (count - removed + 1) // 2
    if half < 2 or count - removed < 3:
        return True
    least = _MAD * float((ascending[half - 1 :] - ascending[: count - half + 1]).min()) / 2
    low, high = ascending[(count - removed - 1) // 2], ascending[min((count + removed) // 2, count - 1)]
    furthest = max(abs(value - low), abs(value - high))
    return bool(furthest >= critical_value(count - removed, alpha) * least - (high - low))


_Kept = TypeVar("_Kept", bound=np.generic)


def _without(array: NDArray[_Kept], place: int) -> NDArray[_Kept]:
    """Return ``array`` without the element at ``place``, as a view where that is at an end."""
    if place == 0:
        return array[1:]
    if place == array.size - 1:
        return array[:-1]
    return np.delete(array, place)
