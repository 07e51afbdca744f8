"""Print rows as a text table, as JSON or as CSV, and the answers of the API as JSON or as CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

import click

from knickpoint.cli.terminal import (
    TerminalText,
    Verbosity,
    colours_allowed,
    note,
    painted,
    plain_json,
    tone_of,
    verbosity,
    without_control,
)
from knickpoint.model.plain_text import guarded
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.answers.base import Answer


# Lay out a table as text: aligned columns that fit a width, or one block for each row where they cannot.


_GAP: Final = "  "
_NARROWEST: Final = 12
"""Characters that a column keeps when its cells are wrapped."""


@dataclass(frozen=True, slots=True)
class Table:
    """Titles and cells (rows × columns, without control characters).

    ``right`` says which columns are aligned to the right; these are numbers, and never wrapped. ``toned`` says which
    columns hold verdicts and states, whose words have colours.
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


Cell = str | float | int | bool | None | Sequence[str] | Sequence[Mapping[str, str]] | Mapping[str, str]
Row = Mapping[str, Cell]

_TONED: Final = frozenset({"verdict", "direction", "state", "status", "condition"})
"""Columns of words that have colours."""


class OutputFormat(Enum):
    """How a command prints its data."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    ``name`` is its name in JSON and CSV, ``title`` its title in text, ``text`` renders a cell for people. Text has
    ``detail`` columns with --verbose only.
    """

    name: str
    title: str = ""
    text: Callable[[Any], str] = str
    right: bool = False
    detail: bool = False


_ENORMOUS: Final = 1e6
"""A ratio from which on digits say nothing."""


def percent(value: float | None) -> str:
    """Render a ratio for people: ``+12.3 %``, ``−1,234.5 %``."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "+∞ %" if value > 0 else "−∞ %"
    return f"{figure_text(value * 100, '+,.1f' if abs(value) < _ENORMOUS else '+.3g')} %"


def format_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--format text|json|csv`` to a command, as the argument ``output``."""
    return click.option(
        "--format",
        "output",
        type=click.Choice([choice.value for choice in OutputFormat]),
        default=OutputFormat.TEXT.value,
        show_default=True,
        callback=lambda _context, _parameter, value: OutputFormat(value),
        help="How to print the data.",
    )(command)


def _json_cell(value: Cell) -> Any:
    """Return a cell for JSON; numbers that are not finite become null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _csv_field(value: Cell) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return guarded(" ".join(f"{name}={text}" for name, text in value.items()))
    return guarded(value if isinstance(value, str) else " ".join(map(str, value)))


def _table(columns: Sequence[Column], rows: Sequence[Row], *, coloured: bool) -> str:
    """Return the rows as text.

    On a terminal it fits the width and has colours; columns without any text are left out.
    """
    shown = [column for column in columns if not column.detail or verbosity() is Verbosity.VERBOSE]
    texts = [[without_control(column.text(row[column.name])) for row in rows] for column in shown]
    filled = [(column, cells) for column, cells in zip(shown, texts, strict=True) if any(cells)]
    table = Table(
        [column.title or column.name for column, _ in filled],
        list(zip(*(cells for _, cells in filled), strict=True)),
        [column.right for column, _ in filled],
        [column.name in _TONED for column, _ in filled],
    )
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return layout(table, width=width, colours=coloured and colours_allowed(sys.stdout))


def render(
    columns: Sequence[Column],
    rows: Iterable[Row],
    output: OutputFormat,
    *,
    empty: str = "",
    coloured: bool = False,
) -> str:
    """Return ``rows`` as text that ends with a newline; ``empty`` is the text for people if there are none.

    With ``coloured``, verdicts and states have colours where standard output has them; only :func:`echo_rendered`
    prints such a text as it is.
    """
    found = list(rows)
    if output is OutputFormat.JSON:
        data = [{column.name: _json_cell(row[column.name]) for column in columns} for row in found]
        return plain_json(json.dumps(data, indent=2, ensure_ascii=False)) + "\n"
    if output is OutputFormat.CSV:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([column.name for column in columns])
        writer.writerows([_csv_field(row[column.name]) for column in columns] for row in found)
        return text.getvalue()
    if not found:
        return f"{empty}\n" if empty else ""
    return _table(columns, found, coloured=coloured)


def show(columns: Sequence[Column], rows: Iterable[Row], output: OutputFormat, *, empty: str = "") -> None:
    """Print ``rows`` to standard output as :func:`render` does."""
    found = list(rows)
    if not found and output is OutputFormat.TEXT:
        if empty:
            note(empty)
        return
    if output is OutputFormat.TEXT:
        echo_rendered(render(columns, found, output, coloured=True))
    else:
        click.echo(render(columns, found, output), nl=False)


def echo_rendered(text: str) -> None:
    """Print a text table of :func:`render`: its cells are clean, and its colours may pass to the terminal."""
    TerminalText.below(sys.stdout).write(text)
    sys.stdout.flush()


def show_answer(answer: Answer, output: OutputFormat) -> None:
    """Print one answer of the API as :func:`show_answers` does, in JSON without a list around it."""
    if output is OutputFormat.JSON:
        click.echo(plain_json(json.dumps(answer.model_dump(mode="json"), indent=2, ensure_ascii=False)))
    else:
        show_answers(type(answer), [answer], output)


def show_answers(kind: type[Answer], answers: Sequence[Answer], output: OutputFormat, *, rows_of: str = "") -> None:
    """Print answers of the API of one ``kind``: JSON as the API has them, CSV with the same names.

    The name of a field within a field is written with dots, such as ``trace.key``. CSV has a row an answer, or one for
    each item of the list ``rows_of`` of an answer.
    """
    data = [answer.model_dump(mode="json") for answer in answers]
    if output is OutputFormat.JSON:
        click.echo(plain_json(json.dumps(data, indent=2, ensure_ascii=False)))
        return
    names = list(_leaf_names(kind))
    rows = [each | {rows_of: item} for each in data for item in each[rows_of]] if rows_of else data
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_csv_field(_leaf(row, name.split("."))) for name in names] for row in rows)
    click.echo(text.getvalue(), nl=False)


def _leaf_names(kind: type[Answer]) -> Iterator[str]:
    for name, field in kind.model_fields.items():
        inner = _answer_within(field.annotation)
        yield from (f"{name}.{leaf}" for leaf in _leaf_names(inner)) if inner else (name,)


def _answer_within(annotation: Any) -> type[Answer] | None:
    """Return the kind of the answers of a field: of an optional one, and of a list of them; None for plain values."""
    if hasattr(annotation, "model_fields"):
        return annotation  # type: ignore[no-any-return]
    parts = () if get_origin(annotation) is dict else get_args(annotation)
    return next((found for found in map(_answer_within, parts) if found), None)


def _leaf(value: Any, names: Sequence[str]) -> Cell:
    """Return the value at a path of names: of a list, all values; of a mapping, ``name=value`` for each."""
    if isinstance(value, list):
        return [_csv_field(_leaf(item, names)) for item in value]
    if names and value is not None:
        return _leaf(value[names[0]], names[1:])
    return [f"{name}={item}" for name, item in value.items()] if isinstance(value, dict) else value
