"""Judge the commits of a trace by the samples behind their points, where an alert asks for it and several are kept.

The stored point is the median of a commit's runs. Where runs have several samples, or a commit several runs, the value
that an alert with ``samples`` judges is made of all of them (:mod:`knickpoint.detect.samples`); points of one sample
stay as they are. One with a ``summary``, such as `p99`, judges that of each commit, and nothing where there are too few
samples for it. The reasons are in ``docs/decisions/new-values-and-samples.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.samples import CommitValues, RunTable, combine_runs, summarise_runs
from knickpoint.model.alert import Alert
from knickpoint.model.frame import Frame
from knickpoint.model.summary import Summary, read_summary
from knickpoint.store import PointSamples, Store

_DIGEST_BYTES: Final = 8
_BLOCK_BYTES: Final = 16 * 2**20
"""Memory of the points of a block whose samples are read with it: of a chunk of traces at 2,000 commits."""


def block_bytes(alert: Alert, usual: int) -> int:
    """Return the bytes of points to read at a time for ``alert``, ``usual`` ones if it judges them alone."""
    return min(usual, _BLOCK_BYTES) if alert.reads_samples else usual


def read_commit_values(store: Store, alert: Alert, frame: Frame) -> Mapping[int, CommitValues]:
    """Return the values that ``alert`` judges instead of the points, by row of ``frame``.

    A row without several samples at any commit is left out, unless the alert judges a summary, and all are where it
    judges points.
    """
    if not alert.reads_samples:
        return {}
    return _read(store, frame, read_summary(alert.summary) if alert.summary else None)


def read_summaries(store: Store, frame: Frame, summary: Summary) -> NDArray[np.float64]:
    """Return the ``summary`` of the samples of each point of ``frame``, nan where there are too few for it."""
    return np.asarray(with_commit_values(frame, _read(store, frame, summary)), dtype=np.float64)


def _read(store: Store, frame: Frame, summary: Summary | None) -> Mapping[int, CommitValues]:
    """Return the values of rows by their samples: their ``summary``, or their level where several are kept."""
    if not frame.columns:
        return {}
    ids = np.array([trace.id for trace in frame.traces], dtype=np.int64)
    found = store.samples.read(frame.line, ids, first=frame.first, last=frame.first + frame.columns - 1)
    bounds = np.searchsorted(found.rows, np.arange(len(ids) + 1))
    ends = np.concatenate([[0], np.cumsum(found.sizes)])
    values: dict[int, CommitValues] = {}
    for row in range(len(ids)) if summary else np.unique(found.rows).tolist():
        begin, stop = int(bounds[row]), int(bounds[row + 1])
        samples = found.samples[int(ends[begin]) : int(ends[stop])]
        table = _runs_of_row(frame.values[row], found, slice(begin, stop), samples)
        if summary:
            values[row] = summarise_runs(table, summary)
        elif table.samples.size > np.unique(table.commits).size:
            values[row] = combine_runs(table)
    return values


def _runs_of_row(
    points: NDArray[np.floating[Any]], found: PointSamples, entries: slice, samples: NDArray[np.float64]
) -> RunTable:
    """Return the runs of one row: the ``entries`` that are ``found`` for it, and its other points as single samples."""
    columns, sizes = found.columns[entries], found.sizes[entries]
    held = ~np.isnan(points)
    lone = held.copy()
    lone[columns] = False
    others = np.flatnonzero(lone)

    # A point that is no longer there has no samples either.
    counted = held[columns]
    each = np.repeat(counted, sizes)
    commits = np.concatenate([columns[counted], others])
    sizes = np.concatenate([sizes[counted], np.ones_like(others)])
    of_samples = np.repeat(commits, sizes)
    samples = np.concatenate([samples[each], points[others].astype(np.float64)])
    runs = np.argsort(commits, kind="stable")
    return RunTable(points.size, commits[runs], sizes[runs], samples[np.argsort(of_samples, kind="stable")])


def with_commit_values(frame: Frame, commits: Mapping[int, CommitValues]) -> NDArray[np.floating[Any]]:
    """Return the values of ``frame`` with those of ``commits``, by row, in the place of points."""
    if not commits:
        return frame.values
    values = frame.values.astype(np.float64)
    for row, found in commits.items():
        values[row] = found.values
    return values


def sample_digests(contents: NDArray[np.uint64], commits: Mapping[int, CommitValues]) -> NDArray[np.uint64]:
    """Return the digests ``contents`` of what rows hold, with what the samples of the rows in ``commits`` say."""
    found = contents.copy()
    for row, each in commits.items():
        digest = blake2b(contents[row].tobytes(), digest_size=_DIGEST_BYTES)
        for part in (each.values, each.errors, each.counts):
            digest.update(part.tobytes())
        found[row] = int.from_bytes(digest.digest(), "little")
    return found
