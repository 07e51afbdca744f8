"""Read the smallest change that each of some traces could show with its next values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from knickpoint.model.change_point import Condition
from knickpoint.model.commit import Repository
from knickpoint.store import Store
from knickpoint.watch.quality.detectable_change import DetectableChange, detectable_change
from knickpoint.watch.quality.noisy_traces import NoisyTrace

__all__ = ["smallest_changes"]


def smallest_changes(
    store: Store, repositories: Sequence[Repository], traces: Sequence[NoisyTrace]
) -> dict[int, DetectableChange]:
    """Return the smallest change that each of ``traces`` could show on the default line, behind its newest finding, by id.

    Traces with fewer than four values there are left out.
    """
    found: dict[int, DetectableChange] = {}
    for repository in repositories:
        ids = sorted(each.trace_id for each in traces if each.repository_id == repository.id)
        if ids:
            found |= _in_repository(store, repository, ids)
    return found


def _in_repository(store: Store, repository: Repository, trace_ids: Sequence[int]) -> dict[int, DetectableChange]:
    line = store.commits.line(repository)
    points = store.findings.of_traces(trace_ids)
    found: dict[int, DetectableChange] = {}
    for key, row in zip(trace_ids, store.frames.values(line, trace_ids), strict=True):
        places = [
            line.positions.get(point.suspect_range.slot, 0)
            for point in points.get(key, ())
            if point.condition is not Condition.GONE
        ]
        values = np.asarray(row[max(places, default=0) :], dtype=np.float64)
        change = detectable_change(values[~np.isnan(values)])
        if change is not None:
            found[key] = change
    return found
