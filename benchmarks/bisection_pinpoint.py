"""The search of Pinpoint, written anew from its rules: attempts that are compared pair by pair, and midpoints between.

Each place starts with 10 attempts. Neighbouring places are compared by the smaller of the p values of a Mann-Whitney
and a Kolmogorov-Smirnov test: different places get their midpoint between them, unknown ones twice the attempts on the
side that has fewer. The thresholds between unknown and same are tables that belong to another project; ``thresholds``
reads them where ``KNICKPOINT_REFERENCE`` is set.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bisection_answers import Answers

__all__ = [
    "PinpointSearch",
    "Thresholds",
    "Verdict",
    "compare",
    "kolmogorov_smirnov",
    "mann_whitney",
    "search_pinpoint",
    "thresholds",
]

Array = NDArray[np.float64]

_FIRST_ATTEMPTS: Final = 10
_MOST_ATTEMPTS: Final = 160
_SMALL: Final = 0.1
"""Differences below this share of the expected one count as none."""


class Verdict(Enum):
    """What a comparison of two places says."""

    DIFFERENT = "Different"
    SAME = "Same"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The p values at which two samples count as different (``low``), and from which on as the same (``high``)."""

    low: float
    high: tuple[tuple[float, ...], ...]
    first: float
    step: float

    def same_above(self, magnitude: float, attempts: int) -> float:
        """Return the threshold for a magnitude in interquartile ranges and a number of attempts."""
        row = int(magnitude * round(1 / self.step)) - round(self.first / self.step)
        cells = self.high[min(max(row, 0), len(self.high) - 1)]
        return cells[min(max(attempts - 1, 0), len(cells) - 1)]


def thresholds() -> Thresholds | None:
    """Read the tables below the directory of ``KNICKPOINT_REFERENCE``; None where there are none."""
    named = os.environ.get("KNICKPOINT_REFERENCE")
    file = Path(named or "/nonexistent") / "vectors" / "skia_pinpoint_thresholds.json"
    if not file.is_file():
        return None
    tables = json.loads(file.read_text())
    return Thresholds(
        low=tables["low_threshold"],
        high=tuple(tuple(row) for row in tables["performance"]),
        first=tables["performance_first_magnitude"],
        step=tables["magnitude_step"],
    )


def mann_whitney(a: Array, b: Array) -> float:
    """Return the two-sided p value of the U test: the normal approximation with ties and correction for continuity."""
    both = np.concatenate([a, b])
    _, inverse, counts = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (counts.cumsum() - (counts - 1) / 2)[inverse]
    u = float(ranks[: len(a)].sum()) - len(a) * (len(a) + 1) / 2
    total = len(both)
    ties = float((counts.astype(float) ** 3 - counts).sum()) / (total * (total - 1)) if total > 1 else 0.0
    deviation = math.sqrt(len(a) * len(b) / 12 * (total + 1 - ties))
    if not deviation:
        return 1.0
    z = abs(abs(u - len(a) * len(b) / 2) - 0.5) / deviation  # also where the correction passes the middle, as there
    return math.erfc(z / math.sqrt(2))


def kolmogorov_smirnov(a: Array, b: Array) -> float:
    """Return the p value of the two-sample test: the limit law with the correction of Stephens for small samples."""
    both = np.sort(np.concatenate([a, b]))
    below_a = np.searchsorted(np.sort(a), both, side="right") / len(a)
    below_b = np.searchsorted(np.sort(b), both, side="right") / len(b)
    root = math.sqrt(len(a) * len(b) / (len(a) + len(b)))
    t = (root + 0.12 + 0.11 / root) * float(np.abs(below_a - below_b).max())
    if t < 0.2:  # the alternating sum does not converge here, and the law is 1 within 1e-12
        return 1.0
    return min(1.0, max(0.0, 2 * sum((1 if k % 2 else -1) * math.exp(-2 * (k * t) ** 2) for k in range(1, 101))))


def compare(a: Array, b: Array, magnitude: float, table: Thresholds, *, improvement: int = 0) -> Verdict:
    """Compare the attempts of two places.

    ``magnitude`` is the expected difference, 0 where it is unknown; it counts in interquartile ranges of all values.
    ``improvement`` is +1 where larger values are better, -1 where smaller ones are, 0 where this is unknown.
    """
    difference = float(b.mean() - a.mean())
    if difference * improvement > 0 or (magnitude and abs(difference) < _SMALL * magnitude):
        return Verdict.SAME
    quarter, three_quarters = np.percentile(np.concatenate([a, b]), [25, 75])
    width = float(three_quarters - quarter)
    normalised = magnitude / width if magnitude and width else 1.0
    p = min(mann_whitney(a, b), kolmogorov_smirnov(a, b))
    if p <= table.low:
        return Verdict.DIFFERENT
    return Verdict.UNKNOWN if p <= table.same_above(normalised, (len(a) + len(b)) // 2) else Verdict.SAME


@dataclass(frozen=True, slots=True)
class PinpointSearch:
    """What one search took, and the candidates that it names."""

    tests: int
    culprits: tuple[int, ...]


class _Attempts:
    """The attempts of a search, by place."""

    def __init__(self, answers: Answers, search: int, culprit: int) -> None:
        self._answers, self._search, self._culprit = answers, search, culprit
        self.values: dict[int, Array] = {}

    def add(self, place: int, count: int) -> None:
        have = self.values.get(place, np.empty(0))
        k = np.arange(len(have), len(have) + count)
        at = np.full(count, place)
        found = self._answers.values(np.full(count, self._search), at, k, np.full(count, self._culprit))
        self.values[place] = np.concatenate([have, found])

    def refine(self, a: int, b: int) -> bool:
        """Double the attempts of the place that has fewer; return whether that is possible."""
        place = a if len(self.values[a]) <= len(self.values[b]) else b
        count = len(self.values[place])
        if count >= _MOST_ATTEMPTS:
            return False
        self.add(place, min(count, _MOST_ATTEMPTS - count))
        return True


def search_pinpoint(candidates: int, answers: Answers, search: int, culprit: int, table: Thresholds) -> PinpointSearch:
    """Search ``culprit`` among ``candidates``; the expected difference is that of the answers, known exactly."""
    attempts = _Attempts(answers, search, culprit)
    for place in (0, candidates):
        attempts.add(place, _FIRST_ATTEMPTS)
    verdicts: dict[tuple[int, int, int, int], Verdict] = {}
    while True:
        changed = False
        different = []
        places = sorted(attempts.values)
        for a, b in pairwise(places):
            one, other = attempts.values[a], attempts.values[b]
            key = (a, b, len(one), len(other))
            if key not in verdicts:
                verdicts[key] = compare(one, other, answers.delta, table)
            if verdicts[key] is Verdict.DIFFERENT and b - a > 1:
                attempts.add((a + b) // 2, _FIRST_ATTEMPTS)
                changed = True
            elif verdicts[key] is Verdict.DIFFERENT:
                different.append(b)
            elif verdicts[key] is Verdict.UNKNOWN:
                changed |= attempts.refine(a, b)
        if not changed:
            return PinpointSearch(sum(map(len, attempts.values.values())), tuple(different))
