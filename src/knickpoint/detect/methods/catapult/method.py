"""The change points of Catapult, the dashboard of Chromium: split by energy, test by permutation, then filter.

A split is where the energy distance of the two sides, with squared differences, is largest. It is significant when few
permutations of the values around it divide as well; then both sides are split in turn. Five filters remove splits that
are small, short or gradual. The guide page ``docs/guide/detect/catapult.md`` has the formulas.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import drop_missing, safe_unit
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.steps import build_steps, stable_region
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection, StableRegion

_LONGEST_TEST: Final = 20
"""The most values around a split that the permutation test uses."""

_SHARE_OF_PEAK: Final = 0.9
"""Neighbours of a split with at least this share of its energy may be the place of the change, too."""

_FEWEST: Final = 4
"""Values that a segment needs to be split."""

_TIED: Final = 1e-9
"""Energies that differ by a smaller share are equal."""

_ROUNDING: Final = 1e-12
"""Values that differ by a smaller share are one level and have no split, although rounding leaves some energy."""

_MOST_PERMUTATIONS: Final = 100_000

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Split:
    """A split of a segment before the value at ``index``; from ``lower`` to ``upper`` are splits nearly as good.

    ``significance`` is the share of permutations that divide less well.
    """

    index: int
    lower: int
    upper: int
    energy: float
    significance: float


@lru_cache(maxsize=64)
def _weights(count: int) -> tuple[Floats, Floats, Floats]:
    """Return weights per place, as columns: of the squared sum before it, of the squares before it, and of all squares.

    The energy of a place with n values before and m after it is 2 n m / (n + m) times the squared distance of the
    means, less S / (n (n - 1)) and S' / (m (m - 1)), where S and S' are the sums of squares around the means. The
    weights assume that the sum of all values is 0.
    """
    n = np.arange(1, count, dtype=np.float64)[:, None]
    m = count - n
    scale = 2 * n * m / count
    before = np.divide(1.0, n * (n - 1), out=np.zeros_like(n), where=n > 1)
    after = before[::-1]
    return scale * ((count / (n * m)) ** 2 + before / n + after / m), scale * (after - before), scale * after


def energies(columns: Floats) -> Floats:
    """Return for each column and each place 1, 2, … how well the place divides the column.

    It is the energy distance of the parts with squared differences, times n m / (n + m), in O(rows). The
    answer has one row less than ``columns``.
    """
    # Running sums of centred values give the sum and the sum of squares before each place.
    centred = columns - columns.mean(axis=0)
    sums = np.cumsum(centred, axis=0)[:-1]
    squares = np.cumsum(centred * centred, axis=0)
    of_sums, of_squares, of_all = _weights(len(columns))
    energy: Floats = sums * sums * of_sums + squares[:-1] * of_squares - squares[-1] * of_all
    return energy


@lru_cache(maxsize=32)
def _shuffles(seed: int, permutations: int, count: int) -> NDArray[np.uint8]:
    """Return permutations of ``count`` indices, one a column; every test of as many values uses the same ones."""
    indices = np.tile(np.arange(count, dtype=np.uint8)[:, None], permutations)
    return np.random.default_rng((seed, count)).permuted(indices, axis=0)


def _significance(values: Floats, index: int, *, permutations: int, seed: int) -> float:
    """Return the share of permutations of the values around ``index`` that divide less well than they do."""
    if values.size > _LONGEST_TEST:
        first = max(0, min(index - _LONGEST_TEST // 2, values.size - _LONGEST_TEST))
        values = values[first : first + _LONGEST_TEST]
    best = float(energies(values[:, None]).max())
    shuffled = values[_shuffles(seed, permutations, values.size)]
    below = energies(shuffled).max(axis=0) < best * (1 - _TIED)
    return float(below.sum()) / (permutations + 1)


def _near_peak(energy: Floats, best: int) -> tuple[int, int]:
    """Return the first and last place around ``best`` whose energies are all near the one there."""
    bound = _SHARE_OF_PEAK * energy[best]
    lower = upper = best
    while lower > 0 and energy[lower - 1] >= bound:
        lower -= 1
    while upper + 1 < energy.size and energy[upper + 1] >= bound:
        upper += 1
    return lower, upper


def find_splits(values: Floats, *, permutations: int = 199, confidence: float = 0.95, seed: int = 0) -> list[Split]:
    """Return every split that was examined, the rejected ones included, in the order of the search.

    ``values`` is 1-D without missing values; a segment of less than four is not split.
    """
    splits: list[Split] = []
    waiting = [(0, values.size)]
    while waiting:
        first, stop = waiting.pop(0)
        segment = values[first:stop]
        if segment.size < _FEWEST or np.ptp(segment) <= _ROUNDING * np.abs(segment).max():
            continue
        # Split: the place of the largest energy, with the places that are nearly as good.
        energy = energies(segment[:, None])[:, 0]
        best = int(np.argmax(energy))
        if energy[best] <= 0:
            continue
        lower, upper = _near_peak(energy, best)
        # Test: both parts of a significant split are examined in turn. Place k divides before value k + 1.
        significance = _significance(segment, best + 1, permutations=permutations, seed=seed)
        index = first + best + 1
        splits.append(Split(index, first + lower + 1, first + upper + 1, float(energy[best]), significance))
        if significance >= confidence:
            waiting += [(first, index), (index, stop)]
    return splits


def _squares(part: StableRegion) -> float:
    """Return the sum of squared distances from the mean."""
    return part.variance * (part.count - 1)


def filter_checks(
    values: Floats, split: int, *, segment: int, absolute: float, change: float, deviations: float, steppiness: float
) -> tuple[Check, ...]:
    """Return the checks of Catapult's five filters for the two parts of ``values``, in its order."""
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
    """Split the newest values where their energy is largest, and keep the significant splits that pass five filters.

    Args:
        values: 1-D, ``nan`` for missing; missing values are left out.
        window: how many of the newest measured values to use, 0 for all.
        segment: measured values on either side, at least.
        absolute: smallest change of the medians, in the unit of the series.
        change: smallest change of the medians, as a share of |median before|.
        deviations: smallest change of the medians in standard deviations of the calmer side.
        steppiness: smallest likeness to a step, 1 for a perfect one.
        confidence: share of permutations that have to divide less well.
        permutations: how many permutations.
        seed: of the permutations.

    Raises:
        InputError: a parameter is out of its range.
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
    # The newest values, in a unit in which squares are floats.
    series = drop_missing(values)
    offset = max(0, series.values.size - window) if window else 0
    newest, rows = series.values[offset:], series.rows[offset:]
    unit = safe_unit(newest)
    # Splits, each with its filters.
    judged: list[tuple[Candidate, Split]] = []
    for split in find_splits(newest / unit, permutations=permutations, confidence=confidence, seed=seed):
        significant = split.significance >= confidence
        checks: tuple[Check, ...] = (
            Check("share of permutations below", split.significance, ">=", confidence, passed=significant),
            *filter_checks(
                newest,
                split.index,
                segment=segment,
                absolute=absolute,
                change=change,
                deviations=deviations,
                steppiness=steppiness,
            ),
            Check("earliest index", float(rows[split.lower])),
            Check("latest index", float(rows[split.upper])),
        )
        failed = next((check for check in checks if not check.passed), None)
        reason = "" if failed is None else f"{failed.name} is {failed.value:.4g}, not >= {failed.bound:.4g}"
        judged.append((Candidate(int(rows[split.index]), failed is None, checks, reason), split))
    accepted = [(candidate, split) for candidate, split in judged if candidate.accepted]
    return Detection(
        "catapult",
        {},
        build_steps(
            values,
            [candidate.index for candidate, _ in accepted],
            method="catapult",
            scores=[min(split.energy * unit * unit, sys.float_info.max) for _, split in accepted],
            evidence=[candidate.checks for candidate, _ in accepted],
        ),
        tuple(sorted((candidate for candidate, _ in judged), key=lambda candidate: candidate.index)),
        {"values looked at": float(newest.size)},
    )


METHOD: Final = Method("catapult", MethodKind.SERIES, detect_catapult, fewest=lambda found: 2 * int(found["segment"]))
