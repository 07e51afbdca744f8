"""Draw the rooms of the package and the way of their imports, from the code itself.

The rows are the layers of ``.importlinter``, so the picture and the check in CI cannot disagree. An arrow runs from a
room to one that it imports. An arrow that others imply (A imports B, B imports C, so A reaches C) is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from configparser import ConfigParser
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Final

import grimp

_PACKAGE: Final = "knickpoint"
_TOP: Final = Path(__file__).parent.parent
_WIDTH: Final = 1180
_MARGIN: Final = 60
"""Width of the strips at both sides, in which arrows pass rows that lie between."""
_SPACE: Final = 14
_GAP: Final = 44
_LETTERS: Final = 6.2
"""Mean width of a letter at 11 pixels, to break lines."""
_LINE: Final = 14
_TIP: Final = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<polygon points="0,0 8,4 0,8" fill="#4b6a88"/></marker>'
)


@dataclass(frozen=True, slots=True)
class Box:
    """A room where it is drawn: the middle ``x``, the upper edge ``y``, and its size, in pixels.

    ``purpose`` and ``inner`` (the packages inside the room) are lines of text that fit its width.
    """

    room: str
    row: int
    x: float
    y: float
    width: float
    height: float
    purpose: tuple[str, ...]
    inner: tuple[str, ...]


def read_layers() -> list[list[str]]:
    """Return the rooms of each layer, the highest first."""
    parser = ConfigParser()
    parser.read(_TOP / ".importlinter")
    lines = parser["importlinter:contract:rooms"]["layers"].split("\n")
    return [[name.strip().removeprefix(f"{_PACKAGE}.") for name in line.split("|")] for line in lines if line.strip()]


def read_imports(rooms: Sequence[str]) -> dict[str, set[str]]:
    """Return, for each room, the other rooms that its modules import."""
    graph = grimp.build_graph(_PACKAGE)
    found: dict[str, set[str]] = {}
    for room in rooms:
        package = f"{_PACKAGE}.{room}"
        modules = {package, *graph.find_descendants(package)}
        imported = {name for module in modules for name in graph.find_modules_directly_imported_by(module)}
        found[room] = {name.split(".")[1] for name in imported if name.count(".")} & set(rooms) - {room}
    return found


def without_implied(imports: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """Return the imports that no chain of others implies, sorted. The graph has no circle."""

    def reached(room: str) -> set[str]:
        return imports[room].union(*(reached(other) for other in imports[room]))

    return sorted(
        (room, other)
        for room, others in imports.items()
        for other in others
        if not any(other in reached(between) for between in others - {other})
    )


def purpose_of(room: str) -> str:
    """Return the first sentence of the docstring of ``room``."""
    package = _TOP / "src" / _PACKAGE / room
    source = (package / "__init__.py" if package.is_dir() else package.with_suffix(".py")).read_text(encoding="utf-8")
    text = " ".join((ast.get_docstring(ast.parse(source)) or "").split("\n\n", maxsplit=1)[0].split())
    return re.sub(r":\w+:`([^`]*)`|`+", r"\1", text.split(". ", maxsplit=1)[0]).rstrip(".")


def inner_rooms(room: str) -> list[str]:
    """Return the names of the packages inside ``room``, sorted."""
    return sorted(place.parent.name for place in (_TOP / "src" / _PACKAGE / room).glob("*/__init__.py"))


def draw_rows(layers: Sequence[Sequence[str]], imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the rooms of each drawn row: neighbouring layers share one where neither imports the other."""
    rows: list[list[str]] = []
    for layer in layers:
        if rows and not any(imports[room] & set(layer) for room in rows[-1]):
            rows[-1] += layer
        else:
            rows.append(list(layer))
    return rows


def _broken(text: str, width: float) -> tuple[str, ...]:
    """Break ``text`` into lines of at most ``width`` pixels."""
    return tuple(wrap(text, int(width / _LETTERS)))


def place_boxes(rows: Sequence[Sequence[str]]) -> dict[str, Box]:
    """Return where each room is drawn; all boxes of a row have one size."""
    boxes = {}
    top = 16.0
    for row, rooms in enumerate(rows):
        width = min(440.0, (_WIDTH - 2 * _MARGIN - _SPACE * (len(rooms) - 1)) / len(rooms))
        texts = [
            (_broken(purpose_of(room), width - 14), _broken(" · ".join(inner_rooms(room)), width - 14))
            for room in rooms
        ]
        height = 30.0 + _LINE * max(len(purpose) + len(inner) for purpose, inner in texts)
        left = (_WIDTH - len(rooms) * (width + _SPACE) + _SPACE + width) / 2
        for column, (room, (purpose, inner)) in enumerate(zip(rooms, texts, strict=True)):
            boxes[room] = Box(room, row, left + column * (width + _SPACE), top, width, height, purpose, inner)
        top += height + _GAP
    return boxes


def _drawn_box(box: Box) -> Iterator[str]:
    left = box.x - box.width / 2
    yield f'<rect x="{left:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" rx="5"/>'
    yield f'<text class="name" x="{box.x:.0f}" y="{box.y + 18:.0f}">{escape(box.room)}</text>'
    lines = [("", line) for line in box.purpose] + [(' class="inner"', line) for line in box.inner]
    for number, (style, line) in enumerate(lines):
        yield f'<text{style} x="{box.x:.0f}" y="{box.y + 34 + _LINE * number:.0f}">{escape(line)}</text>'


def _ports(edges: Sequence[tuple[str, str]], boxes: Mapping[str, Box], end: int) -> dict[tuple[str, str], float]:
    """Spread the arrows that meet one edge of a box over its width, in the order of their other ends."""
    ports = {}
    for room, box in boxes.items():
        meeting = sorted((edge for edge in edges if edge[end] == room), key=lambda edge: (boxes[edge[1 - end]].x, edge))
        for number, edge in enumerate(meeting):
            ports[edge] = box.x - box.width / 2 + box.width * (number + 1) / (len(meeting) + 1)
    return ports


def _drawn_arrows(edges: Sequence[tuple[str, str]], boxes: Mapping[str, Box]) -> Iterator[str]:
    """Draw each arrow from the lower edge of its room to the upper edge of the other.

    One to the next row is a curve. One that passes rows goes through a lane of its own at the nearer side.
    """
    starts, stops = _ports(edges, boxes, 0), _ports(edges, boxes, 1)
    lanes = {-1: 0, 1: 0}
    for edge in edges:
        begin, end = boxes[edge[0]], boxes[edge[1]]
        x, y, to_x, to_y = starts[edge], begin.y + begin.height, stops[edge], end.y - 1
        if end.row == begin.row + 1:
            yield f'<path d="M{x:.0f},{y:.0f} C{x:.0f},{y + 26:.0f} {to_x:.0f},{to_y - 26:.0f} {to_x:.0f},{to_y:.0f}"/>'
            continue
        side = -1 if to_x < _WIDTH / 2 else 1
        lane = _WIDTH / 2 + side * (_WIDTH / 2 - _MARGIN + 16 + 12 * lanes[side])
        below, above = y + 12 + 5 * lanes[side], to_y - 14 - 5 * lanes[side]
        lanes[side] += 1
        yield f'<path d="M{x:.0f},{y:.0f} V{below:.0f} H{lane:.0f} V{above:.0f} H{to_x:.0f} V{to_y:.0f}"/>'


def draw_structure() -> str:
    """Return the picture of the rooms as an SVG document."""
    layers = read_layers()
    imports = read_imports([room for layer in layers for room in layer])
    boxes = place_boxes(draw_rows(layers, imports))
    height = max(box.y + box.height for box in boxes.values()) + 16
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" role="img">',
        "<title>The rooms of Knickpoint; an arrow runs from a room to one that it imports</title>",
        "<style>",
        "svg { background: #fff } rect { fill: #f4f6f8; stroke: #8a97a5 }",
        "text { font: 11px sans-serif; text-anchor: middle; fill: #333f4a }",
        ".name { font: bold 13px monospace; fill: #10202e } .inner { font-style: italic; fill: #5a6875 }",
        "path { fill: none; stroke: #4b6a88; marker-end: url(#tip) }",
        "</style>",
        _TIP,
        *_drawn_arrows(without_implied(imports), boxes),
        *(line for box in boxes.values() for line in _drawn_box(box)),
        "</svg>",
    ]
    return "\n".join(body) + "\n"
