"""E-Divisive on ranks: a table of p-values replaces the permutations.

Where all orders are equally likely, the distribution of the largest Q of ranks depends on the number of values alone,
whatever the shape of the noise. ``benchmarks/detect_null_law.py`` simulates it. Each segment is tested by itself.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from knickpoint.detect.methods.e_divisive.split import ExaminedSplit, SearchSettings, best_split
from knickpoint.model.errors import InputError
from knickpoint.model.step import Check

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BESIDE: Final = 2
"""Values by which the index of a step may differ from that of the largest Q of ranks."""

_AROUND: Final = 15
"""Values on either side that decide the index of a step."""

_ROUNDING: Final = 1e-12
"""Sums of distances that differ by a smaller share are equal."""

_LAST_DIGIT: Final = 6e-5
"""How far the quantiles of the table may be off, because they are rounded."""

_FILE: Final = Path(__file__).parent / "null_law.json"


@dataclass(frozen=True, slots=True)
class NullLaw:
    """Simulated quantiles of the largest Q of ranks over the mean distance of ranks, by length.

    ``quantiles[i, j]`` is exceeded with probability ``levels[j]`` by series of ``lengths[i]`` values.
    """

    lengths: NDArray[np.float64]
    levels: NDArray[np.float64]
    quantiles: NDArray[np.float64]

    def row(self, count: int) -> NDArray[np.float64]:
        """Return the quantiles for ``count`` values, interpolated or extrapolated in log length."""
        log_count = math.log(count)
        grid = np.log(self.lengths)
        row = np.array([np.interp(log_count, grid, column) for column in self.quantiles.T])
        if log_count > grid[-1]:
            row += (self.quantiles[-1] - self.quantiles[-3]) * (log_count - grid[-1]) / (grid[-1] - grid[-3])
        rising: NDArray[np.float64] = np.maximum.accumulate(row)
        return rising

    def p_value(self, count: int, statistic: float) -> float:
        """Return the probability of ``statistic`` or more: at least the smallest level of the table, at most 1.

        Few values have few orders, so that a quantile may be reached more often than its level says, but not as often
        as the level before it.
        """
        row = self.row(count)
        if statistic <= row[0]:
            return 1.0
        reached = int(np.searchsorted(row, statistic - _LAST_DIGIT))
        if reached < row.size and row[reached] <= statistic + _LAST_DIGIT:
            return float(self.levels[reached - 1]) if reached else 1.0
        return float(np.exp(np.interp(statistic, row, np.log(self.levels))))


@cache
def _table() -> dict[str, object]:
    table: dict[str, object] = json.loads(_FILE.read_text(encoding="utf-8"))
    return table


@cache
def null_law(*, both: bool, v_form: bool, least: int) -> NullLaw:
    """Return the law for a scan and a form; ``least``, the shortest block, counts as the next shorter simulated one.

    A shorter block has a larger maximum, so the test is conservative.
    """
    table = _table()
    laws = table["laws"]
    levels = table["levels"]
    assert isinstance(laws, list)
    scan, form = ("tau_kappa" if both else "tau"), ("V" if v_form else "U")
    fitting = [law for law in laws if law["scan"] == scan and law["form"] == form and law["least"] <= least]
    law = max(fitting, key=lambda candidate: int(candidate["least"]))
    return NullLaw(np.array(law["lengths"], float), np.array(levels, float), np.array(law["quantiles"], float))


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ranks 0 to n - 1 of ``values``; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    shared: NDArray[np.float64] = (last - (counts + 1) / 2)[inverse]
    return shared


def _refine_index(values: NDArray[np.float64], index: int, least: int) -> int:
    """Return the index next to ``index`` that divides the values around it best, by distances from the medians.

    Ranks of two separate levels are in random order on either side, so they locate the step only to a value or two; the
    values locate it better. Distances are used, not squares, so that an outlier has little weight.
    """
    low, high = max(0, index - _AROUND), min(values.size, index + _AROUND)
    by_distance = sorted(
        range(max(least, index - _BESIDE), min(values.size - least, index + _BESIDE) + 1),
        key=lambda other: (abs(other - index), other),
    )

    def total_distance(division: int) -> float:
        sides = (values[low:division], values[division:high])
        return sum(float(np.abs(side - np.median(side)).sum()) for side in sides)

    best, smallest = index, total_distance(index)
    for other in by_distance:
        distance = total_distance(other)
        if distance < smallest * (1 - _ROUNDING):
            best, smallest = other, distance
    return best


@dataclass(frozen=True, slots=True)
class _TestedSegment:
    """The best split of the segment ``[first, stop)``, tested."""

    split: ExaminedSplit
    first: int
    stop: int

    @property
    def parts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The segments on both sides of the split."""
        return (self.first, self.split.index), (self.split.index, self.stop)


def _test_segment(
    values: NDArray[np.float64], first: int, stop: int, settings: SearchSettings, law: NullLaw
) -> _TestedSegment | None:
    """Test the best split of ``values[first:stop]``, None where the segment is too short or constant."""
    count = stop - first
    if count < max(2 * settings.minimum_segment, int(law.lengths[0])):
        return None
    segment = values[first:stop]
    index, q = best_split(ranks(segment), settings)
    if not index:
        return None
    # Q over the mean distance of ranks has one law for a length.
    statistic = q / ((count + 1) / 3)
    p = law.p_value(count, statistic)
    accepted = p <= settings.p * (1 + 1e-9)
    refined = _refine_index(segment, index, settings.minimum_segment) if accepted else index
    checks: tuple[Check, ...] = (
        Check("q_hat of ranks", statistic),
        Check("p of the rank law", p, "<=", settings.p, passed=accepted),
    )
    if refined != index:
        checks += (Check("values moved by, for distances from the medians", float(abs(refined - index))),)
    reason = "" if accepted else f"ranks as far apart have p {p:.3g}, more than {settings.p:g}"
    return _TestedSegment(ExaminedSplit(first + refined, statistic, p, accepted, checks, reason), first, stop)


def split_by_rank(values: NDArray[np.float64], settings: SearchSettings) -> list[ExaminedSplit]:
    """Return the splits examined: each segment is tested by itself, the most significant first."""
    law = null_law(both=settings.vary_end, v_form=settings.v_form, least=settings.minimum_segment)
    if not law.levels[-1] <= settings.p <= law.levels[0]:
        raise InputError(
            f"the rank test has no p of {settings.p:g}",
            where="e_divisive",
            remedy=f"Give a p from {law.levels[-1]:g} to {law.levels[0]:g}, or test=permutation.",
        )

    def tested(*segments: tuple[int, int]) -> list[_TestedSegment]:
        return [found for segment in segments if (found := _test_segment(values, *segment, settings, law))]

    waiting = tested((0, values.size))
    examined: list[ExaminedSplit] = []
    accepted = 0
    while waiting:
        # The most significant segment; of equal ones the one with the larger Q.
        waiting.sort(key=lambda segment: (segment.split.p_value, -segment.split.score), reverse=True)
        segment = waiting.pop()
        if segment.split.accepted and settings.maximum_steps is not None and accepted >= settings.maximum_steps:
            break
        examined.append(segment.split)
        if segment.split.accepted:
            accepted += 1
            waiting += tested(*segment.parts)
    return examined
