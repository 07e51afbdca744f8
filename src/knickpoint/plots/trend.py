"""Draw the values of a trace over commits, with one change in focus, other findings and tickets as marks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.change_point import Direction
from knickpoint.model.plain_text import plain_line
from knickpoint.model.quantity_text import change_text, levels_text
from knickpoint.plots.shapes import (
    Anchor,
    Box,
    Dots,
    Drawing,
    Palette,
    Polygon,
    Polyline,
    Shape,
    Text,
    Theme,
    ValueAxis,
    palette_of,
    text_width,
    thin,
    trimmed,
    value_axis,
)

USUAL_SIZE: Final = (600, 260)
SMALLEST_SIZE: Final = (240, 140)
LARGEST_SIZE: Final = (1600, 1000)

_TITLE: Final = 14.0
_SMALL: Final = 12.0
_TINY: Final = 11.0
_TOP: Final = 58.0
_BOTTOM: Final = 40.0
_RIGHT: Final = 16.0
_FEW: Final = 400
"""Up to so many points are drawn as dots, more as a line."""
_GAP_SPACINGS: Final = 5.0
_GAP_SHARE: Final = 0.03
"""A line breaks where commits without a value are this many usual distances, and this part of the width, long."""
_MOST_MARKS: Final = 200
_LONGEST_TEXT: Final = 300
_TICK_ROOM: Final = 96.0


@dataclass(frozen=True, slots=True)
class Level:
    """A level: its value, and the positions of the first and the last commit that it holds for."""

    first: int
    last: int
    value: float


@dataclass(frozen=True, slots=True)
class FocusedChange:
    """The change that a plot is about.

    The commits after ``previous`` up to and including ``position`` may have made it. ``before`` and ``after`` are its
    levels. ``noise`` has the standard deviations before and after where it is a change of the noise.
    """

    previous: int
    position: int
    before: Level
    after: Level
    relative_size: float
    direction: Direction
    noise: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class ChangeMark:
    """Another change: its position, whether the values rose, and whether that is worse."""

    position: int
    rise: bool
    direction: Direction


@dataclass(frozen=True, slots=True)
class TicketMark:
    """A ticket at a position, with its short name."""

    position: int
    name: str


@dataclass(frozen=True, slots=True)
class Trend:
    """What is drawn: the measured values of a trace in ``unit``, at ascending ``positions`` of its line.

    The axis of commits spans ``first`` to ``last``; ``commit_name`` returns the short name of the commit at a position,
    and its day, each "" where it is unknown.
    """

    name: str
    params: str
    unit: str
    first: int
    last: int
    positions: NDArray[np.int64]
    values: NDArray[np.float64]
    commit_name: Callable[[int], tuple[str, str]]
    focus: FocusedChange | None = None
    marks: tuple[ChangeMark, ...] = ()
    tickets: tuple[TicketMark, ...] = ()


def draw_trend(trend: Trend, *, size: tuple[int, int] = USUAL_SIZE, theme: Theme = Theme.LIGHT) -> Drawing:
    """Return the drawing of ``trend``. Its number of shapes is bounded by its size, however many values there are.

    ``size`` is width and height in pixels, and brought into the bounds :data:`SMALLEST_SIZE` to :data:`LARGEST_SIZE`.
    """
    finite = np.isfinite(trend.values) & (trend.positions >= trend.first) & (trend.positions <= trend.last)
    drawn = replace(trend, positions=trend.positions[finite], values=trend.values[finite])
    plot = _Plot(drawn, _bounded(size), palette_of(theme))
    return Drawing(plot.width, plot.height, plot.palette.paper, plot.description, tuple(plot.shapes()))


def _bounded(size: tuple[int, int]) -> tuple[int, int]:
    width, height = (
        min(max(given, least), most) for given, least, most in zip(size, SMALLEST_SIZE, LARGEST_SIZE, strict=True)
    )
    return width, height


class _Plot:
    """One plot while it is laid out: its axes, and the way from positions and values to pixels."""

    def __init__(self, trend: Trend, size: tuple[int, int], palette: Palette) -> None:
        self.trend, self.palette = trend, palette
        self.positions, self.values = trend.positions, trend.values
        self.width, self.height = size
        focus = trend.focus
        levels = (focus.before.value, focus.after.value) if focus else ()
        self.bottom = self.height - _BOTTOM
        self.axis: ValueAxis = value_axis(
            self.values, levels, plain_line(trend.unit, 24), most_ticks=max(2, int((self.bottom - _TOP) // 40))
        )
        texts = [text_width(tick.text, _TINY) for tick in self.axis.ticks]
        self.left = min(self.width * 0.3, max([24.0, *texts]) + 16)
        self.right = self.width - _RIGHT
        # Half a commit of room at either end keeps the outermost dots off the frame.
        self._span = max(0, trend.last - trend.first) + 1.0

    @property
    def description(self) -> str:
        """What the picture shows, in words."""
        return f"The values of {self._name}" + (f": {self._change}" if self.trend.focus else "")

    def shapes(self) -> Iterator[Shape]:
        """Yield all shapes, the ones behind first."""
        yield from self._suspect_range()
        yield from self._value_axis()
        yield from self._marks()
        yield from self._trail()
        yield from self._levels()
        yield from self._far_values()
        yield from self._tickets()
        yield from self._commit_axis()
        yield from self._heading()

    # Places

    def x(self, position: float) -> float:
        """Return the horizontal place of a position of the line, within the frame."""
        share = (position - self.trend.first + 0.5) / self._span
        return round(self.left + min(1.0, max(0.0, share)) * (self.right - self.left), 2)

    def y(self, value: float) -> float:
        """Return the vertical place of a value, within the frame."""
        return round(self.bottom - min(1.0, max(0.0, self.axis.place(value))) * (self.bottom - _TOP), 2)

    # Layers

    @property
    def _name(self) -> str:
        return plain_line(self.trend.name, _LONGEST_TEXT) or "a trace"

    @property
    def _change(self) -> str:
        focus = self.trend.focus
        if focus is None:
            return ""
        before, after = focus.noise or (focus.before.value, focus.after.value)
        noise = focus.noise is not None
        change = change_text(after - before, focus.relative_size, self.trend.unit, noise=noise, before=before)
        return plain_line(f"{levels_text(before, after, self.trend.unit)}, {change}", _LONGEST_TEXT)

    def _heading(self) -> Iterator[Shape]:
        room = self.width - 2 * _RIGHT
        yield Text(_RIGHT, 20, trimmed(self._name, _TITLE, room * 0.98), _TITLE, self.palette.ink, bold=True)
        focus = self.trend.focus
        used = _RIGHT
        if focus:
            change = trimmed(self._change, _SMALL, room)
            yield Text(_RIGHT, 38, change, _SMALL, self.palette.of(focus.direction))
            used += text_width(change, _SMALL) + 16
        params = trimmed(plain_line(self.trend.params, _LONGEST_TEXT), _SMALL, self.width - _RIGHT - used)
        if params:
            yield Text(used, 38, params, _SMALL, self.palette.faint)
        if self.axis.note:
            yield Text(self.left, _TOP - 4, trimmed(self.axis.note, _TINY, room), _TINY, self.palette.faint)

    def _suspect_range(self) -> Iterator[Shape]:
        focus = self.trend.focus
        if focus is None:
            return
        begin, end = self.x(focus.previous + 0.5), self.x(focus.position + 0.5)
        middle, wide = (begin + end) / 2, max(4.0, end - begin)
        left = max(self.left, middle - wide / 2)
        yield Box(round(left, 2), _TOP, round(wide, 2), self.bottom - _TOP, self.palette.suspect)

    def _value_axis(self) -> Iterator[Shape]:
        for tick in self.axis.ticks:
            y = self.y(tick.value)
            yield Polyline(((self.left, y), (self.right, y)), self.palette.grid)
            text = trimmed(tick.text, _TINY, self.left - 10)
            yield Text(self.left - 8, round(y + 4, 2), text, _TINY, self.palette.faint, Anchor.END)
        yield Polyline(((self.left, self.bottom), (self.right, self.bottom)), self.palette.line)

    def _marks(self) -> Iterator[Shape]:
        for mark in self.trend.marks[:_MOST_MARKS]:
            if self.trend.first <= mark.position <= self.trend.last:
                x, colour = self.x(mark.position - 0.5), self.palette.of(mark.direction)
                yield Polyline(((x, _TOP + 6), (x, self.bottom)), self.palette.line, dashed=True)
                tip, base = (_TOP - 1, _TOP + 6) if mark.rise else (_TOP + 6, _TOP - 1)
                yield Polygon(((x, tip), (x + 4, base), (x - 4, base)), colour)

    def _trail(self) -> Iterator[Shape]:
        kept = thin(self.values, max(4, 2 * int(self.right - self.left))) if len(self.values) else np.zeros(0, np.int64)
        places = [
            (self.x(position), self.y(value))
            for position, value in zip(self.positions[kept].tolist(), self.values[kept].tolist(), strict=True)
        ]
        few = len(places) <= _FEW
        for piece in self._pieces(kept):
            points = tuple(places[piece.start : piece.stop])
            if len(points) > 1:
                yield Polyline(points, self.palette.trail)
            elif not few:
                yield Dots(points, 1.2, self.palette.trail)
        near = tuple(
            place for place, value in zip(places, self.values[kept].tolist(), strict=True) if self._is_near(value)
        )
        if few and near:
            yield Dots(near, 2.6 if len(near) <= 60 else 2.0 if len(near) <= 150 else 1.5, self.palette.dot)

    def _is_near(self, value: float) -> bool:
        return 0 <= self.axis.place(value) <= 1

    def _pieces(self, kept: NDArray[np.int64]) -> Iterator[range]:
        """Yield the ranges of the kept points between which the trace was not measured for long."""
        positions = self.positions[kept]
        if not len(positions):
            return
        distances = np.diff(positions)
        usual = float(np.median(distances)) if len(distances) else 1.0
        breaks = np.flatnonzero(distances > max(_GAP_SPACINGS * usual, _GAP_SHARE * self._span))
        bounds = [0, *(breaks + 1).tolist(), len(positions)]
        yield from (range(begin, end) for begin, end in pairwise(bounds))

    def _levels(self) -> Iterator[Shape]:
        focus = self.trend.focus
        if focus is None:
            return
        for level, colour in ((focus.before, self.palette.level), (focus.after, self.palette.of(focus.direction))):
            y = self.y(level.value)
            yield Polyline(((self.x(level.first - 0.5), y), (self.x(level.last + 0.5), y)), colour, 2.5)

    def _far_values(self) -> Iterator[Shape]:
        """Yield an arrow at the frame for values that lie beyond the axis."""
        for values, tip, base in (
            (self.values > self.axis.high, _TOP, _TOP + 6),
            (self.values < self.axis.low, self.bottom, self.bottom - 6),
        ):
            for position in self._spread(self.positions[values]):
                x = self.x(position)
                yield Polygon(((x, tip), (x + 3.5, base), (x - 3.5, base)), self.palette.dot)

    def _spread(self, positions: NDArray[np.int64]) -> Iterator[int]:
        """Yield positions that lie at least a few pixels apart when they are drawn."""
        last = -np.inf
        for position in positions[:100_000].tolist():
            x = self.x(position)
            if x - last >= 6:
                yield position
                last = x

    def _tickets(self) -> Iterator[Shape]:
        free = -np.inf
        for ticket in sorted(self.trend.tickets, key=lambda each: (each.position, each.name))[:_MOST_MARKS]:
            if not self.trend.first <= ticket.position <= self.trend.last:
                continue
            x = self.x(ticket.position)
            yield Box(round(x - 4, 2), self.bottom - 12, 8, 8, self.palette.ticket)
            name = trimmed(plain_line(ticket.name, _LONGEST_TEXT), _TINY, min(110.0, self.right - x - 8))
            if name and x >= free:
                yield Text(round(x + 7, 2), self.bottom - 4, name, _TINY, self.palette.ticket)
                free = x + 12 + text_width(name, _TINY)

    # The axis of commits

    def _commit_axis(self) -> Iterator[Shape]:
        taken: list[tuple[float, float]] = []
        focus = self.trend.focus
        if focus and self.trend.first <= focus.position <= self.trend.last:
            yield from self._commit(focus.position, taken, self.palette.suspect_ink, bold=True)
        count = max(2, int((self.right - self.left) // _TICK_ROOM))
        span = self.trend.last - self.trend.first
        wanted = dict.fromkeys(self.trend.first + round(span * index / (count - 1)) for index in range(count))
        for position in wanted:
            yield from self._commit(position, taken, self.palette.faint, bold=False)

    def _commit(self, position: int, taken: list[tuple[float, float]], colour: str, *, bold: bool) -> Iterator[Shape]:
        name, day = (plain_line(text, 16) for text in self.trend.commit_name(position))
        wide = max(text_width(name, _TINY), text_width(day, _TINY)) + 4
        x = self.x(position)
        middle = min(max(x, wide / 2 + 2), self.width - wide / 2 - 2)
        begin, end = middle - wide / 2, middle + wide / 2
        if not name or any(begin < other_end + 6 and other_begin - 6 < end for other_begin, other_end in taken):
            return
        taken.append((begin, end))
        yield Polyline(((x, self.bottom), (x, self.bottom + 4)), self.palette.line)
        yield Text(round(middle, 2), self.bottom + 17, name, _TINY, colour, Anchor.MIDDLE, bold)
        if day:
            yield Text(round(middle, 2), self.bottom + 31, day, _TINY, self.palette.faint, Anchor.MIDDLE)


# Draw a badge: the name of a benchmark, its newest value, and the last change.


_HEIGHT: Final = 20
_SIZE: Final = 11.0
_PADDING: Final = 6.0
_WIDEST: Final = 220.0
_WIDEST_CHANGE: Final = 360.0
"""Room for a headline of two sides."""
_LONGEST: Final = 200


def draw_badge(name: str, value: str, change: str = "", direction: Direction = Direction.UNKNOWN) -> Drawing:
    """Return a badge, 20 pixels high: ``name`` on a dark ground, ``value``, and ``change`` coloured by direction.

    ``value`` and ``change`` are texts, as in ``12.3 ms`` and ``3 slower by up to 12 %``; without a change there are two
    fields.
    """
    light, dark = palette_of(Theme.LIGHT), palette_of(Theme.DARK)
    shapes: list[Shape] = []
    fields = (
        (trimmed(plain_line(name, _LONGEST), _SIZE, _WIDEST), dark.line, dark.ink),
        (trimmed(plain_line(value, _LONGEST), _SIZE, _WIDEST), light.grid, light.ink),
        (trimmed(plain_line(change, _LONGEST), _SIZE, _WIDEST_CHANGE), light.of(direction), light.paper),
    )
    x = 0.0
    for text, ground, ink in fields:
        if text:
            wide = round(text_width(text, _SIZE) + 2 * _PADDING)
            shapes += [Box(x, 0, wide, _HEIGHT, ground), Text(x + _PADDING, 14, text, _SIZE, ink)]
            x += wide
    title = plain_line(": ".join(part for part in (name, ", ".join(filter(None, (value, change)))) if part), _LONGEST)
    return Drawing(max(1, int(x)), _HEIGHT, light.paper, title, tuple(shapes))
