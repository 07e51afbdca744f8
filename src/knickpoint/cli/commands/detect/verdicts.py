"""Judge the newest values of each series by those before, for ``knick detect --newest``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from knickpoint.cli.exit_codes import NO_DATA
from knickpoint.cli.output import Column, OutputFormat, Row, percent, show
from knickpoint.formats.series import NamedSeries
from knickpoint.model.step import Verdict

_COLUMNS = (
    Column("id", "series"),
    Column("index", text=lambda index: "–" if index is None else str(index), right=True),
    Column("pos", text=lambda position: "–" if position is None else position, right=True),
    Column("verdict"),
    Column("relative_size", "change", percent, right=True),
    Column("detectable_relative", "detectable", lambda size: percent(size).lstrip("+"), right=True),
    Column("samples", right=True),
    Column("reason"),
)
_DETAILS = tuple(Column(name) for name in ("conditional", "level", "centre", "low", "high", "detectable", "p_value"))


def _row(series: NamedSeries, newest: int, arguments: dict[str, Any]) -> Row:
    from knickpoint.detect import judge

    first = max(series.values.size - newest, 0)
    judgement = judge(series.values[:first], series.values[first:], **arguments)
    names = (*(column.name for column in _COLUMNS[4:]), *(column.name for column in _DETAILS))
    return {
        "id": series.id,
        "index": first if series.positions else None,
        "pos": series.positions[first] if series.positions else None,
        "verdict": judgement.verdict.value,
        **{name: getattr(judgement, name) for name in names},
    }


def show_verdicts(series: Sequence[NamedSeries], newest: int, parameters: dict[str, str], output: OutputFormat) -> None:
    """Print the verdict on the last ``newest`` rows of each series; ``parameters`` are those of ``judge``.

    Raises:
        click.exceptions.Exit: there is no verdict on any series.
    """
    from knickpoint.detect import judge
    from knickpoint.detect.method import resolve

    arguments = resolve(judge, "judge", {}, parameters)
    columns = _COLUMNS if output is OutputFormat.TEXT else _COLUMNS + _DETAILS
    rows = [_row(each, newest, arguments) for each in series]
    show(columns, rows, output)
    if all(row["verdict"] == Verdict.NO_DATA.value for row in rows):
        raise click.exceptions.Exit(NO_DATA)
