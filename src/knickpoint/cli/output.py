"""Print rows as a text table, as JSON or as CSV: the same columns in each."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import click

from knickpoint.cli.colours import colours_allowed
from knickpoint.cli.tables import Table, layout
from knickpoint.cli.terminal import TerminalText, plain_json, without_control
from knickpoint.cli.verbosity import Verbosity, note, verbosity
from knickpoint.model.quantity_text import figure_text
from knickpoint.model.spreadsheet import guarded

__all__ = [
    "Column",
    "OutputFormat",
    "Row",
    "echo_rendered",
    "format_option",
    "percent",
    "render",
    "show",
]

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

    ``name`` is its name in JSON and CSV, ``title`` its title in text, ``text`` renders a cell for people. ``listed`` is the
    key that CSV shows of a list of objects. Text has ``detail`` columns with --verbose only.
    """

    name: str
    title: str = ""
    text: Callable[[Any], str] = str
    right: bool = False
    listed: str = ""
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


def _csv_field(value: Cell, listed: str = "") -> str:
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
    return guarded(
        value if isinstance(value, str) else " ".join(item if isinstance(item, str) else item[listed] for item in value)
    )


def _table(columns: Sequence[Column], rows: Sequence[Row], *, coloured: bool) -> str:
    """Return the rows as text. On a terminal it fits the width and has colours; columns without any text are left out."""
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

    With ``coloured``, verdicts and states have colours where standard output has them; only :func:`echo_rendered` prints such
    a text as it is.
    """
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
