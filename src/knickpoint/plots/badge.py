"""Draw a badge: the name of a benchmark, its newest value, and the last change."""

from __future__ import annotations

from typing import Final

from knickpoint.model.change_point import Direction
from knickpoint.model.plain_text import plain_line
from knickpoint.plots.shapes import Box, Drawing, Shape, Text, text_width, trimmed
from knickpoint.plots.theme import Theme, palette_of

__all__ = ["draw_badge"]

_HEIGHT: Final = 20
_SIZE: Final = 11.0
_PADDING: Final = 6.0
_WIDEST: Final = 220.0
_WIDEST_CHANGE: Final = 360.0
"""Room for a headline of two sides."""
_LONGEST: Final = 200


def draw_badge(name: str, value: str, change: str = "", direction: Direction = Direction.UNKNOWN) -> Drawing:
    """Return a badge, 20 pixels high: ``name`` on a dark ground, then ``value``, then ``change`` in the colour of its direction.

    ``value`` and ``change`` are texts, as in ``12.3 ms`` and ``3 slower by up to 12 %``; without a change there are two fields.
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
