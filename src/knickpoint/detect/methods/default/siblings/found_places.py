"""Ask every trace of a family at the places where others of it step: one question each, not a search.

A trace by itself has to show a change more clearly than any of hundreds of commits shows one by chance. Where a
relative steps, the commit is given, and the trace is asked about that one alone. How much its values have to say
depends on how many of the family step there by themselves, most of all those that are known to move with it
(:mod:`.kinship`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from knickpoint.detect.methods.default.siblings.kinship import (
    group_by_params,
    learn_kinship,
    past_changes,
    read_history,
)
from knickpoint.detect.methods.default.siblings.members import SURE, expect_by_kin
from knickpoint.detect.methods.default.siblings.views import dependence_of, memory_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

ASKED: Final = "family"
"""The method that the steps name which a trace shows only where others of its family step."""

NEAR: Final = 5
"""Measured values within which a step of the trace is the one that it is asked about."""

_REACH: Final = 30
"""Values on each side that answer: what comes later or lies before says nothing about the place."""

_FEWEST: Final = 5
"""Values on each side that an answer needs."""

_PLAIN: Final = 4.5
"""Standard errors by which the levels of a trace differ that moved plainly, whoever moved with it."""

_AMONG_MANY: Final = 3.5
"""Standard errors where at least :data:`_MANY` traces of the family step by themselves."""

_MANY: Final = 3

_MOVED: Final = 4.0
"""Standard errors by which the levels of a trace that moved are expected to differ."""

_MOST: Final = 5.0
"""Standard errors from which more say the same."""

_SURE: Final = math.log(SURE / (1 - SURE))

_CLIPPED: Final = 4.0
"""Deviations from the local level that a value has at most when the memory of the trace is measured."""

_LOST: Final = 3.0
"""Log-likelihood that the place may lose to the best one nearby: more, and the trace changed elsewhere."""

_KIN_NEAR: Final = 10


@dataclass(frozen=True, slots=True)
class OwnStep:
    """A step that the trace ``row`` shows by itself from ``column`` on: ``way`` is 1 up and -1 down.

    One that is not ``settled`` bounds the levels of its trace, and is not a place to ask others about.
    """

    row: int
    column: int
    way: int
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Joined:
    """A trace that moved from ``column`` on, where others step, by levels ``apart`` by so many standard errors."""

    row: int
    column: int
    apart: float


@dataclass(frozen=True, slots=True)
class _Places:
    """The columns and ways at which traces of a family step by themselves, and the share of each trace expected there.

    ``shares`` is places x traces; ``movers`` counts the traces that step within :data:`NEAR` columns the same way.
    """

    columns: NDArray[np.int64]
    ways: NDArray[np.int64]
    movers: NDArray[np.int64]
    shares: NDArray[np.float64]


def ask_family(
    values: Mapping[int, NDArray[np.float64]], keys: Sequence[str], steps: Sequence[OwnStep]
) -> list[Joined]:
    """Find the traces in ``values`` that moved where others of their family step, beside their own ``steps``.

    ``values`` has the series of the rows to ask, ``nan`` for missing; ``keys`` are those of the whole family. The time
    is about 0.1 ms a series, and grows with places x traces of the family.
    """
    places = _find_places([step for step in steps if step.settled], keys)
    if places is None:
        return []
    own: dict[int, list[int]] = defaultdict(list)
    for step in steps:
        own[step.row].append(step.column)
    return [joined for row, series in values.items() for joined in _ask_trace(series, row, own[row], places)]


def _find_places(steps: Sequence[OwnStep], keys: Sequence[str]) -> _Places | None:
    """Return the places of a family whose traces have ``keys``; kinship is learnt from changes that are not near."""
    if not steps:
        return None
    found = sorted({(step.column, step.way) for step in steps})
    columns = np.array([column for column, _ in found], dtype=np.int64)
    ways = np.array([way for _, way in found], dtype=np.int64)
    moves = [(step.column, step.way, step.row) for step in steps]
    past = past_changes(moves, np.ones((len(keys), int(columns[-1]) + 1), dtype=np.bool_))
    histories = [read_history(past, name, groups) for name, groups in group_by_params(keys).items()]
    moved = np.zeros((len(found), len(keys)), dtype=np.bool_)
    for step in steps:
        moved[(np.abs(columns - step.column) <= NEAR) & (ways == step.way), step.row] = True
    movers = moved.sum(axis=1)
    shares = np.empty(moved.shape)
    least = 0.5 / len(keys)
    for place, column in enumerate(columns.tolist()):
        share = float(np.clip(movers[place] / len(keys), least, 1 - least))
        kinships = learn_kinship(histories, column, near=_KIN_NEAR)
        shares[place] = expect_by_kin(moved[place].astype(np.float64), share, least, kinships)[0]
    return _Places(columns, ways, movers, shares)


def _ask_trace(values: NDArray[np.float64], row: int, own: Sequence[int], places: _Places) -> list[Joined]:
    """Find the places at which the trace ``row`` moved along with its family.

    ``own`` are the columns at which it steps by itself. The likeliest place comes first, and bounds the values that
    answer for the others, as own steps do.
    """
    held = np.flatnonzero(~np.isnan(values))
    if held.size < 2 * _FEWEST or not places.columns.size:
        return []
    series = values[held]
    ranks = np.searchsorted(held, places.columns)
    bounds = [0, *np.searchsorted(held, np.sort(np.asarray(own, dtype=np.int64))).tolist(), held.size]
    series, deviation, memory = _scaled(series, bounds)
    if deviation <= 0:
        return []
    found: list[Joined] = []
    elsewhere = np.zeros(ranks.size, dtype=np.bool_)
    least = np.where(places.movers >= _MANY, _AMONG_MANY, _PLAIN)
    while True:
        apart = _apart(series, ranks, np.array(sorted(bounds)), memory)
        seen = np.minimum(places.ways * apart, _MOST)
        shares = places.shares[:, row]
        odds = np.log(shares / (1 - shares)) + _MOVED * seen - _MOVED * _MOVED / 2
        odds[elsewhere | (seen < least)] = -np.inf
        best = int(np.argmax(odds))
        if odds[best] < _SURE:
            break
        rank = int(ranks[best])
        if _is_here(series, rank, np.array(sorted(bounds)), float(apart[best]), memory):
            bounds.append(rank)
            column = int(held[rank])
            found.append(Joined(row, column, float(apart[best])))
        else:
            elsewhere |= ranks == rank
    return sorted(found, key=lambda joined: joined.column)


def _scaled(series: NDArray[np.float64], bounds: Sequence[int]) -> tuple[NDArray[np.float64], float, float]:
    """Return ``series`` around the medians between ``bounds`` in its deviations, the deviation, and the memory."""
    changes = np.diff(series)
    deviation = float(np.median(np.abs(changes - np.median(changes)))) / 0.6745 / math.sqrt(2)
    if deviation <= 0:
        return series, 0.0, 1.0
    scaled = np.empty_like(series)
    for first, stop in pairwise(bounds):
        part = series[first:stop]
        scaled[first:stop] = (part - np.median(part)) / deviation if part.size else part
    return scaled, deviation, memory_of(dependence_of(np.clip(scaled, -_CLIPPED, _CLIPPED)))


def _apart(
    series: NDArray[np.float64], ranks: NDArray[np.int64], bounds: NDArray[np.int64], memory: float
) -> NDArray[np.float64]:
    """Return the distance of the levels at each of ``ranks`` in standard errors, 0 with too few values on a side.

    Levels reach to the next of ``bounds`` and over at most :data:`_REACH` values. Their error is that of the scatter
    around them, and at least that of neighbours.
    """
    where = np.searchsorted(bounds, ranks, side="right")
    first = np.maximum(bounds[np.maximum(where - 1, 0)], ranks - _REACH)
    stop = np.minimum(bounds[np.minimum(where, bounds.size - 1)], ranks + _REACH)
    sums, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (series, series * series))
    before, after = np.maximum(ranks - first, 0), np.maximum(stop - ranks, 0)
    enough = (before >= _FEWEST) & (after >= _FEWEST)
    left = (sums[ranks] - sums[first]) / np.maximum(before, 1)
    right = (sums[stop] - sums[np.minimum(ranks, stop)]) / np.maximum(after, 1)
    within = squares[stop] - squares[first] - before * left * left - after * right * right
    variance = np.maximum(within / np.maximum(before + after - 2, 1), 1.0)
    error = np.sqrt(memory * variance * (1 / np.maximum(before, 1) + 1 / np.maximum(after, 1)))
    return np.where(enough, (right - left) / error, 0.0)


def _is_here(series: NDArray[np.float64], rank: int, bounds: NDArray[np.int64], apart: float, memory: float) -> bool:
    """Return True if no place further than :data:`NEAR` values from ``rank`` explains the change there better."""
    around = np.arange(max(rank - _REACH, 1), min(rank + _REACH, series.size))
    around = around[np.abs(around - rank) > NEAR]
    best = float(np.max(np.abs(_apart(series, around, bounds, memory)), initial=0.0))
    return best * best - apart * apart <= 2 * _LOST
