"""Take the values around a change, few enough for a small drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line
from knickpoint.model.regression import ChangePoint
from knickpoint.server.schemas.regressions import SparklineAnswer
from knickpoint.store import Store

__all__ = ["sparklines"]

_SIDE: Final = 24
"""Values before the change, and values after it."""

_REACH: Final = (48, 512)
"""Commits to look at on each side: at first, and where most of them were not measured."""

_ENOUGH: Final = 6
_DIGITS: Final = 5


def sparklines(store: Store, line: Line, points: Sequence[ChangePoint]) -> dict[int, SparklineAnswer]:
    """Return change point id → the values around it, and which of them are of the levels beside the change.

    Points that are not on ``line`` are left out.
    """
    found: dict[int, SparklineAnswer] = {}
    open_points = [point for point in points if point.suspect_range.slot in line.positions]
    for reach in _REACH:
        if not open_points:
            break
        drawn = _draw(store, line, open_points, reach)
        found |= drawn
        open_points = [point for point in open_points if _is_short(drawn[point.id])]
    return found


def _is_short(drawn: SparklineAnswer) -> bool:
    return min(drawn.split, len(drawn.values) - drawn.split) < _ENOUGH


def _draw(store: Store, line: Line, points: Sequence[ChangePoint], reach: int) -> dict[int, SparklineAnswer]:
    found: dict[int, SparklineAnswer] = {}
    for near in _neighbours(line, points, reach):
        places = [line.positions[point.suspect_range.slot] for point in near]
        first = max(0, places[0] - reach)
        last = min(places[-1] + reach, len(line.slots)) - 1
        ids = sorted({point.trace_id for point in near})
        rows = dict(zip(ids, store.frames.values(line, ids, first=first, last=last), strict=True))
        for point, place in zip(near, places, strict=True):
            begin = max(place - reach, first)
            row = rows[point.trace_id][begin - first : place + reach - first]
            level = (
                line.positions.get(point.numbers.before.first, 0) - begin,
                line.positions.get(point.numbers.after.last, len(line.slots)) - begin + 1,
            )
            found[point.id] = _cut(row, place - begin, level)
    return found


def _neighbours(line: Line, points: Sequence[ChangePoint], reach: int) -> Iterator[list[ChangePoint]]:
    """Part ``points`` by place, so that those whose surroundings overlap are read at once."""
    near: list[ChangePoint] = []
    before = 0
    for point in sorted(points, key=lambda point: line.positions[point.suspect_range.slot]):
        place = line.positions[point.suspect_range.slot]
        if near and place - before > reach:
            yield near
            near = []
        near.append(point)
        before = place
    if near:
        yield near


def _cut(row: NDArray[np.floating], place: int, levels: tuple[int, int]) -> SparklineAnswer:
    """Keep the values nearest to ``place``; the levels beside it reach from ``levels[0]`` up to ``levels[1]``."""
    measured = np.flatnonzero(~np.isnan(row))
    split = int(np.searchsorted(measured, place))
    kept = measured[max(0, split - _SIDE) : split + _SIDE]
    begin, middle, end = (int(bound) for bound in np.searchsorted(kept, [levels[0], place, levels[1]]))
    return SparklineAnswer(
        values=[float(f"{value:.{_DIGITS}g}") for value in row[kept].tolist()], begin=begin, split=middle, end=end
    )
