"""A drawing before it becomes SVG or PNG: shapes with places and colours, and the axes with their ticks.

Lengths are pixels, the origin is top left.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.change_point import Direction
from knickpoint.model.quantity_text import Scale, number_text, scale_for, value_text

_WIDTHS: Final = {
    **dict.fromkeys("iIjl.,:;|!'` ", 0.30),
    **dict.fromkeys('frt()[]{}/\\-"*', 0.40),
    **dict.fromkeys("mwMW@%…→", 0.95),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ&=+<>~×−µ_", 0.70),
}
"""Widths of characters in relation to the size of the font, rather too large than too small."""
_USUAL_WIDTH: Final = 0.60
_WIDE_WIDTH: Final = 1.05
_CUT: Final = "…"


class Anchor(Enum):
    """Which part of a text is at its place."""

    START = "start"
    MIDDLE = "middle"
    END = "end"


@dataclass(frozen=True, slots=True)
class Box:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    fill: str


@dataclass(frozen=True, slots=True)
class Polyline:
    """A line through ``points``; ``dashed`` with gaps."""

    points: tuple[tuple[float, float], ...]
    colour: str
    width: float = 1.0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Polygon:
    """A filled shape with corners at ``points``."""

    points: tuple[tuple[float, float], ...]
    fill: str


@dataclass(frozen=True, slots=True)
class Dots:
    """Filled circles of one radius around ``centres``."""

    centres: tuple[tuple[float, float], ...]
    radius: float
    fill: str


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text with its baseline at ``y``."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    anchor: Anchor = Anchor.START
    bold: bool = False


Shape = Box | Polyline | Polygon | Dots | Text


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes on a background, the first ones behind the others; ``title`` says in words what they show."""

    width: int
    height: int
    background: str
    title: str
    shapes: tuple[Shape, ...]


def text_width(text: str, size: float) -> float:
    """Return about how wide ``text`` is in a usual font; no font is asked, so that every machine draws the same."""
    return size * sum(_width(letter) for letter in text)


def trimmed(text: str, size: float, room: float) -> str:
    """Return ``text``, cut in its middle where it is wider than ``room``; "" where not even a part of it fits."""
    if text_width(text, size) <= room:
        return text
    keep = len(text) - 1
    while keep > 1:
        keep = min(keep - 1, int(keep * max(0.5, room / text_width(text[:keep], size)))) if keep > 64 else keep - 1
        tail = keep // 2
        cut = f"{text[: keep - tail]}{_CUT}{text[len(text) - tail :]}"
        if text_width(cut, size) <= room:
            return cut
    return ""


def _width(letter: str) -> float:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    return _WIDE_WIDTH if unicodedata.east_asian_width(letter) in {"W", "F"} else _USUAL_WIDTH


# Write a drawing as SVG: text and lines only, with no script, style sheet, font or image from elsewhere.


_FONTS: Final = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"


def svg(drawing: Drawing) -> bytes:
    """Return ``drawing`` as an SVG file; the same drawing gives the same bytes."""
    size = f'width="{drawing.width}" height="{drawing.height}" viewBox="0 0 {drawing.width} {drawing.height}"'
    words = f'role="img" aria-label={quoteattr(drawing.title)} font-family="{_FONTS}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {words}>',
        f"<title>{escape(drawing.title)}</title>",
        f'<rect width="100%" height="100%" fill="{drawing.background}"/>',
        *(_element(shape) for shape in drawing.shapes),
        "</svg>",
    ]
    return ("\n".join(lines) + "\n").encode()


def _element(shape: Shape) -> str:
    match shape:
        case Box():
            place = f'x="{_number(shape.x)}" y="{_number(shape.y)}"'
            size = f'width="{_number(shape.width)}" height="{_number(shape.height)}"'
            return f'<rect {place} {size} fill="{shape.fill}"/>'
        case Polyline():
            dashes = ' stroke-dasharray="3 3"' if shape.dashed else ""
            return (
                f'<polyline points="{_points(shape.points)}" fill="none" stroke="{shape.colour}" '
                f'stroke-width="{_number(shape.width)}" stroke-linejoin="round"{dashes}/>'
            )
        case Polygon():
            return f'<polygon points="{_points(shape.points)}" fill="{shape.fill}"/>'
        case Dots():
            # A line without length and with round ends is a dot: one element for all of them.
            path = "".join(f"M{_number(x)} {_number(y)}h0" for x, y in shape.centres)
            return f'<path d="{path}" stroke="{shape.fill}" stroke-width="{_number(2 * shape.radius)}" stroke-linecap="round"/>'
        case Text():
            return _text(shape)


def _text(shape: Text) -> str:
    anchor = "" if shape.anchor is Anchor.START else f' text-anchor="{shape.anchor.value}"'
    weight = ' font-weight="600"' if shape.bold else ""
    place = f'x="{_number(shape.x)}" y="{_number(shape.y)}"'
    return f'<text {place} font-size="{_number(shape.size)}" fill="{shape.colour}"{anchor}{weight}>{escape(shape.text)}</text>'


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


# The colours of plots: the light and the dark theme of the dashboard (``frontend/src/styles/tokens.css``).


class Theme(Enum):
    """What a plot stands on."""

    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one theme, as ``#rrggbb``; washes are opaque."""

    paper: str
    ink: str
    faint: str
    line: str
    grid: str
    trail: str
    dot: str
    level: str
    suspect: str
    suspect_ink: str
    worse: str
    better: str
    changed: str
    ticket: str

    def of(self, direction: Direction) -> str:
        """Return the colour of a change in this direction."""
        return {
            Direction.REGRESSION: self.worse,
            Direction.IMPROVEMENT: self.better,
            Direction.UNKNOWN: self.changed,
        }[direction]


_PALETTES: Final = {
    Theme.LIGHT: Palette(
        paper="#ffffff",
        ink="#16191f",
        faint="#656d7b",
        line="#d8dce3",
        grid="#e9ecf0",
        trail="#b4bdca",
        dot="#4a5566",
        level="#1d6f78",
        suspect="#f3dfc2",
        suspect_ink="#945600",
        worse="#b3261e",
        better="#17723b",
        changed="#1f5fbf",
        ticket="#7a3fb0",
    ),
    Theme.DARK: Palette(
        paper="#15181d",
        ink="#e7eaef",
        faint="#8f98a7",
        line="#333a45",
        grid="#252a32",
        trail="#56606f",
        dot="#aab4c3",
        level="#58c1cb",
        suspect="#4a3a1e",
        suspect_ink="#f5b83d",
        worse="#ff8f85",
        better="#6fd08c",
        changed="#7fb0ff",
        ticket="#c79bf2",
    ),
}


def palette_of(theme: Theme) -> Palette:
    """Return the colours of ``theme``."""
    return _PALETTES[theme]


_LARGEST: Final = 1e300
"""Larger values are drawn as this one, so that no difference of two overflows."""
_FAR: Final = 3.0
"""Values further away from the others than this many times their spread do not widen the axis."""
_MARGIN: Final = 0.06
_FINE: Final = 1e-4
"""Where ticks differ by less than this part of their value, their texts are differences from the first tick."""
_SAME: Final = 4.0
"""Values that differ by no more than so many steps of floating point are the same level."""
_LONGEST_UNIT: Final = 6
"""A longer unit stands above the axis once, not at every tick."""
_MOST_DIGITS: Final = 15


@dataclass(frozen=True, slots=True)
class Tick:
    """A value at the axis, and its text."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class ValueAxis:
    """The values from ``low`` to ``high``.

    ``note`` stands above the axis: a long unit, or the value that the texts of the ticks are differences from.
    """

    low: float
    high: float
    ticks: tuple[Tick, ...]
    note: str = ""

    def place(self, value: float) -> float:
        """Return the place of ``value`` between 0 (low) and 1 (high); outside of these beyond the axis."""
        bounded = min(max(value, -_LARGEST), _LARGEST)
        return (bounded / 2 - self.low / 2) / (self.high / 2 - self.low / 2)


def value_axis(values: NDArray[np.float64], levels: tuple[float, ...], unit: str, *, most_ticks: int) -> ValueAxis:
    """Return the axis for finite ``values`` in ``unit``; it always spans the ``levels``.

    A few values far away from the others do not widen it.
    """
    low, high = _bounds(values, levels)
    if high - low <= _SAME * float(np.spacing(max(abs(low), abs(high)))):
        room = max(abs(low), abs(high)) * 0.05 or 1.0
        low, high = low - room, high + room
    margin = (high - low) * _MARGIN
    # An axis of values that are not negative shows nothing below 0.
    bottom = 0.0 if low >= 0 > low - margin else low - margin
    return _with_ticks(bottom, high + margin, unit, most_ticks)


def _bounds(values: NDArray[np.float64], levels: tuple[float, ...]) -> tuple[float, float]:
    bounded = np.clip(values, -_LARGEST, _LARGEST) if len(values) else np.zeros(1)
    known = [min(max(level, -_LARGEST), _LARGEST) for level in levels if math.isfinite(level)]
    usual_low, usual_high = np.percentile(bounded, (5, 95))
    inner_low, inner_high = min([float(usual_low), *known]), max([float(usual_high), *known])
    spread = inner_high - inner_low
    near = bounded[(bounded >= inner_low - _FAR * spread) & (bounded <= inner_high + _FAR * spread)]
    if not spread:
        near = bounded
    low, high = (float(near.min()), float(near.max())) if len(near) else (inner_low, inner_high)
    return min([low, *known]), max([high, *known])


def _with_ticks(low: float, high: float, unit: str, most: int) -> ValueAxis:
    scale = scale_for(max(abs(low), abs(high)), unit)
    bottom, top = low / scale.divisor, high / scale.divisor
    for intervals in range(max(1, most), 3 * max(1, most)):  # a single tick tells no scale
        step = _nice((top - bottom) / intervals)
        first = math.ceil(bottom / step)
        numbers = [index * step for index in range(first, first + intervals + 2) if index * step <= top]
        if len(numbers) > 1:
            break
    largest = max((abs(number) for number in numbers), default=0.0)
    if step >= _FINE * largest:
        short = len(scale.unit) <= _LONGEST_UNIT
        unit_of_tick = scale.unit if short else ""
        ticks = [Tick(number * scale.divisor, _tick_text(number, step, unit_of_tick)) for number in numbers]
        return ValueAxis(low, high, tuple(ticks), "" if short else scale.unit)
    return _fine_ticks(low, high, unit, numbers, scale.divisor)


def _fine_ticks(low: float, high: float, unit: str, numbers: list[float], divisor: float) -> ValueAxis:
    """Return ticks whose texts are differences from the first one, which the note names in full."""
    base = numbers[0] * divisor
    scale = scale_for(max(abs(number * divisor - base) for number in numbers), unit)
    shown = scale if len(scale.unit) <= _LONGEST_UNIT else Scale(scale.divisor, "")
    ticks = []
    for number in numbers:
        difference = number * divisor - base
        text = "base" if number == numbers[0] else f"+{value_text(difference, unit, shown)}"
        ticks.append(Tick(number * divisor, text))
    whole = scale_for(abs(base), unit)
    return ValueAxis(low, high, tuple(ticks), f"base: {number_text(base / whole.divisor, _MOST_DIGITS)} {whole.unit}")


def _tick_text(number: float, step: float, unit: str) -> str:
    size = max(abs(number), step)
    if size >= 1e15 or size < 1e-6:
        text = number_text(number, 3)
    else:
        places = min(12, max(0, -math.floor(math.log10(step) + 1e-9)))
        text = f"{number:,.{places}f}".replace("-", "−") if number else "0"
    return f"{text} {unit}".rstrip()


def _nice(step: float) -> float:
    """Return 1, 2 or 5 times a power of ten that is at least ``step``."""
    if not step > 0 or not math.isfinite(step):
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= step * (1 - 1e-9))


# Reduce long series to what a plot can show, without losing a peak.


_WITH_ENDS: Final = 4
"""The least number of points that has room for the first and the last value in addition to the extremes."""


def thin(values: NDArray[np.float64], points: int) -> NDArray[np.int64]:
    """Return the indices of at most ``points`` of ``values`` that look the same when drawn.

    The values are cut into runs, and the least and the greatest of each are kept, so that no spike is lost; the
    first and the last value as well where ``points >= 4``. Needs ``points >= 2`` and finite values.
    """
    if len(values) <= points:
        return np.arange(len(values), dtype=np.int64)
    ends_kept = np.array([0, len(values) - 1] if points >= _WITH_ENDS else [], dtype=np.int64)
    runs = (points - len(ends_kept)) // 2
    begins = np.arange(runs, dtype=np.int64) * len(values) // runs
    run = np.repeat(np.arange(runs), np.diff(np.append(begins, len(values))))
    order = np.lexsort((values, run))
    ends = np.append(begins[1:], len(values)) - 1
    return np.unique(np.concatenate([ends_kept, order[begins], order[ends]]))
