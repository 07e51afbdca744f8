"""Lay out a table as text: aligned columns that fit a width, or one block for each row where they cannot."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from knickpoint.cli.colours import painted, tone_of

__all__ = ["Table", "layout"]

_GAP: Final = "  "
_NARROWEST: Final = 12
"""Characters that a column keeps when its cells are wrapped."""


@dataclass(frozen=True, slots=True)
class Table:
    """Titles and cells (rows × columns, without control characters).

    ``right`` says which columns are aligned to the right; these are numbers, and never wrapped. ``toned`` says which columns
    hold verdicts and states, whose words have colours.
    """

    titles: Sequence[str]
    cells: Sequence[Sequence[str]]
    right: Sequence[bool]
    toned: Sequence[bool]


def layout(table: Table, *, width: int | None = None, colours: bool = False) -> str:
    """Return the table as lines of at most ``width`` characters; None: as wide as the cells are.

    Cells that are too wide are wrapped at spaces and commas. Where the columns cannot be made narrow enough, each row
    becomes a block of lines, a title and its cell on each.
    """
    natural = [max(map(len, column)) for column in zip(table.titles, *table.cells, strict=True)]
    widths = natural if width is None else _fitted(natural, table, width)
    if widths is None:
        return _blocks(table, width or 0, colours=colours)
    lines = _lines(table.titles, table, widths, colours=False)
    for row in table.cells:
        lines += _lines(row, table, widths, colours=colours)
    return "\n".join(lines) + "\n"


def _fitted(natural: Sequence[int], table: Table, width: int) -> list[int] | None:
    """Return the widths at which the table fits, None where it cannot: the widest column gives way first."""
    widths = list(natural)
    least = [
        size if right else min(size, max(_NARROWEST, len(title)))
        for size, right, title in zip(natural, table.right, table.titles, strict=True)
    ]
    room = width - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room:
        spare = [size if size > low else 0 for size, low in zip(widths, least, strict=True)]
        if not any(spare):
            return None
        widths[spare.index(max(spare))] -= 1
    return widths


def _lines(row: Sequence[str], table: Table, widths: Sequence[int], *, colours: bool) -> list[str]:
    """Return the lines of one row; a wrapped cell continues on the lines below."""
    wrapped = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines = []
    for parts in zip_longest(*wrapped, fillvalue=""):
        padded = []
        for cell, part, width, right, toned in zip(row, parts, widths, table.right, table.toned, strict=True):
            aligned = part.rjust(width) if right else part.ljust(width)
            tone = tone_of(cell) if colours and toned else None
            padded.append(aligned.replace(part, painted(part, tone), 1) if tone else aligned)
        lines.append(_GAP.join(padded).rstrip())
    return lines


def _wrapped(cell: str, width: int) -> list[str]:
    """Return the lines of a cell: broken at spaces, else behind commas, else anywhere."""
    if len(cell) <= width:
        return [cell]
    lines = []
    for line in textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False):
        rest = line
        while len(rest) > width:
            comma = rest.rfind(",", 0, width)
            cut = comma + 1 if comma > 0 else width
            lines.append(rest[:cut])
            rest = rest[cut:]
        lines.append(rest)
    return lines


def _blocks(table: Table, width: int, *, colours: bool) -> str:
    """Return a block for each row, with its cells below each other."""
    indent = max(map(len, table.titles)) + len(_GAP)
    room = max(width - indent, _NARROWEST)
    blocks = []
    for row in table.cells:
        lines = []
        for title, cell, toned in zip(table.titles, row, table.toned, strict=True):
            tone = tone_of(cell) if colours and toned else None
            parts = _wrapped(cell, room)
            lines.append(f"{title:<{indent}}{painted(parts[0], tone)}".rstrip())
            lines += [" " * indent + painted(part, tone) for part in parts[1:]]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)
