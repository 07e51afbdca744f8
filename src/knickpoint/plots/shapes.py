"""A drawing: shapes with places and colours, before it becomes SVG or PNG. Lengths are pixels, the origin is top left."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import Enum
from typing import Final

__all__ = ["Anchor", "Box", "Dots", "Drawing", "Polygon", "Polyline", "Shape", "Text", "text_width", "trimmed"]

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
