"""The change points of Catapult, the dashboard of Chromium: split by energy, test by permutation, then filter.

See ``docs/guide/detect/catapult.md``.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import drop_missing, safe_unit
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.steps import build_steps, stable_region
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection, StableRegion

__all__ = ["METHOD", "Split", "detect_catapult", "energies", "filter_checks", "find_splits"]

_LONGEST_TEST: Final = 20
"""Values around a split that the permutation test looks at."""

_SHARE_OF_PEAK: Final = 0.9
"""Neighbours of a split with at least this share of its energy may be the place, too."""

_FEWEST: Final = 4

_TIED: Final = 1e-9
"""Energies that differ by a smaller share differ by rounding."""

_ROUNDING: Final = 1e-12
"""Values that differ by a smaller share are one level, which has no split: running sums leave it some energy."""

_MOST_PERMUTATIONS: Final = 100_000

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Split:
    """A place that divides a segment, with the places that do it nearly as well, ``lower`` to ``upper``.

    ``significance`` is the share of permutations that divide less well.
    """

    index: int
    lower: int
    upper: int
    energy: float
    significance: float


@lru_cache(maxsize=64)
def _weights(count: int) -> tuple[Floats, Floats, Floats]:
    """Return three weights for each place, as columns: of the squared sum and the sum of squares before it, and of that of all.

    The energy of a place with n values before and m after it is 2 n m / (n + m) times the squared distance of the
    means, less S / (n (n - 1)) and S' / (m (m - 1)), where S and S' are the sums of squares around these means. The
    sum of all values is taken to be 0.
    """
    n = np.arange(1, count, dtype=np.float64)[:, None]
    m = count - n
    scale = 2 * n * m / count
    here = np.divide(1.0, n * (n - 1), out=np.zeros_like(n), where=n > 1)
    there = here[::-1]
    return scale * ((count / (n * m)) ** 2 + here / n + there / m), scale * (there - here), scale * there


def energies(columns: Floats) -> Floats:
    """Return for each column and each place 1, 2, … how well the place divides the column.

    It is the energy distance of the parts with squared differences, times n m / (n + m), in O(rows). The
    answer has one row less than ``columns``.
    """
    centred = columns - columns.mean(axis=0)
    sums = np.cumsum(centred, axis=0)[:-1]
    squares = np.cumsum(centred * centred, axis=0)
    of_sums, of_squares, of_all = _weights(len(columns))
    found: Floats = sums * sums * of_sums + squares[:-1] * of_squares - squares[-1] * of_all
    return found


@lru_cache(maxsize=32)
def _shuffles(seed: int, permutations: int, count: int) -> NDArray[np.uint8]:
    """Return where ``count`` values come from, a column a permutation: the same for every test of that many."""
    places = np.tile(np.arange(count, dtype=np.uint8)[:, None], permutations)
    return np.random.default_rng((seed, count)).permuted(places, axis=0)


@dataclass(slots=True)
class _Search:
    permutations: int
    confidence: float
    seed: int
    splits: list[Split] = field(default_factory=list)

    def significance(self, segment: Floats, index: int) -> float:
        """Return the share of permutations of the values around ``index`` that divide less well than they."""
        if segment.size > _LONGEST_TEST:
            first = max(0, min(index - _LONGEST_TEST // 2, segment.size - _LONGEST_TEST))
            segment = segment[first : first + _LONGEST_TEST]
        best = float(energies(segment[:, None]).max())
        shuffled = segment[_shuffles(self.seed, self.permutations, segment.size)]
        below = energies(shuffled).max(axis=0) < best * (1 - _TIED)
        return float(below.sum()) / (self.permutations + 1)

    def divide(self, values: Floats) -> None:
        """Split ``values``, and the parts of every significant split in turn."""
        waiting = [(0, values.size)]
        while waiting:
            first, stop = waiting.pop(0)
            segment = values[first:stop]
            if segment.size < _FEWEST or np.ptp(segment) <= _ROUNDING * np.abs(segment).max():
                continue
            energy = energies(segment[:, None])[:, 0]
            best = int(np.argmax(energy))
            if energy[best] <= 0:
                continue
            significance = self.significance(segment, best + 1)
            bound = _SHARE_OF_PEAK * energy[best]
            lower = upper = best
            while lower > 0 and energy[lower - 1] >= bound:
                lower -= 1
            while upper + 1 < energy.size and energy[upper + 1] >= bound:
                upper += 1
            self.splits.append(
                Split(first + best + 1, first + lower + 1, first + upper + 1, float(energy[best]), significance)
            )
            if significance >= self.confidence:
                waiting += [(first, first + best + 1), (first + best + 1, stop)]


def find_splits(values: Floats, *, permutations: int = 199, confidence: float = 0.95, seed: int = 0) -> list[Split]:
    """Return every split that was looked at, the rejected ones included, in the order of search.

    ``values`` is 1-D without missing values; a segment of less than four is not split.
    """
    search = _Search(permutations, confidence, seed)
    search.divide(values)
    return search.splits


def _squares(part: StableRegion) -> float:
    """Return the sum of squared distances from the mean."""
    return part.variance * (part.count - 1)


def filter_checks(
    values: Floats, split: int, *, segment: int, absolute: float, change: float, deviations: float, steppiness: float
) -> tuple[Check, ...]:
    """Compare the two parts of ``values`` with the five bounds of Catapult, in its order."""
    unit = safe_unit(values)
    scaled = values / unit
    whole, before, after = (
        stable_region(scaled, *part) for part in ((0, values.size - 1), (0, split - 1), (split, values.size - 1))
    )
    size = abs(after.median - before.median)
    relative = (size / abs(before.median) if before.median else math.inf) if size else 0.0
    size *= unit
    noise = deviations * min(math.sqrt(_squares(part) / part.count) for part in (before, after)) * unit
    inside, around = _squares(before) + _squares(after), _squares(whole)
    shape = 1.0 - math.sqrt(inside / around) if around else 0.0
    smaller = float(min(before.count, after.count))
    return (
        Check("values on the smaller side", smaller, ">=", float(segment), passed=smaller >= segment),
        Check("change of the medians", size, ">=", absolute, passed=size >= absolute),
        Check("relative change of the medians", relative, ">=", change, passed=relative >= change),
        Check("change against the calmer side's deviation", size, ">=", noise, passed=size >= noise),
        Check("steppiness", shape, ">=", steppiness, passed=shape >= steppiness),
    )


def detect_catapult(
    values: NDArray[np.float64],
    *,
    window: int = 50,
    segment: int = 6,
    absolute: float = 0.0,
    change: float = 0.1,
    deviations: float = 2.5,
    steppiness: float = 0.5,
    confidence: float = 0.95,
    permutations: int = 199,
    seed: int = 0,
) -> Detection:
    """Split the newest values where their energy says so, and keep the splits that pass five filters.

    Args:
        values: 1-D, ``nan`` for missing; missing values are left out.
        window: how many of the newest measured values to look at, 0 for all.
        segment: measured values on either side, at least.
        absolute: smallest change of the medians, in the unit of the series.
        change: smallest change of the medians, as a share of |median before|.
        deviations: smallest change of the medians in standard deviations of the calmer side.
        steppiness: smallest likeness to a step, 1 for a perfect one.
        confidence: share of permutations that have to divide less well.
        permutations: how many there are.
        seed: of the permutations.

    Raises:
        InputError: parameters that cannot be.
    """
    if window < 0 or seed < 0 or not 1 <= permutations <= _MOST_PERMUTATIONS or not 0 < confidence < 1:
        raise InputError(
            f"window is {window}, permutations {permutations}, seed {seed} and confidence {confidence}",
            remedy=f"Give a window and a seed of 0 or more, 1 to {_MOST_PERMUTATIONS} permutations, and a confidence "
            "between 0 and 1.",
        )
    if segment < 0 or not min(absolute, change, deviations) >= 0 or not steppiness <= 1:
        raise InputError(
            f"segment is {segment}, absolute {absolute:g}, change {change:g}, deviations {deviations:g} and "
            f"steppiness {steppiness:g}",
            remedy="Give numbers of 0 or more, and a steppiness of 1 at most.",
        )
    parameters: dict[str, float | int | str | bool | None] = {
        "window": window,
        "segment": segment,
        "absolute": absolute,
        "change": change,
        "deviations": deviations,
        "steppiness": steppiness,
        "confidence": confidence,
        "permutations": permutations,
        "seed": seed,
    }
    series = drop_missing(values)
    offset = max(0, series.values.size - window) if window else 0
    newest = series.values[offset:]
    unit = safe_unit(newest)
    judged: list[tuple[Candidate, Split]] = []
    for split in find_splits(newest / unit, permutations=permutations, confidence=confidence, seed=seed):
        checks: tuple[Check, ...] = (
            Check(
                "share of permutations below",
                split.significance,
                ">=",
                confidence,
                passed=split.significance >= confidence,
            ),
            *filter_checks(
                newest,
                split.index,
                segment=segment,
                absolute=absolute,
                change=change,
                deviations=deviations,
                steppiness=steppiness,
            ),
            Check("earliest index", float(series.rows[offset + split.lower])),
            Check("latest index", float(series.rows[offset + split.upper])),
        )
        failed = next((check for check in checks if not check.passed), None)
        reason = "" if failed is None else f"{failed.name} is {failed.value:.4g}, not >= {failed.bound:.4g}"
        judged.append((Candidate(int(series.rows[offset + split.index]), failed is None, checks, reason), split))
    found = [(candidate, split) for candidate, split in judged if candidate.accepted]
    return Detection(
        "catapult",
        parameters,
        build_steps(
            values,
            [candidate.index for candidate, _ in found],
            method="catapult",
            scores=[min(split.energy * unit * unit, sys.float_info.max) for _, split in found],
            evidence=[candidate.checks for candidate, _ in found],
        ),
        tuple(sorted((candidate for candidate, _ in judged), key=lambda each: each.index)),
        {"values looked at": float(newest.size)},
    )


METHOD: Final = Method("catapult", MethodKind.SERIES, detect_catapult)
