"""Turn the samples of each commit into one number that says how they are distributed: a percentile, the least, the largest.

The level of samples may stay while their slowest hundredth gets slower. A percentile of too few samples is only their largest one,
so a run with fewer than :attr:`~knickpoint.model.summary.Summary.fewest` has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from knickpoint.detect.samples.commit_values import CommitValues
from knickpoint.detect.samples.noise_components import by_size
from knickpoint.detect.samples.sample_sets import RunTable, Samples, check_samples
from knickpoint.model.errors import SeriesError
from knickpoint.model.plain_text import counted
from knickpoint.model.summary import Summary, read_summary

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["needs_text", "short_text", "summarise", "summarise_runs", "summary_of"]

_MORE_SAMPLES: Final = "Measure more often in each run, or choose a percentile nearer to the median."
"""What to do where a summary needs more samples."""


def summarise(samples: Samples, summary: str, values: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return the ``summary`` of the samples of each commit, such as `p99`: one value a commit, for every method.

    ``samples`` has an entry for each commit: an array of the samples of its run, or a list of arrays, one for each run, whose
    summaries then count by their median. ``values`` are those of commits without samples. A commit whose runs all
    have too few samples is ``nan``.

    Raises:
        InputError: there is no such summary.
        SeriesError: no run has enough samples for it, or the samples are not those of a series.
    """
    wanted = read_summary(summary)
    table = check_samples(samples, values)
    found = summarise_runs(table, wanted).values
    if table.sizes.size and np.isnan(found).all():
        raise SeriesError(short_text(wanted, int(table.sizes.max())), remedy=_MORE_SAMPLES)
    return found


def summarise_runs(table: RunTable, summary: Summary) -> CommitValues:
    """Return the ``summary`` of the samples of each commit; the median of those of its runs, where it has several.

    Runs with too few samples do not count.
    """
    counts = np.zeros(table.length, dtype=np.int64)
    np.add.at(counts, table.commits, table.sizes)
    of_runs = np.full(table.sizes.size, np.nan)
    for size, runs, block in by_size(table.sizes, table.samples):
        if size >= summary.fewest:
            of_runs[runs] = np.quantile(block, summary.share, axis=1)
    enough = ~np.isnan(of_runs)
    of_runs, commits = of_runs[enough], table.commits[enough]

    # Most commits have one run.
    values = np.full(table.length, np.nan)
    values[commits] = of_runs
    ends = np.flatnonzero(np.diff(commits, append=-1))
    for end, several in zip(ends.tolist(), np.diff(ends, prepend=-1).tolist(), strict=True):
        if several > 1:
            values[commits[end]] = np.median(of_runs[end + 1 - several : end + 1])
    facts = {
        "samples": float(counts.sum()),
        f"samples of a run that {summary} needs": float(summary.fewest),
        f"commits with too few samples for {summary}": float(np.count_nonzero((counts > 0) & np.isnan(values))),
    }
    return CommitValues(values, counts, np.full(table.length, np.nan), facts)


def summary_of(samples: NDArray[np.float64], summary: Summary) -> float:
    """Return the ``summary`` of the samples of one run (1-D, finite), nan where they are too few."""
    return float(np.quantile(samples, summary.share)) if samples.size >= summary.fewest else float("nan")


def needs_text(summary: Summary) -> str:
    """Return how many samples of a run ``summary`` needs, in words."""
    return f"{summary} needs {counted(summary.fewest, 'sample')} of a run"


def short_text(summary: Summary, most: int) -> str:
    """Return that ``summary`` needs more samples of a run than the ``most`` there are, in words."""
    return f"{needs_text(summary)}, and there are at most {most:,}"
