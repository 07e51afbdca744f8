"""Find the best place of each candidate, given its neighbours; ``places.c`` is the twin, and explains the idea."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from knickpoint.native.segmentation.constants import CAP, REACH, SHORTEST, SIDE, TIE
from knickpoint.native.segmentation.noise import Array, Series, median


def bounded(distance: Array, noise: float) -> Array:
    """Return squared distances in noise, none beyond ``CAP``."""
    return np.minimum(np.square(distance * (1.0 / noise)), CAP)


def _best_place(series: Series, first: int, place: int, stop: int) -> int:
    """Return the cheapest place within ``REACH``, given the medians of its two sides."""
    x = series.x
    before = median(x[max(place - SIDE, first) : place])
    after = median(x[place : min(place + SIDE, stop)])
    low, high = max(first + 1, place - REACH), min(stop - 1, place + REACH)
    if low > high:
        return place
    part = x[low : high + 1]
    lean = 1.0 / abs(after - before) if before != after else 0.0
    nearer = (np.abs(part - before) - np.abs(part - after)) * lean
    cost = np.cumsum(bounded(part - before, series.scale) - bounded(part - after, series.scale) + nearer)
    best, chosen = 0.0, low
    for step, total in enumerate(cost[:-1].tolist(), start=1):
        if total < best - TIE:
            best, chosen = total, low + step
    return chosen


def _gap_at(x: Array, place: int) -> float:
    """Return the gap between the values next to a place without any overlap; negative with."""
    before, after = x[place - SHORTEST : place], x[place : place + SHORTEST]
    return float(max(after.min() - before.max(), before.min() - after.max()))


def _keep_apart(series: Series, places: Sequence[int]) -> list[int]:
    """Drop places too close to an end; of two too close to each other keep the one with the wider gap."""
    kept: list[int] = []
    for place in places:
        if not SHORTEST <= place <= series.x.size - SHORTEST:
            continue
        if not kept or place - kept[-1] >= SHORTEST:
            kept.append(place)
        elif _gap_at(series.x, place) > _gap_at(series.x, kept[-1]) + TIE * series.scale:
            kept[-1] = place
    return kept


def relocate(series: Series, places: list[int], i: int) -> None:
    """Move a place to the best one where that leaves all levels long enough."""
    bounds = [0, *places, series.x.size]
    before, after = bounds[i], bounds[i + 2]
    place = _best_place(series, before, places[i], after)
    if place - before >= SHORTEST and after - place >= SHORTEST:
        places[i] = place


def place_candidates(series: Series, places: Sequence[int]) -> list[int]:
    """Move each to its best place, and drop what is then too close to another or to an end."""
    bounds = [0, *places, series.x.size]
    moved = {_best_place(series, *bounds[i : i + 3]) for i in range(len(places))}
    kept = _keep_apart(series, sorted(moved))
    for i in range(len(kept)):  # a candidate that lost a neighbour has more room
        relocate(series, kept, i)
    return kept
