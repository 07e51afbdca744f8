"""``knick detect``: find steps in series from a file or a pipe, without an instance."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from knickpoint.cli.commands.detect.joint import detect_together
from knickpoint.cli.commands.detect.positions import in_rows, names_positions
from knickpoint.cli.commands.detect.series_csv import NamedSeries, read_series
from knickpoint.cli.options import read_pairs
from knickpoint.cli.output import Column, OutputFormat, format_option, percent, show
from knickpoint.cli.progress import Progress
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.model.step import Step

__all__ = ["command"]


_VALUES_AT_ONCE: Final = 1_000_000
"""How many values are judged at once: so many that every core is busy, and a second or two between signs of progress."""

_RESERVED = frozenset({"frame", "keys", "method", "threads", "values"})


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
    if file == "-" and sys.stdin.isatty():
        click.echo("knick: reading values from the terminal, one a line; end with Ctrl-D", err=True)
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


def _refuse_reserved(parameters: dict[str, str]) -> None:
    for name in parameters:
        if name in _RESERVED:
            raise InputError(
                f"{name!r} is not a parameter of a method",
                where="--set",
                remedy="Choose the method with --method, and give the values in FILE or on standard input.",
            )


def _one_by_one(series: list[NamedSeries], method: str, parameters: dict[str, str]) -> list[list[Step]]:
    """Return the steps of each series where its positions say a parameter."""
    from knickpoint.detect import find_steps

    found: list[list[Step]] = []
    with Progress("Looking at series") as progress:
        for one in series:
            found.append(find_steps(one.values, method=method, **in_rows(one, parameters)) if one.positions else [])
            progress(len(found), len(series))
    return found


def _detect(series: list[NamedSeries], method: str, parameters: dict[str, str]) -> list[list[Step]]:
    """Return the steps of each series; those of one length are judged together, on every core."""
    from knickpoint.detect import find_steps_many

    by_length: dict[int, list[int]] = {}
    for row, one in enumerate(series):
        by_length.setdefault(one.values.size, []).append(row)
    found: list[list[Step]] = [[] for _ in series]
    done = 0
    with Progress("Looking at series") as progress:
        for length, rows in by_length.items():
            most = max(1, _VALUES_AT_ONCE // max(1, length))
            for part in (rows[first : first + most] for first in range(0, len(rows), most)):
                frame = np.array([series[row].values for row in part])
                for row, steps in zip(part, find_steps_many(frame, method=method, **parameters), strict=True):  # type: ignore[arg-type]
                    found[row] = steps
                done += len(part)
                progress(done, len(series))
    return found


@click.command("detect")
@click.argument("file", default="-")
@click.option("--method", "-m", default="default", show_default=True, help="The detection method.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the method; repeatable.")
@click.option("--methods", "list_methods", is_flag=True, help="List the methods with their parameters and presets.")
@click.option("--explain", "explained", is_flag=True, help="Say what was decided at each place, and why.")
@click.option(
    "--newest",
    type=click.IntRange(min=1),
    metavar="N",
    help="Judge the last N rows by those before; --set then sets better, alpha, minimum_effect and what judge takes.",
)
@format_option
def command(
    *,
    file: str,
    method: str,
    settings: tuple[str, ...],
    list_methods: bool,
    explained: bool,
    newest: int | None,
    output: OutputFormat,
) -> None:
    """Find the steps of the series in FILE, or on standard input where it is - or not given.

    FILE is CSV: one column of values; id,pos,value; or one column a series with an optional column pos.
    An empty value is missing. A step lies at `index`, counted from 0 in rows sorted by `pos`.
    """
    if list_methods:
        _show_methods(output)
        return
    from knickpoint.detect import MethodKind, load_method

    parameters = read_pairs(settings, "--set")
    _refuse_reserved(parameters)
    kind = load_method(method).kind
    if explained and newest:
        raise InputError(
            "a verdict on the newest rows comes with its reason", where="--explain", remedy="Leave out --explain."
        )
    if explained and kind is MethodKind.GROUP:
        raise InputError(
            "clusters come with their evidence in JSON", where="--explain", remedy="Give --format json instead."
        )
    if newest and method != "default":
        raise InputError(
            "the newest rows are judged by the default method", where="--newest", remedy="Leave out --method."
        )
    series = read_series(*_read(file))
    if kind is MethodKind.GROUP:
        from knickpoint.cli.commands.detect.clusters import show_clusters

        show_clusters(series, method, parameters, output)
    elif explained:
        from knickpoint.cli.commands.detect.explanations import show_explanations

        show_explanations(series, method, parameters, output)
    elif newest:
        from knickpoint.cli.commands.detect.verdicts import show_verdicts

        show_verdicts(series, newest, parameters, output)
    else:
        _show_steps(series, method, parameters, output)


def _show_steps(series: list[NamedSeries], method: str, parameters: dict[str, str], output: OutputFormat) -> None:
    from knickpoint.detect import MethodKind, load_method

    if load_method(method).kind is MethodKind.JOINT:
        found = [(one, detection.steps) for one, detection in detect_together(series, method, parameters)]
    else:
        detect = _one_by_one if names_positions(parameters) else _detect
        found = [(one, tuple(steps)) for one, steps in zip(series, detect(series, method, parameters), strict=True)]
    rows = [_row(one, step) for one, steps in found for step in steps]
    columns = _COLUMNS if output is OutputFormat.TEXT else _COLUMNS + _DETAILS
    show(columns, rows, output, empty="No steps.")


def _show_methods(output: OutputFormat) -> None:
    from knickpoint.detect import METHODS

    rows = [
        {
            "method": name,
            "parameters": [f"{key}={value}" for key, value in known.parameters.items() if key not in _RESERVED],
            "presets": list(known.presets),
        }
        for name, known in METHODS.items()
    ]
    columns = (Column("method"), Column("parameters", text=" ".join), Column("presets", text=" ".join))
    show(columns, rows, output)
