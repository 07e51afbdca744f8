"""Join the rows of one position: they are the samples of one commit."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from knickpoint.cli.commands.detect.series_csv import NamedSeries, position_keys

__all__ = ["by_commit"]


def by_commit(series: NamedSeries) -> NamedSeries:
    """Return ``series`` with one row a position, and the samples of each; unchanged where no position is repeated.

    Rows of one position with the same run are samples of that run; without a column ``run`` all are of one run. The
    value of a position is the median of its samples.
    """
    keys = position_keys(series.positions)
    if len(set(keys)) == len(keys):
        return series
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
