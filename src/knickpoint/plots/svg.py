"""Write a drawing as SVG: text and lines only, with no script, style sheet, font or image from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from knickpoint.plots.shapes import Anchor, Box, Dots, Drawing, Polygon, Polyline, Shape, Text

__all__ = ["svg"]

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
