"""Build sparklines: the values around a change, few enough for a small drawing.

A sparkline has 24 measured values on each side. Most traces are measured at almost every commit, so 48 commits on each
side suffice; where they do not, the search is repeated over 512. Change points whose surroundings overlap are read
together, as one block of values, as long as the block stays small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.change_point import ChangePoint
from knickpoint.model.commit import Line
from knickpoint.server.schemas.members import SparklineAnswer
from knickpoint.store import Store

__all__ = ["sparklines"]

_SIDE: Final = 24
"""Values before the change, and values after it."""

_REACH: Final = (48, 512)
"""Commits to read on each side: at first, and where too few of them were measured."""

_ENOUGH: Final = 6
"""Values on a side that need no second search."""

_LARGEST_BLOCK: Final = 1 << 21
"""Values (traces times commits) of a block; one change point may take more."""

_DIGITS: Final = 5
"""Significant digits of a drawn value."""


def sparklines(store: Store, line: Line, points: Sequence[ChangePoint]) -> dict[int, SparklineAnswer]:
    """Return change point id → the values around it, and the bounds of the levels before and after it.

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
        positions = [line.positions[point.suspect_range.slot] for point in near]
        first = max(0, positions[0] - reach)
        last = min(positions[-1] + reach, len(line.slots)) - 1
        ids = sorted({point.trace_id for point in near})
        rows = dict(zip(ids, store.frames.values(line, ids, first=first, last=last), strict=True))
        for point, position in zip(near, positions, strict=True):
            begin = max(position - reach, first)
            row = rows[point.trace_id][begin - first : position + reach - first]
            level = (
                line.positions.get(point.numbers.before.first, 0) - begin,
                line.positions.get(point.numbers.after.last, len(line.slots)) - begin + 1,
            )
            found[point.id] = _cut(row, position - begin, level)
    return found


def _neighbours(line: Line, points: Sequence[ChangePoint], reach: int) -> Iterator[list[ChangePoint]]:
    """Part ``points`` into groups whose surroundings overlap, by position; the block of a group stays small."""
    near: list[ChangePoint] = []
    first = before = 0
    for point in sorted(points, key=lambda point: line.positions[point.suspect_range.slot]):
        position = line.positions[point.suspect_range.slot]
        block = (len(near) + 1) * (position - first + 2 * reach)
        if near and (position - before > reach or block > _LARGEST_BLOCK):
            yield near
            near = []
        first = first if near else position
        near.append(point)
        before = position
    if near:
        yield near


def _cut(row: NDArray[np.floating], change: int, levels: tuple[int, int]) -> SparklineAnswer:
    """Keep the values nearest to the index ``change``; the levels beside it are ``levels[0]`` to ``levels[1]``."""
    measured = np.flatnonzero(~np.isnan(row))
    split = int(np.searchsorted(measured, change))
    kept = measured[max(0, split - _SIDE) : split + _SIDE]
    begin, middle, end = (int(bound) for bound in np.searchsorted(kept, [levels[0], change, levels[1]]))
    return SparklineAnswer(
        values=[float(f"{value:.{_DIGITS}g}") for value in row[kept].tolist()], begin=begin, split=middle, end=end
    )
