"""Join the rows of one position: they are the samples of one commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

import click
import numpy as np
from numpy.typing import NDArray

from knickpoint.cli.exit_codes import NO_DATA
from knickpoint.formats.series import NamedSeries, position_keys
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from knickpoint.model.summary import Summary

__all__ = ["by_commit", "summarised"]

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
    from knickpoint.detect.samples import short_text, summarise_runs
    from knickpoint.detect.samples.sample_sets import check_samples

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
