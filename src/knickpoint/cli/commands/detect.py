"""``knick detect``: find steps in series from a file or a pipe, without an instance."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knickpoint.cli.options import read_pairs
from knickpoint.cli.output import Column, OutputFormat, format_option, percent, show
from knickpoint.cli.series import NamedSeries, read_series
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.model.step import Step

__all__ = ["command"]


def _short(value: float) -> str:
    return f"{value:.6g}"


_COLUMNS = (
    Column("id", "series"),
    Column("index", right=True, text=str),
    Column("pos", right=True),
    Column("previous", right=True),
    Column("movement"),
    Column("before_mean", "before", _short, right=True),
    Column("after_mean", "after", _short, right=True),
    Column("relative_size", "change", percent, right=True),
    Column("score", text=_short, right=True),
    Column("p_value", "p", lambda p: "–" if p is None else f"{p:.2g}", right=True),
)

_DETAILS = (
    *(Column(name) for name in ("size", "hazard", "order", "method")),
    *(
        Column(f"{side}_{name}")
        for side in ("before", "after")
        for name in ("first", "last", "count", "minimum", "maximum", "median", "variance")
    ),
)


def _row(series: NamedSeries, step: Step) -> dict[str, Any]:
    regions = {
        f"{side}_{name}": getattr(region, name)
        for side, region in (("before", step.before), ("after", step.after))
        for name in ("first", "last", "count", "minimum", "maximum", "median", "mean", "variance")
    }
    return {
        "id": series.id,
        "index": step.index,
        "pos": series.positions[step.index],
        "previous": step.previous,
        "movement": step.movement.value,
        "size": step.size,
        "relative_size": step.relative_size,
        "hazard": step.hazard,
        "score": step.score,
        "p_value": step.p_value,
        "order": step.order,
        "method": step.method,
        **regions,
    }


def _read(file: str) -> tuple[str, str]:
    name = "standard input" if file == "-" else file
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return content.decode("utf-8"), name
    except OSError as error:
        raise InputError(
            f"it cannot be read: {error.strerror}", where=name, remedy="Give a CSV file, or - for standard input."
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(
            "this is not text in UTF-8", where=f"{name}, byte {error.start}", remedy="Give CSV in UTF-8."
        ) from None


def _clusters(series: list[NamedSeries], parameters: dict[str, str], output: OutputFormat) -> None:
    from knickpoint.cli.commands.detect_clusters import show_clusters

    show_clusters(series, parameters, output)


def _commits(series: NamedSeries) -> tuple[int, ...]:
    """Number the positions: rows of one position are samples of one commit."""
    numbers: dict[str, int] = {}
    return tuple(numbers.setdefault(position, len(numbers)) for position in series.positions)


@click.command("detect")
@click.argument("file", default="-")
@click.option("--method", "-m", default="default", show_default=True, help="The detection method.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the method; repeatable.")
@click.option("--methods", "list_methods", is_flag=True, help="List the methods with their parameters and presets.")
@format_option
def command(file: str, method: str, settings: tuple[str, ...], *, list_methods: bool, output: OutputFormat) -> None:
    """Find the steps of the series in FILE, or on standard input where it is - or not given.

    FILE is CSV: one column of values; id,pos,value; or one column a series with an optional column pos.
    An empty value is missing. A step lies at `index`, counted from 0 in rows sorted by `pos`.
    """
    if list_methods:
        _show_methods(output)
        return
    parameters = read_pairs(settings, "--set")
    series = read_series(*_read(file))
    if method.replace("-", "_") == "cluster":
        _clusters(series, parameters, output)
        return
    from knickpoint.detect import find_steps
    from knickpoint.model.errors import SeriesError

    by_position = parameters.get("commits") == "pos"
    rows: list[dict[str, Any]] = []
    for one in series:
        given = {**parameters, "commits": _commits(one)} if by_position else parameters
        try:
            steps = find_steps(one.values, method=method, **given)
        except SeriesError as error:
            where = f"series {one.id!r}, {error.where}" if error.where else f"series {one.id!r}"
            raise SeriesError(error.message, where=where, remedy=error.remedy) from error
        rows.extend(_row(one, step) for step in steps)
    columns = _COLUMNS if output is OutputFormat.TEXT else _COLUMNS + _DETAILS
    show(columns, rows, output, empty="No steps.")


def _show_methods(output: OutputFormat) -> None:
    from knickpoint.detect import METHODS, parameters_of, presets_of

    rows = [
        {
            "method": name,
            "parameters": [f"{key}={value}" for key, value in parameters_of(name).items()],
            "presets": list(presets_of(name)),
        }
        for name in METHODS
    ]
    columns = (Column("method"), Column("parameters", text=" ".join), Column("presets", text=" ".join))
    show(columns, rows, output)
