"""Find the steps and slopes of a series together: slopes are fitted beside steps, steps are found in what slopes leave.

A staircase of steps hides a slope, and a large step looks like a steep one. So the search begins from several sets of
steps: none, those of the first search, and those of them that stand out. From each it goes to and fro between slopes
and steps until neither changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.patterns.drift.trend import (
    Slope,
    Trend,
    advantage,
    fit_trend,
    fitted_slope,
    further_slope,
    rises_of,
)
from knickpoint.detect.patterns.pattern import SearchedPlaces
from knickpoint.model.distribution import MAD
from knickpoint.native.regions import level_medians, median_of

Floats = NDArray[np.float64]
Places = tuple[int, ...]

PlaceSearch = Callable[[Floats, Floats], SearchedPlaces]
"""Finds the first values of the levels after each step, in values less what slopes have moved them by."""

_MOST_SLOPES: Final = 3
_MOST_OF_A_CURVE: Final = 6
_STEPS_OF_A_CURVE: Final = 4
_MOST_ROUNDS: Final = 4
_MOST_STAIRS: Final = 4
_MOST_STEPS: Final = 32
"""Steps beside which slopes are fitted: a fit takes time in proportion to their square, and a trend has few of them."""
_MOST_SEARCHED: Final = 20_000
_FEWEST_SEARCHES: Final = 2
_MOST_SEARCHES: Final = 8
"""Values in which steps are searched beside slopes, all searches together, the searches for which there is room however
many values there are, and the most searches.
"""

_MANY_CANDIDATES: Final = 128
_PRICE_OF_A_CANDIDATE: Final = 32
"""Each candidate of a search beyond that many counts as this many values: it costs as much time."""

_SHORTEST_LEVEL: Final = 3
_WORTH_A_SLOPE: Final = 3.0
"""What a further slope has to explain, in logarithms of the number of values."""

_LIKE_NOISE: Final = 1.5
"""Inflation of the residuals up to which they are like noise without a trend."""

_STANDS_OUT: Final = 3.0
"""Robust deviations from the usual jump of the staircase beyond which a step stands out."""


@dataclass(frozen=True, slots=True)
class SearchedTrend:
    """The best model with slopes, and by how much it is better than steps alone: twice the logarithm of odds."""

    trend: Trend
    advantage: float


def search_trend(values: Floats, places: Places, search: PlaceSearch, least: float) -> SearchedTrend | None:
    """Return the best model with slopes of ``values`` (finite, 1-D), None where none is better than steps by ``least``.

    ``places`` are the steps of the first search, ``search`` finds steps beside slopes.
    """
    searches = _Searches(values, search)
    steps = searches.fit(places, ())
    sloped: list[Trend] = []
    for start in _starts(values, places):
        sloped += _sloped_from(start, steps, searches, least)
        if sloped and _fits(sloped[-1], steps):
            break
    else:
        sloped += _curved(steps, searches) if len(places) >= _STEPS_OF_A_CURVE else []
    # Where slopes overlap, the level may move fast, or to and fro: such a model is none of slow changes.
    sloped = [each for each in sloped if all(rise.slow for rise in rises_of(each))]
    if not sloped:
        return None
    noise, inflation = (min(getattr(each, name) for each in [steps, *sloped]) for name in ("noise", "inflation"))
    best = min(sloped, key=lambda each: each.cost(noise, inflation))
    better = advantage(steps, best)
    # What the search of steps rejects may still describe the values better than a slope does.
    most = _MOST_STAIRS if len(places) < 2 else 0
    beside = min(most + len(places), _MOST_STEPS)
    for trend, further in ((steps, most), (fit_trend(values, best.places, ()), beside)):
        for stairs in _stairs(values, trend, further if better >= least else 0):
            better = min(better, advantage(stairs, best))
            if better < least:
                break
    return SearchedTrend(best, better) if better >= least else None


class _Searches:
    """The fits of a series, and searches for steps beside them: none is made twice, and searches a bounded number of times."""

    def __init__(self, values: Floats, search: PlaceSearch) -> None:
        self.values = values
        searches = min(_MOST_SEARCHES, max(_FEWEST_SEARCHES, _MOST_SEARCHED // values.size))
        self._search, self._room = search, searches * values.size
        self._found: dict[bytes, Places] = {}
        self._fits: dict[Places, Trend] = {}

    def fit(self, places: Places, slopes: tuple[Slope, ...]) -> Trend:
        """Return the model with these places and slopes; the few without slopes are kept."""
        if slopes:
            return fit_trend(self.values, places, slopes)
        if places not in self._fits:
            self._fits[places] = fit_trend(self.values, places, ())
        return self._fits[places]

    def places_beside(self, moved: Floats) -> Places | None:
        """Return the steps in the values less what slopes have ``moved`` them by, None where too many were asked for."""
        key = moved.tobytes()
        if key not in self._found:
            if self._room <= 0:
                return None
            self._found[key], candidates = self._search(self.values, moved)
            self._room -= self.values.size + _PRICE_OF_A_CANDIDATE * max(0, candidates - _MANY_CANDIDATES)
        return self._found[key]


def _stairs(values: Floats, trend: Trend, most: int) -> Iterator[Trend]:
    """Yield models with one step more, two and so on to ``most``: each time the one that explains most."""
    for _ in range(most):
        place = _further_step(trend)
        if place is None:
            return
        trend = fit_trend(values, tuple(sorted({*trend.places, place})), ())
        yield trend


def _further_step(trend: Trend) -> int | None:
    """Return the place between the steps of ``trend`` that divides a level best, None if all levels are too short."""
    values, firsts = trend.clipped, np.array([0, *trend.places])
    counts = np.diff(firsts, append=values.size)
    sizes = np.repeat(counts, counts)
    # Values of a level before each place, and behind it; the sum of a level less its mean is 0, so sums may run on.
    before = np.arange(values.size) - np.repeat(firsts, counts)
    behind = sizes - before
    level = values - np.repeat(np.add.reduceat(values, firsts) / counts, counts)
    sums = np.append(0.0, np.cumsum(level)[:-1])
    explained = np.square(sums) * sizes / (np.maximum(before, 1) * behind)
    explained[(before < _SHORTEST_LEVEL) | (behind < _SHORTEST_LEVEL)] = -1.0
    place = int(np.argmax(explained))
    return place if explained[place] >= 0 else None


def _fits(sloped: Trend, steps: Trend) -> bool:
    """Return True if one slope leaves no step, nothing but noise, and is better than ``steps``.

    Of several slopes, a steep one may stand for a step.
    """
    simple = len(sloped.slopes) == 1 and not sloped.places
    return simple and sloped.inflation < _LIKE_NOISE and advantage(steps, sloped) > 0


def _starts(values: Floats, places: Places) -> list[Places]:
    """Return the sets of steps to begin with, without those of more than :data:`_MOST_STEPS`."""
    if not places:
        return [()]
    jumps = np.diff(level_medians(values, places))
    largest = places[int(np.argmax(np.abs(jumps)))]
    distances = np.abs(jumps - median_of(jumps))
    bound = _STANDS_OUT * MAD * median_of(distances)
    standing = tuple(place for place, far in zip(places, (distances > bound).tolist(), strict=True) if far)
    starts = dict.fromkeys([(), (largest,), standing, places])
    return [start for start in starts if len(start) <= _MOST_STEPS]


def _sloped_from(places: Places, steps: Trend, searches: _Searches, least: float) -> list[Trend]:
    """Return models with one slope, two and so on, as long as a further one explains enough.

    None where the first one, beside ``places``, is not better than ``steps`` by ``least``.
    """
    found: list[Trend] = []
    trend = searches.fit(places, ())
    for _ in range(_MOST_SLOPES):
        longer = _with_further_slope(trend, searches)
        if longer is None or not (found or advantage(steps, longer) >= least):
            break
        alternated = _alternated(longer, searches)
        if alternated is None:
            break
        trend = alternated
        found.append(trend)
    return found


def _curved(steps: Trend, searches: _Searches) -> list[Trend]:
    """Return a model with as many slopes as a curve needs, and with the steps that these leave.

    None where the slopes by themselves are no better than ``steps``.
    """
    trend = searches.fit((), ())
    for _ in range(_MOST_OF_A_CURVE):
        longer = _with_further_slope(trend, searches)
        if longer is None:
            break
        trend = searches.fit((), _fitted_slopes(longer, ()))
    alternated = _alternated(trend, searches) if trend.slopes and advantage(steps, trend) > 0 else None
    return [] if alternated is None else [alternated]


def _with_further_slope(trend: Trend, searches: _Searches) -> Trend | None:
    """Return the model with one slope more, None where no further one explains enough."""
    further = further_slope(trend)
    worth = _WORTH_A_SLOPE * math.log(searches.values.size) * trend.noise**2 if trend.slopes else 0.0
    if further is None or further[1] <= worth:
        return None
    return searches.fit(trend.places, (*trend.slopes, further[0]))


def _alternated(trend: Trend, searches: _Searches) -> Trend | None:
    """Find steps in what the slopes leave and fit the slopes beside them, in turn until nothing changes.

    None where the slopes leave more than :data:`_MOST_STEPS` steps, or no search for steps is left to begin with.
    """
    seen: set[tuple[Places, tuple[Slope, ...]]] = set()
    for _ in range(_MOST_ROUNDS):
        places = searches.places_beside(trend.moved)
        if places is None:
            return trend if seen else None
        if len(places) > _MOST_STEPS:
            return None
        slopes = _fitted_slopes(trend, places)
        if (places, slopes) in seen:
            break
        seen.add((places, slopes))
        done = not places and not trend.places
        trend = searches.fit(places, slopes)
        if done:
            break
    return trend


def _fitted_slopes(trend: Trend, places: Places) -> tuple[Slope, ...]:
    """Return the best start and end of each slope beside the steps at ``places``, the others as they are."""
    return tuple(fitted_slope(trend, number, places) for number in range(len(trend.slopes)))
