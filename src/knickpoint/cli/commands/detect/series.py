"""The series of a file: aligned by position, samples joined, short ones named; and detection in all of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np
from numpy.typing import NDArray

from knickpoint.cli.exit_codes import NO_DATA
from knickpoint.cli.terminal import note
from knickpoint.formats.series import NamedSeries, is_number, position_keys
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from knickpoint.model.step import Detection
    from knickpoint.model.summary import Summary


# Align series by position into one frame, for methods that take several series.


def aligned(series: Sequence[NamedSeries]) -> tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """Return all positions in order, and the frame of the series over them; ``nan`` where a series has no row.

    Raises:
        InputError: a series has two rows with the same position, or positions are a mixture of numbers and dates.
    """
    texts = [position for each in series for position in each.positions]
    try:
        keys = position_keys(texts)
    except ValueError:
        raise InputError(
            "some series have numeric positions and others dates",
            remedy="Number the commits in pos, the same numbers for all series.",
        ) from None
    shown = dict(zip(reversed(keys), reversed(texts), strict=True))
    columns = {key: column for column, key in enumerate(sorted(shown))}
    frame = np.full((len(series), len(columns)), np.nan)
    first = 0
    for row, each in enumerate(series):
        row_keys = keys[first : first + len(each.positions)]
        first += len(row_keys)
        if len(set(row_keys)) < len(row_keys):
            raise InputError(
                "two rows have the same position",
                where=f"series {each.id!r}",
                remedy="Give one value per commit, because these series are judged together.",
            )
        frame[row, [columns[key] for key in row_keys]] = each.values
    return [shown[key] for key in sorted(shown)], frame


# Replace parameters that refer to the positions of a file: ``commits=pos``, ``times=pos``, ``releases=pos:…``.


_POSITIONS: Final = "pos"
_AT_POSITIONS: Final = "pos:"
_DAY_SECONDS: Final = 86_400.0

ROWS: Final = frozenset({"commits", "times", "releases"})
"""Parameters that speak about rows; rows of one position stay apart where one is given."""


def names_positions(parameters: Mapping[str, str]) -> bool:
    """Return True if a parameter refers to positions, so that it differs between series."""
    return _POSITIONS in {parameters.get("commits"), parameters.get("times")} or parameters.get(
        "releases", ""
    ).startswith(_AT_POSITIONS)


def _rows_of(series: NamedSeries, keys: list[float], texts: list[str]) -> tuple[int, ...]:
    """Return the last row at or before each release; without any, the newest row, which no value follows."""
    numbers = is_number(series.positions[0])
    if not all(texts) or any(is_number(text) is not numbers for text in texts):
        raise InputError(
            f"the releases are {', '.join(texts)}, but positions look like {series.positions[0]}",
            where=f"--set releases, series {series.id!r}",
            remedy="Give positions of the file with commas in between, such as releases=pos:120,180.",
        )
    try:
        releases = position_keys(texts)
    except ValueError as error:
        raise InputError(
            f"the releases are not positions ({error})",
            where="--set releases",
            remedy="Give numbers, or dates in ISO 8601, as in the column pos.",
        ) from None
    rows = [bisect_right(keys, release) - 1 for release in releases]
    return tuple(row for row in rows if row >= 0) or (len(keys) - 1,)


def in_rows(series: NamedSeries, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return ``parameters`` for the method, with references to positions replaced by rows, commits and times.

    ``series`` has at least one row. Rows with the same position are samples of one commit. Times are the positions,
    dates in days. A release is at the last row at or before its position.

    Raises:
        InputError: a release is not a position.
    """
    found: dict[str, Any] = dict(parameters)
    keys = position_keys(series.positions)
    if parameters.get("commits") == _POSITIONS:
        numbers: dict[float, int] = {}
        found["commits"] = tuple(numbers.setdefault(key, len(numbers)) for key in keys)
    if parameters.get("times") == _POSITIONS:
        unit = 1.0 if is_number(series.positions[0]) else _DAY_SECONDS
        found["times"] = tuple(key / unit for key in keys)
    releases = parameters.get("releases", "")
    if releases.startswith(_AT_POSITIONS):
        found["releases"] = _rows_of(series, keys, releases.removeprefix(_AT_POSITIONS).split(","))
    return found


# Join the rows of one position: they are the samples of one commit.


_MOST_NAMED: Final = 5
"""Series with too few samples that get a line each."""


def by_commit(series: NamedSeries) -> NamedSeries:
    """Return ``series`` with one row a position, and the samples of each; unchanged where no position is repeated.

    Rows of one position with the same run are samples of that run; without a column ``run`` all are of one run. The
    value of a position is the median of its samples.
    """
    keys = position_keys(series.positions)
    if len(set(keys)) == len(keys):
        return series
    return _joined(series, keys)


def summarised(series: Sequence[NamedSeries], summary: Summary) -> list[NamedSeries]:
    """Return each of ``series`` with the ``summary`` of its samples, and say on standard error which have too few.

    Raises:
        click.exceptions.Exit: no position of any of them has enough.
    """
    found = [_by_summary(each, summary) for each in series]
    lacking = [words for _, words in found if words]
    for words in lacking[:_MOST_NAMED]:
        click.echo(f"knick: {words}", err=True)
    if len(lacking) > _MOST_NAMED:
        click.echo(f"knick: {counted(len(lacking) - _MOST_NAMED, 'more series')} have too few samples", err=True)
    if lacking and all(np.isnan(each.values).all() for each, _ in found):
        raise click.exceptions.Exit(NO_DATA)
    return [each for each, _ in found]


def _by_summary(series: NamedSeries, summary: Summary) -> tuple[NamedSeries, str]:
    """Return ``series`` with one row a position, the ``summary`` of its samples, and what is missing for it, in words.

    The value of a position is missing where no run has enough samples. The words are "" where all have.
    """
    from knickpoint.detect.samples import check_samples, short_text, summarise_runs

    joined = _joined(series, position_keys(series.positions))
    if not joined.samples:
        return joined, ""
    sizes = [max((run.size for run in runs), default=0) for runs in joined.samples]
    values = summarise_runs(check_samples(joined.samples, None), summary).values
    short = sum(0 < size < summary.fewest for size in sizes)
    where = f"series {series.id!r}: " if series.id else ""
    words = f"{where}{short_text(summary, max(sizes))}; of {counted(len(sizes), 'position')}, {short:,} have too few"
    return replace(joined, values=values, samples=None), words if short else ""


def _joined(series: NamedSeries, keys: Sequence[float]) -> NamedSeries:
    groups = [list(rows) for _, rows in groupby(range(len(keys)), key=keys.__getitem__)]
    samples = tuple(_runs(series, rows) for rows in groups)
    levels = [np.concatenate(runs) for runs in samples]
    return replace(
        series,
        positions=tuple(series.positions[rows[0]] for rows in groups),
        values=np.array([np.median(level) if level.size else np.nan for level in levels]),
        runs=(),
        samples=samples,
    )


def _runs(series: NamedSeries, rows: list[int]) -> tuple[NDArray[np.float64], ...]:
    """Return the measured samples of each run among the ``rows`` of one position, the runs in their first order."""
    by_run: dict[str, list[int]] = {}
    for row in rows:
        by_run.setdefault(series.runs[row] if series.runs else "", []).append(row)
    samples = (series.values[chosen] for chosen in by_run.values())
    return tuple(run[~np.isnan(run)] for run in samples)


# Name series with too few values for a step, for ``knick detect``.


def end_if_too_short(series: Sequence[NamedSeries], method: str, parameters: Mapping[str, str]) -> None:
    """Print which series have too few values for ``method``, and end the command where that is all of them.

    Raises:
        click.exceptions.Exit: no series could be judged.
    """
    from knickpoint.detect import load_method

    named = {name: text for name, text in parameters.items() if not names_positions({name: text})}
    fewest = load_method(method).fewest_values(named)
    measured = [(each.id, int(np.count_nonzero(~np.isnan(each.values)))) for each in series]
    short = [(name, count) for name, count in measured if count < fewest]
    if len(short) < len(measured):
        for line in _lines(short, method, fewest):
            note(line, err=True)
        return
    for line in _lines(short, method, fewest):
        click.echo(f"knick: {line}", err=True)
    raise click.exceptions.Exit(NO_DATA)


def _lines(short: Sequence[tuple[str, int]], method: str, fewest: int) -> Iterator[str]:
    for name, count in short[:_MOST_NAMED]:
        which = f"series {name!r}" if name else "the series"
        yield f"{which} has too few values: {count}; the method {method} needs at least {fewest} to find a step"
    if len(short) > _MOST_NAMED:
        yield f"{counted(len(short) - _MOST_NAMED, 'more series has', 'more series have')} too few values"


def detect_together(
    series: Sequence[NamedSeries], method: str, parameters: Mapping[str, str]
) -> list[tuple[NamedSeries, Detection]]:
    """Return each series over the positions of all series, and the detection of ``method`` in it."""
    from knickpoint.detect import explain_jointly

    positions, frame = aligned(series)
    found = explain_jointly(frame, [each.id for each in series], method=method, **parameters)
    return [
        (NamedSeries(each.id, tuple(positions), values), detection)
        for each, values, detection in zip(series, frame, found, strict=True)
    ]
