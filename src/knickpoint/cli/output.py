"""Print rows as a text table, as JSON or as CSV: the same columns in each."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import click

from knickpoint.cli.terminal import plain_json, without_control
from knickpoint.model.spreadsheet import guarded

__all__ = [
    "Column",
    "OutputFormat",
    "Row",
    "format_option",
    "percent",
    "render",
    "show",
]

Cell = str | float | int | bool | None | Sequence[str] | Sequence[Mapping[str, str]]
Row = Mapping[str, Cell]


class OutputFormat(Enum):
    """How a command prints its data."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    ``name`` is its name in JSON and CSV, ``title`` its title in text, ``text`` renders a cell for people. ``listed`` is the
    key that CSV shows of a list of objects.
    """

    name: str
    title: str = ""
    text: Callable[[Any], str] = str
    right: bool = False
    listed: str = ""


def percent(value: float | None) -> str:
    """Render a ratio for people: ``+12.3 %``."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "+∞ %" if value > 0 else "−∞ %"
    return f"{value * 100:+.1f} %"


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


def _csv_field(value: Cell, listed: str = "") -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return str(value)
    return guarded(
        value if isinstance(value, str) else " ".join(item if isinstance(item, str) else item[listed] for item in value)
    )


def _table(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    cells = [[without_control(column.text(row[column.name])) for column in columns] for row in rows]
    titles = [column.title or column.name for column in columns]
    widths = [max(len(line[index]) for line in [titles, *cells]) for index in range(len(columns))]
    lines = []
    for line in [titles, *cells]:
        padded = [
            text.rjust(width) if column.right else text.ljust(width)
            for text, width, column in zip(line, widths, columns, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines) + "\n"


def render(columns: Sequence[Column], rows: Iterable[Row], output: OutputFormat, *, empty: str = "") -> str:
    """Return ``rows`` as text that ends with a newline; ``empty`` is the text for people if there are none."""
    found = list(rows)
    if output is OutputFormat.JSON:
        data = [{column.name: _json_cell(row[column.name]) for column in columns} for row in found]
        return plain_json(json.dumps(data, indent=2, ensure_ascii=False)) + "\n"
    if output is OutputFormat.CSV:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([column.name for column in columns])
        writer.writerows([_csv_field(row[column.name], column.listed) for column in columns] for row in found)
        return text.getvalue()
    if not found:
        return f"{empty}\n" if empty else ""
    return _table(columns, found)


def show(columns: Sequence[Column], rows: Iterable[Row], output: OutputFormat, *, empty: str = "") -> None:
    """Print ``rows`` to standard output as :func:`render` does."""
    click.echo(render(columns, rows, output, empty=empty), nl=False)
