"""Split sliding windows by E-Divisive with a t-test, then merge the weakest: Hunter's and Apache Otava's way.

``windows.c`` explains the procedure.
"""

from __future__ import annotations

import itertools
import math
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib
from knickpoint.native.q_hat import TIED, scan_both_in_numpy
from knickpoint.native.student import student_p_value_in_numpy


class NoteKind(IntEnum):
    """The fate of a point; ``exports.h`` has the same numbers."""

    SPLIT = 0
    REFUSED = 1
    INSIGNIFICANT = 2
    TOO_SMALL = 3
    STAYS = 4


class Note(NamedTuple):
    """Hold what happened to the point at a place, with its Q, and p and magnitude of the comparison at that time."""

    kind: NoteKind
    place: int
    q: float
    p: float
    magnitude: float


def _compare(values: NDArray[np.float64], a: int, b: int, c: int, *, population: bool) -> tuple[float, float]:
    """Return p and magnitude of ``values[a:b]`` against ``values[b:c]``, by a pooled t-test."""
    before, after = values[a:b], values[b:c]
    n, m = before.size, after.size
    low, high = (float(part[0] + (part - part[0]).sum() / part.size) for part in (before, after))
    magnitude = max(abs(high / low - 1) if low else 0.0, abs(low / high - 1) if high else 0.0)
    if n + m <= 2:
        return 1.0, magnitude
    squares = float(np.square(before - low).sum()) * ((n - 1) / n if population else 1)
    others = float(np.square(after - high).sum()) * ((m - 1) / m if population else 1)
    error = (squares + others) / (n + m - 2) * (1 / n + 1 / m)
    if error == 0:
        return (1.0 if low == high else 0.0), magnitude
    return student_p_value_in_numpy((low - high) / math.sqrt(error), n + m - 2), magnitude


def _split_window(
    values: NDArray[np.float64],
    start: int,
    stop: int,
    alpha: float,
    *,
    v_form: bool,
    least: int,
    bound: float,
    population: bool,
    notes: list[Note],
) -> dict[int, float]:
    """Split ``values[start:stop]`` until the best candidate is not significant; return the points and their Q."""
    found: dict[int, float] = {}
    bounds = [start, stop]
    known: dict[tuple[int, int], tuple[int, float]] = {}
    while True:
        candidates = []
        for first, end in itertools.pairwise(bounds):
            if end - first < 2 * least:
                continue
            if (first, end) not in known:
                tau, _, q = scan_both_in_numpy(values[first:end], alpha, least, v_form=v_form)
                known[first, end] = first + tau, q
            candidates.append((*known[first, end], first, end))
        if not candidates:
            return found

        # The best candidate of all clusters, the first of equal ones
        index, q, first, end = candidates[0]
        for candidate in candidates[1:]:
            if candidate[1] > q + TIED * abs(q):
                index, q, first, end = candidate

        # Its test decides whether the window is done
        p, magnitude = _compare(values, first, index, end, population=population)
        passed = p <= bound
        notes.append(Note(NoteKind.SPLIT if passed else NoteKind.REFUSED, index, q, p, magnitude))
        if not passed:
            return found
        found[index] = q
        bounds = sorted([*bounds, index])


def split_windows_in_numpy(
    values: NDArray[np.float64],
    alpha: float,
    *,
    v_form: bool,
    least: int,
    window: int,
    stride: int,
    first_p: float,
    max_p: float,
    least_magnitude: float,
    population: bool,
    stale: bool,
    refused: bool = True,
) -> list[Note]:
    """Split sliding windows by E-Divisive with a t-test at each split, then take away the weakest.

    A window begins ``stride`` after the one before, or at the last point found if that is later. Splits need
    a p of at most ``first_p``. Then the point with the largest p goes while that is not below ``max_p``, else
    the one with the smallest magnitude while that is not above ``least_magnitude``. ``population`` divides
    variances by n as Otava does; ``stale`` leaves the statistics of the point before one that is taken away
    as they were, as Otava 0.8 does. The last notes, of kind ``STAYS``, are the points that stay, with new
    statistics; without ``refused`` there are no others.
    """
    # Split window by window
    notes: list[Note] = []
    strength: dict[int, float] = {}
    start = 0
    while start < values.size:
        found = _split_window(
            values,
            start,
            min(start + window, values.size),
            alpha,
            v_form=v_form,
            least=least,
            bound=first_p,
            population=population,
            notes=notes,
        )
        for index, q in found.items():
            strength[index] = max(q, strength.get(index, -math.inf))
        start = max([*found, start + stride])
    points = sorted(strength)

    def around(place: int) -> tuple[float, float]:
        """Compare the levels before and after a point."""
        first = points[place - 1] if place else 0
        end = points[place + 1] if place + 1 < len(points) else values.size
        return _compare(values, first, points[place], end, population=population)

    # Take away the weakest; its neighbours have a new level beside them
    levels = [around(place) for place in range(len(points))]
    while points:
        kind, weakest = NoteKind.INSIGNIFICANT, max(range(len(points)), key=lambda place: levels[place][0])
        if levels[weakest][0] < max_p:
            kind, weakest = NoteKind.TOO_SMALL, min(range(len(points)), key=lambda place: levels[place][1])
            if levels[weakest][1] > least_magnitude:
                break
        index = points.pop(weakest)
        notes.append(Note(kind, index, strength[index], *levels.pop(weakest)))
        for place in (weakest, weakest + 1) if stale else (weakest - 1, weakest):
            if 0 <= place < len(points):
                levels[place] = around(place)
    stay = [Note(NoteKind.STAYS, index, strength[index], *around(place)) for place, index in enumerate(points)]
    return notes + stay if refused else stay


_KINDS: Final = tuple(NoteKind)


def split_windows_in_c(
    values: NDArray[np.float64],
    alpha: float,
    *,
    v_form: bool,
    least: int,
    window: int,
    stride: int,
    first_p: float,
    max_p: float,
    least_magnitude: float,
    population: bool,
    stale: bool,
    refused: bool = True,
) -> list[Note]:
    """Split windows by t-test and take away the weakest; see the reference."""
    found = np.zeros(1, dtype=np.int64)
    most = 64 + values.size // 4
    while True:
        notes = np.empty((most, 5))
        used = lib.kp_windows(
            values,
            values.size,
            alpha,
            v_form,
            least,
            window,
            stride,
            first_p,
            max_p,
            least_magnitude,
            population,
            stale,
            notes,
            most,
            found,
        )
        if used < 0:
            raise MemoryError
        if used <= most:
            kept = notes[0 if refused else used - found[0] : used].tolist()
            return [Note(_KINDS[int(kind)], int(index), q, p, size) for kind, index, q, p, size in kept]
        most = used  # there were more notes than room: split again with enough


split_windows = choose(split_windows_in_numpy, split_windows_in_c)
