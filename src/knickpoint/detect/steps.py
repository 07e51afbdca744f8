"""Turn the places that a method found into steps, with the level before and after each."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from knickpoint.detect.measured_series import safe_unit
from knickpoint.model.errors import SeriesError
from knickpoint.model.step import Check, StableRegion, Step
from knickpoint.native.regions import describe_regions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["build_step", "build_steps", "stable_region"]


def stable_region(values: NDArray[np.float64], first: int, last: int) -> StableRegion:
    """Describe ``values[first:last + 1]``, leaving out what is missing.

    ``values`` is 1-D float64 with ``nan`` for missing; both bounds are inclusive. The region of the answer
    begins and ends at a measured value.

    Raises:
        SeriesError: the bounds leave the series, or nothing is measured between them.
    """
    return _regions(values, (first, last + 1))[0]


def _regions(values: NDArray[np.float64], bounds: Sequence[int]) -> list[StableRegion]:
    """Describe the values from each of the bounds to the next; errors are those of :func:`stable_region`."""
    for first, stop in pairwise(bounds):
        if not 0 <= first < stop <= values.size:
            raise SeriesError(
                f"the region {first} to {stop - 1} is not inside a series of {values.size} values",
                remedy="Give bounds within the series, the first not after the last.",
            )
    found: list[StableRegion] = []
    for (first, stop), numbers in zip(pairwise(bounds), describe_regions(values, bounds), strict=True):
        if numbers is None:
            raise SeriesError(
                "no value is measured in this region",
                where=f"index {first} to {stop - 1}",
                remedy="Place steps at measured values only.",
            )
        region = StableRegion(*numbers)
        found.append(region if math.isfinite(region.mean) else _far_out(values, region))
    return found


def _far_out(values: NDArray[np.float64], region: StableRegion) -> StableRegion:
    """Describe again a region of values so large that their sum is no float; the variance is none either."""
    part = values[region.first : region.last + 1]
    unit = safe_unit(part[~np.isnan(part)])
    small = stable_region(part / unit, 0, part.size - 1)
    return replace(region, median=small.median * unit, mean=small.mean * unit, variance=math.inf)


def _relative(size: float, base: float) -> float:
    if base != 0:
        return size / abs(base)
    return math.copysign(math.inf, size) if size else 0.0


def _hazard(before: float, after: float) -> float:
    """Return log(before / after), nan where one is not positive; means too far apart for their ratio count, too."""
    if not (before > 0 and after > 0):
        return math.nan
    ratio = before / after
    return math.log(ratio) if ratio > 0 else math.log(before) - math.log(after)


def _between(
    before: StableRegion,
    after: StableRegion,
    *,
    score: float,
    p_value: float | None,
    order: int,
    method: str,
    evidence: tuple[Check, ...],
) -> Step:
    size = after.mean - before.mean
    return Step(
        index=after.first,
        previous=before.last,
        before=before,
        after=after,
        size=size,
        relative_size=_relative(size, before.mean),
        hazard=_hazard(before.mean, after.mean),
        score=score,
        p_value=p_value,
        order=order,
        method=method,
        evidence=evidence,
    )


def build_step(
    values: NDArray[np.float64],
    index: int,
    *,
    method: str,
    first: int = 0,
    last: int | None = None,
    score: float = math.nan,
    p_value: float | None = None,
    order: int = 0,
    evidence: tuple[Check, ...] = (),
) -> Step:
    """Build the step at ``index`` between the levels ``[first, index)`` and ``[index, last]``.

    ``values`` is the whole series with ``nan`` for missing, and ``index`` a row of it. When that row is
    missing, the step lies at the next measured one. ``last`` is inclusive; None is the end of the series.

    Raises:
        SeriesError: one of the two levels has no measured value.
    """
    end = values.size - 1 if last is None else last
    before, after = _regions(values, (first, index, end + 1))
    return _between(
        before,
        after,
        score=score,
        p_value=p_value,
        order=order,
        method=method,
        evidence=evidence,
    )


def build_steps(
    values: NDArray[np.float64],
    indices: Sequence[int] | NDArray[np.int64],
    *,
    method: str,
    scores: Sequence[float] | None = None,
    p_values: Sequence[float | None] | None = None,
    orders: Sequence[int] | None = None,
    evidence: Sequence[tuple[Check, ...]] | None = None,
    first: int = 0,
) -> tuple[Step, ...]:
    """Build the steps at ``indices``; each level reaches from one step to the next.

    ``values`` is the whole series with ``nan`` for missing, ``indices`` are rows of it in any order, and the
    other sequences run along ``indices``. The steps come back sorted by index. Without ``orders`` the
    order of ``indices`` counts as the order of finding. The level before the first step begins at ``first``.

    Raises:
        SeriesError: two steps have no measured value between them.
    """
    count = len(indices)
    if not count:
        return ()
    by_index = sorted(range(count), key=lambda k: int(indices[k]))
    bounds = [first, *(int(indices[k]) for k in by_index), values.size]
    regions = _regions(values, bounds)
    return tuple(
        _between(
            regions[place],
            regions[place + 1],
            score=math.nan if scores is None else float(scores[k]),
            p_value=None if p_values is None else p_values[k],
            order=k if orders is None else int(orders[k]),
            method=method,
            evidence=() if evidence is None else evidence[k],
        )
        for place, k in enumerate(by_index)
    )
