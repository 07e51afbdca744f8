"""A drawing: shapes with places and colours, before it becomes SVG or PNG.

Lengths are pixels, the origin is top left.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from knickpoint.model.change_point import Direction

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
