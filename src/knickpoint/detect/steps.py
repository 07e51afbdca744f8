"""Build steps from the indices that a method found, with the stable region before and after each."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from knickpoint.detect.measured_series import safe_unit
from knickpoint.model.errors import SeriesError
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Check, SizeEstimate, StableRegion, Step
from knickpoint.native.regions import describe_regions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def stable_region(values: NDArray[np.float64], first: int, last: int) -> StableRegion:
    """Describe ``values[first:last + 1]`` without the missing ones.

    ``values`` is 1-D float64 with ``nan`` for missing; both bounds are inclusive. The region of the answer
    begins and ends at a measured value.

    Raises:
        SeriesError: the bounds lie outside the series, or no value is measured between them.
    """
    return stable_regions(values, (first, last + 1))[0]


def stable_regions(values: NDArray[np.float64], bounds: Sequence[int]) -> list[StableRegion]:
    """Describe the values from each of the ascending ``bounds`` to the next.

    Errors are those of :func:`stable_region`.
    """
    for first, stop in pairwise(bounds):
        if not 0 <= first < stop <= values.size:
            raise SeriesError(
                f"the region {first} to {stop - 1} is not inside a series of {values.size} values",
                remedy="Give bounds within the series, the first not after the last.",
            )
    regions: list[StableRegion] = []
    for (first, stop), numbers in zip(pairwise(bounds), describe_regions(values, bounds), strict=True):
        if numbers is None:
            raise SeriesError(
                "no value is measured in this region",
                where=f"index {first} to {stop - 1}",
                remedy="Give steps at measured values only.",
            )
        region = StableRegion(*numbers)
        regions.append(region if math.isfinite(region.mean) else _rescaled_region(values, region))
    return regions


def _rescaled_region(values: NDArray[np.float64], region: StableRegion) -> StableRegion:
    """Describe a region again whose values are so large that their sum overflows; the variance is infinite."""
    part = values[region.first : region.last + 1]
    unit = safe_unit(part[~np.isnan(part)])
    scaled = stable_region(part / unit, 0, part.size - 1)
    return replace(region, median=scaled.median * unit, mean=scaled.mean * unit, variance=math.inf)


def _relative(size: float, base: float) -> float:
    if base != 0:
        return size / abs(base)
    return math.copysign(math.inf, size) if size else 0.0


def _hazard(before: float, after: float) -> float:
    """Return log(before / after), nan where a mean is not positive; a ratio that underflows has a logarithm, too."""
    if not (before > 0 and after > 0):
        return math.nan
    ratio = before / after
    return math.log(ratio) if ratio > 0 else math.log(before) - math.log(after)


def _step_between(
    before: StableRegion,
    after: StableRegion,
    *,
    score: float,
    p_value: float | None,
    order: int,
    method: str,
    evidence: tuple[Check, ...],
    kind: FindingKind = FindingKind.STEP,
    estimate: SizeEstimate | None = None,
) -> Step:
    """Build the finding between two regions; its size is that of ``estimate``, else the difference of their means."""
    low, high = (estimate.before, estimate.after) if estimate else (before.mean, after.mean)
    return Step(
        index=after.first,
        previous=before.last,
        before=before,
        after=after,
        size=high - low,
        relative_size=_relative(high - low, low),
        hazard=_hazard(low, high),
        score=score,
        p_value=p_value,
        order=order,
        method=method,
        evidence=evidence,
        kind=kind,
        estimate=estimate,
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
    before, after = stable_regions(values, (first, index, end + 1))
    return _step_between(
        before,
        after,
        score=score,
        p_value=p_value,
        order=order,
        method=method,
        evidence=evidence,
    )


def build_estimated_step(
    before: StableRegion,
    after: StableRegion,
    estimate: SizeEstimate,
    *,
    kind: FindingKind,
    score: float,
    order: int,
    method: str,
    evidence: tuple[Check, ...],
) -> Step:
    """Build the finding between two regions whose size is that of ``estimate``."""
    return _step_between(
        before,
        after,
        score=score,
        p_value=None,
        order=order,
        method=method,
        evidence=evidence,
        kind=kind,
        estimate=estimate,
    )


def with_regions(step: Step, before: StableRegion, after: StableRegion) -> Step:
    """Return ``step`` between other regions; its size is that of its estimate, else the difference of their means."""
    between = _step_between(
        before,
        after,
        score=step.score,
        p_value=step.p_value,
        order=step.order,
        method=step.method,
        evidence=step.evidence,
        kind=step.kind,
        estimate=step.estimate,
    )
    return replace(between, label=step.label)


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
    other sequences have an item for each of ``indices``. The steps are returned sorted by index. Without ``orders``
    the order of ``indices`` is the order of finding. The level before the first step begins at ``first``.

    Raises:
        SeriesError: two steps have no measured value between them.
    """
    count = len(indices)
    if not count:
        return ()
    by_index = sorted(range(count), key=lambda k: int(indices[k]))
    bounds = [first, *(int(indices[k]) for k in by_index), values.size]
    regions = stable_regions(values, bounds)
    return tuple(
        _step_between(
            before,
            after,
            score=math.nan if scores is None else float(scores[k]),
            p_value=None if p_values is None else p_values[k],
            order=k if orders is None else int(orders[k]),
            method=method,
            evidence=() if evidence is None else evidence[k],
        )
        for (before, after), k in zip(pairwise(regions), by_index, strict=True)
    )
