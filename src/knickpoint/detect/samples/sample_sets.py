"""Check the samples that a caller gives, one set a commit, of one run or of several, and put them in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.measured_series import check_series, refuse_data_frame
from knickpoint.model.errors import SeriesError

__all__ = ["RunTable", "Samples", "check_samples"]

Samples = Sequence[Any] | NDArray[np.float64]
"""An entry for each commit: the samples of its run, 1-D, or a list of such arrays, one for each run."""

Runs = list[NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class RunTable:
    """The runs of one series of ``length`` commits, those without samples left out.

    Attributes:
        length: number of commits.
        commits: the commit of each run, ascending.
        sizes: number of samples of each run, at least 1.
        samples: all samples in a row, run by run; finite.
    """

    length: int
    commits: NDArray[np.int64]
    sizes: NDArray[np.int64]
    samples: NDArray[np.float64]


def check_samples(samples: Samples, values: ArrayLike | None) -> RunTable:
    """Return the runs of each commit, without missing samples and without runs that have none.

    A commit without samples has its value in ``values`` as its only sample.

    Raises:
        SeriesError: samples are not finite or missing numbers, or there are not as many sets as values.
    """
    refuse_data_frame(samples, "Give list(frame.to_numpy()) if each row has the samples of a commit.")
    found = [_runs(item, number) for number, item in enumerate(samples)]
    if values is None:
        return _in_a_row(found)
    series = check_series(values)
    if series.size != len(found):
        raise SeriesError(
            f"there are {series.size} values and samples of {len(found)} commits",
            remedy="Give one array of samples for each value, an empty one where there are none.",
        )
    alone = [[] if np.isnan(value) else [np.array([value])] for value in series]
    return _in_a_row([runs or single for runs, single in zip(found, alone, strict=True)])


def _in_a_row(runs_of: Sequence[Runs]) -> RunTable:
    commits = np.repeat(np.arange(len(runs_of), dtype=np.int64), [len(runs) for runs in runs_of])
    every = [run for runs in runs_of for run in runs]
    sizes = np.array([run.size for run in every], dtype=np.int64)
    return RunTable(len(runs_of), commits, sizes, np.concatenate([np.empty(0), *every]))


def _runs(item: Any, commit: int) -> Runs:
    """Return the runs of one commit."""
    if getattr(item, "ndim", 1) == 0 or not hasattr(item, "__len__"):
        raise SeriesError(
            f"the samples are {item!r}", where=f"commit {commit}", remedy="Give an array of samples for each commit."
        )
    several = np.ndim(next(iter(item))) > 0 if len(item) else False
    try:
        arrays = [check_series(run) for run in (item if several else [item])]
    except SeriesError as error:
        where = f"commit {commit}, {error.where}" if error.where else f"commit {commit}"
        raise SeriesError(error.message, where=where, remedy=error.remedy) from error
    measured = (run[~np.isnan(run)] for run in arrays)
    return [run for run in measured if run.size]
