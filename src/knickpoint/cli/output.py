"""Print rows as a text table, as JSON or as CSV, and the answers of the API as JSON or as CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

import click

from knickpoint.cli.colours import colours_allowed
from knickpoint.cli.tables import Table, layout
from knickpoint.cli.terminal import TerminalText, plain_json, without_control
from knickpoint.cli.verbosity import Verbosity, note, verbosity
from knickpoint.model.quantity_text import figure_text
from knickpoint.model.spreadsheet import guarded

if TYPE_CHECKING:
    from knickpoint.server.schemas.base import Answer

__all__ = [
    "Column",
    "OutputFormat",
    "Row",
    "echo_rendered",
    "format_option",
    "percent",
    "render",
    "show",
    "show_answer",
    "show_answers",
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

    The name of a field within a field is written with dots, such as ``trace.key``. CSV has a row an answer, or one for each
    item of the list ``rows_of`` of an answer.
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
