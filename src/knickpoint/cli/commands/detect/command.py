"""The command ``knick detect``: read series, choose what to do with them, and print it.

``series`` prepares the series of a file; ``steps`` detects, and prints steps or, for ``--explain``, all candidates.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from knickpoint.cli.commands.detect.series import ROWS, by_commit, summarised
from knickpoint.cli.commands.detect.steps import show_clusters, show_explanations, show_steps
from knickpoint.cli.exit_codes import NO_DATA
from knickpoint.cli.options import read_pairs
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, percent, show
from knickpoint.formats.series import NamedSeries, read_series
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.model.errors import InputError
from knickpoint.model.step import Verdict
from knickpoint.model.summary import read_summary

# Judge the newest values of each series by those before, for ``knick detect --newest``.


_VERDICT_COLUMNS = (
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
    names = (*(column.name for column in _VERDICT_COLUMNS[4:]), *(column.name for column in _DETAILS))
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
    columns = _VERDICT_COLUMNS if output is OutputFormat.TEXT else _VERDICT_COLUMNS + _DETAILS
    rows = [_row(each, newest, arguments) for each in series]
    show(columns, rows, output)
    if all(row["verdict"] == Verdict.NO_DATA.value for row in rows):
        raise click.exceptions.Exit(NO_DATA)


# List the detection methods, for ``knick detect --methods``.


RESERVED: Final = frozenset({"frame", "keys", "method", "samples", "threads", "values"})
"""Arguments of methods that are not settings of the user."""


def show_methods(output: OutputFormat) -> None:
    """Print the methods with their parameters and presets."""
    from knickpoint.detect import METHODS

    rows = [
        {
            "method": name,
            "parameters": [f"{key}={value}" for key, value in method.parameters.items() if key not in RESERVED],
            "presets": list(method.presets),
        }
        for name, method in METHODS.items()
    ]
    columns = (Column("method"), Column("parameters", text=" ".join), Column("presets", text=" ".join))
    show(columns, rows, output)


_KINDS: Final = (
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PAR1", "Parquet"),
)
"""What files begin with that are often given instead of CSV."""


def _check_kind(content: bytes, name: str) -> None:
    """Refuse what is not CSV by its own name."""
    start = content[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
    kind = next((kind for magic, kind in _KINDS if start.startswith(magic)), "")
    if kind:
        raise InputError(
            f"this is {kind}, not CSV",
            where=name,
            remedy="Write CSV, such as id,pos,value; results files of tools are for knick import and knick check.",
        )


def _read_content(file: str) -> FileContent:
    """Return the content of FILE, with its name for messages."""
    name = "standard input" if file == "-" else file
    if file == "-" and sys.stdin.isatty():
        click.echo("knick: reading values from the terminal, one per line; end with Ctrl-D", err=True)
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InputError(
            f"it cannot be read: {error.strerror}", where=name, remedy="Give a CSV file, or - for standard input."
        ) from None
    _check_kind(content, name)
    return FileContent(content, name)


def _refuse_reserved(parameters: dict[str, str]) -> None:
    for name in parameters:
        if name in RESERVED:
            raise InputError(
                f"{name!r} is not a parameter of a method",
                where="--set",
                remedy="Choose the method with --method, and give the values in FILE or on standard input.",
            )


class _Once:
    """Print each warning once, on standard error."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, words: str) -> None:
        if words not in self._said:
            self._said.add(words)
            click.echo(f"knick: {words}", err=True)


@click.command("detect")
@click.argument("file", default="-")
@click.option("--method", "-m", default="default", show_default=True, help="The detection method.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the method; repeatable.")
@click.option("--methods", "list_methods", is_flag=True, help="List the methods with their parameters and presets.")
@click.option("--explain", "explained", is_flag=True, help="Explain each candidate: whether it is a step, and why.")
@click.option(
    "--newest",
    type=click.IntRange(min=1),
    metavar="N",
    help="Judge the last N rows against the earlier ones; --set then sets parameters of judge: better, alpha, "
    "minimum_effect…",
)
@click.option(
    "--summary",
    metavar="NAME",
    help="Judge this statistic of the samples of each `pos` instead of their level: min, median, max, or a percentile "
    "such as p99.",
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
    summary: str | None,
    output: OutputFormat,
) -> None:
    """Find the steps of the series in FILE, or on standard input if it is - or missing.

    FILE is CSV (with commas, ; or tabs, in UTF-8 or UTF-16): one column of values; id,pos,value; or one column a
    series with an optional column pos; columns of dates are not series. JSON is read, too: a list of objects with such
    members, one object a line, or the output of to_json of pandas with orient records, split or table. An empty value
    is missing. Rows with the same `pos`, or without it the same `commit`, are samples of one commit, and those with
    the same `run` are of one run. In place of `id` a column may be called `benchmark` or `name`. `index` is the first
    commit of the new level, counted from 0 in the order of `pos`. Without `pos`, rows are in the order of the file;
    they are refused if a column such as `date`, or the number of a commit or build, falls from row to row.
    """
    from knickpoint.detect import MethodKind, load_method

    if list_methods:
        show_methods(output)
        return

    parameters = read_pairs(settings, "--set")
    _refuse_reserved(parameters)
    kind = load_method(method).kind
    if explained and newest:
        raise InputError(
            "a verdict on the newest rows always includes its reason", where="--explain", remedy="Leave out --explain."
        )
    if explained and kind is MethodKind.GROUP:
        raise InputError("clusters are explained in JSON only", where="--explain", remedy="Give --format json instead.")
    if newest and method != "default":
        raise InputError(
            "the newest rows are judged by the default method", where="--newest", remedy="Leave out --method."
        )
    wanted = read_summary(summary) if summary else None
    series = read_series(_read_content(file), warn=_Once())
    if wanted:
        series = summarised(series, wanted)
    elif kind is MethodKind.SERIES and not newest and not ROWS.intersection(parameters):
        series = [by_commit(each) for each in series]
    if kind is MethodKind.GROUP:
        show_clusters(series, method, parameters, output)
    elif explained:
        show_explanations(series, method, parameters, output)
    elif newest:
        show_verdicts(series, newest, parameters, output)
    else:
        show_steps(series, method, parameters, output)
