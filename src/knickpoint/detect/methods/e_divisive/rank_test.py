"""E-Divisive on ranks: where all orders are equally likely, the largest Q of ranks has one law for a length."""

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

__all__ = ["NullLaw", "null_law", "ranks", "split_by_rank"]

_BESIDE: Final = 2
"""How far the place of a step may be from the largest Q of ranks."""

_AROUND: Final = 15
"""Values on either side that decide it."""

_ROUNDING: Final = 1e-12

_LAST_DIGIT: Final = 6e-5
"""What the quantiles of the table may be off by, because they are rounded."""

_FILE: Final = Path(__file__).parent / "null_law.json"


@dataclass(frozen=True, slots=True)
class NullLaw:
    """Hold simulated quantiles of the largest Q of ranks over the mean distance of ranks, by length.

    ``quantiles[i, j]`` is exceeded with probability ``levels[j]`` by series of ``lengths[i]`` values.
    """

    lengths: NDArray[np.float64]
    levels: NDArray[np.float64]
    quantiles: NDArray[np.float64]

    def row(self, count: int) -> NDArray[np.float64]:
        """Return the quantiles for ``count`` values, interpolated, or carried on, in log length."""
        place = math.log(count)
        grid = np.log(self.lengths)
        row = np.array([np.interp(place, grid, column) for column in self.quantiles.T])
        if place > grid[-1]:
            row += (self.quantiles[-1] - self.quantiles[-3]) * (place - grid[-1]) / (grid[-1] - grid[-3])
        rising: NDArray[np.float64] = np.maximum.accumulate(row)
        return rising

    def p_value(self, count: int, statistic: float) -> float:
        """Return how likely ``statistic`` or more is; at least the smallest level of the table, at most 1.

        Few values have few orders, and a quantile may be reached more often than its level says; less than the level
        before.
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
    """Return the law for a scan and a form; ``least`` counts as the next shorter block that was simulated.

    A shorter block has a larger maximum, so the test errs on the careful side.
    """
    table = _table()
    laws = table["laws"]
    levels = table["levels"]
    assert isinstance(laws, list)
    scan, form = ("tau_kappa" if both else "tau"), ("V" if v_form else "U")
    own = [law for law in laws if law["scan"] == scan and law["form"] == form and law["least"] <= least]
    law = max(own, key=lambda candidate: int(candidate["least"]))
    return NullLaw(np.array(law["lengths"], float), np.array(levels, float), np.array(law["quantiles"], float))


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ranks 0 to n - 1 of ``values``; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    shared: NDArray[np.float64] = (last - (counts + 1) / 2)[place]
    return shared


def _nearby(values: NDArray[np.float64], place: int, least: int) -> int:
    """Return the place beside ``place`` that divides the values around it best, by distances from the medians.

    The ranks of two levels that stand apart are those of a drawn order on either side, so they leave the place open by
    a value or two; the values do not. Distances, not squares, so that an outlier moves nothing.
    """
    low, high = max(0, place - _AROUND), min(values.size, place + _AROUND)
    nearest = sorted(
        range(max(least, place - _BESIDE), min(values.size - least, place + _BESIDE) + 1),
        key=lambda other: (abs(other - place), other),
    )

    def strays(at: int) -> float:
        return sum(float(np.abs(part - np.median(part)).sum()) for part in (values[low:at], values[at:high]))

    best, fewest = place, strays(place)
    for other in nearest:
        stray = strays(other)
        if stray < fewest * (1 - _ROUNDING):
            best, fewest = other, stray
    return best


def split_by_rank(values: NDArray[np.float64], search: SearchSettings) -> list[ExaminedSplit]:
    """Return the places examined: each segment is tested by itself, the strongest first."""
    law = null_law(both=search.both, v_form=search.v_form, least=search.least)
    if not law.levels[-1] <= search.p <= law.levels[0]:
        raise InputError(
            f"the rank test has no p of {search.p:g}",
            where="e_divisive",
            remedy=f"Give a p from {law.levels[-1]:g} to {law.levels[0]:g}, or test=permutation.",
        )
    shortest = max(2 * search.least, int(law.lengths[0]))

    def judge(first: int, stop: int) -> tuple[float, ExaminedSplit, int, int] | None:
        count = stop - first
        if count < shortest:
            return None
        place, q = best_split(ranks(values[first:stop]), search)
        if not place:
            return None
        statistic = q / ((count + 1) / 3)
        p = law.p_value(count, statistic)
        accepted = p <= search.p * (1 + 1e-9)
        ranked = place
        if accepted:
            place = _nearby(values[first:stop], place, search.least)
        checks: tuple[Check, ...] = (
            Check("q_hat of ranks", statistic),
            Check("p of the rank law", p, "<=", search.p, passed=accepted),
        )
        if place != ranked:
            checks += (Check("values moved by, for distances from the medians", float(abs(place - ranked))),)
        reason = "" if accepted else f"ranks as far apart have p {p:.3g}, more than {search.p:g}"
        return statistic, ExaminedSplit(first + place, statistic, p, accepted, checks, reason), first, stop

    waiting = [judged for judged in [judge(0, values.size)] if judged]
    examined: list[ExaminedSplit] = []
    taken = 0
    while waiting:
        waiting.sort(key=lambda judged: (judged[1].p_value, -judged[0]), reverse=True)
        _, found, first, stop = waiting.pop()
        if found.accepted and search.most is not None and taken >= search.most:
            break
        examined.append(found)
        if found.accepted:
            taken += 1
            waiting += [judged for judged in (judge(first, found.index), judge(found.index, stop)) if judged]
    return examined
