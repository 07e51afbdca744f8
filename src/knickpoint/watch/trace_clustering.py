"""Cluster the traces that a person chose over a stretch of commits: shapes, the step of each, what its traces share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.budget import check_time
from knickpoint.detect import find_clusters
from knickpoint.model.cluster import Cluster
from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Frame
from knickpoint.model.params import ParamBreakdown, break_down
from knickpoint.progress import Stage, report_progress
from knickpoint.store import Store

MOST_VALUES: Final = 5_000_000
"""Values, traces x commits, that are clustered at once: a second or two on two cores, and 20 MB."""


_STARTS: Final = 8
"""Starts of k-means, where so many times the values are no more than :data:`MOST_VALUES`."""


@dataclass(frozen=True, slots=True)
class ClusteringRules:
    """How traces are clustered: as the method ``cluster``, whose guide page says what the numbers mean.

    ``k`` is the number of clusters to look for, 0 to choose it by the number of traces, and ``interesting`` the
    smallest step / error of a centroid that counts, None for the default. ``skia`` starts, stops and fits as Skia Perf
    does.
    """

    k: int = 0
    interesting: float | None = None
    skia: bool = False

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of the method that differ from its defaults."""
        given: dict[str, Any] = {"k": self.k}
        if self.interesting is not None:
            given["interesting"] = self.interesting
        return given | {"preset": "skia"} if self.skia else given


@dataclass(frozen=True, slots=True)
class ClusteredTraces:
    """A cluster, the ids of its members, nearest to the centroid first, and what they have in common.

    ``position`` is that of the commit at which its step begins, None without a step.
    """

    cluster: Cluster
    ids: tuple[int, ...]
    position: int | None
    breakdown: tuple[ParamBreakdown, ...]


@dataclass(frozen=True, slots=True)
class Clustering:
    """The clusters, the strongest step first.

    The ``positions`` of their commits, and how many traces belong to none.
    """

    clusters: tuple[ClusteredTraces, ...]
    positions: tuple[int, ...]
    left_out: int


def cluster_traces(
    store: Store,
    line: Line,
    ids: NDArray[np.int64],
    facets: Mapping[str, Mapping[str, int]],
    rules: ClusteringRules,
    *,
    first: int = 0,
    last: int | None = None,
    measured: int | None = None,
) -> Clustering:
    """Cluster traces by their values at the positions ``first … last`` of ``line``, both inclusive.

    ``measured`` keeps the newest so many commits with a value. ``facets`` count the traces ``ids`` by param and value.
    The same values give the same clusters.

    Raises:
        InputError: there are too many values, a position is beyond the line, or a rule is out of its range.
        AbandonedError: the request that it works for was abandoned.
    """
    if not line.slots or not ids.size:
        return Clustering((), (), 0)
    end = len(line.slots) - 1 if last is None else last
    if not 0 <= first < end < len(line.slots):
        raise InputError(
            f"the positions {first} to {end} are not a range of the line {line.name!r}",
            where="first",
            remedy=f"The line has the positions 0 to {len(line.slots) - 1}; give two of them, the first one first.",
        )
    commits = min(measured or len(line.slots), end - first + 1)
    if ids.size * commits > MOST_VALUES:
        raise InputError(
            f"{ids.size:,} traces x {commits:,} commits are {ids.size * commits:,} values",
            where="query",
            remedy=f"Select fewer traces or commits, at most {MOST_VALUES:,} values.",
        )
    report_progress(Stage.READING)
    frame = store.frames.read(line, ids, first=first, last=last, measured=measured)
    positions = tuple(line.positions[slot] for slot in frame.slots.tolist())
    found = _best_of(frame, rules, starts=max(1, min(_STARTS, MOST_VALUES // max(frame.values.size, 1))))
    clusters = [_clustered(each, ids, facets, positions) for each in found]
    return Clustering(tuple(clusters), positions, int(ids.size) - sum(each.size for each in found))


def _best_of(frame: Frame, rules: ClusteringRules, *, starts: int) -> list[Cluster]:
    """Return the clusters of the start with the least squared distance to the centroids, the first one of equals.

    k-means ends where no trace is nearer to another centroid, which may be a poor grouping when there are few clusters.
    """
    found = []
    for seed in range(starts):
        check_time()  # a person may have cancelled
        report_progress(Stage.GROUPING, start=seed + 1, starts=starts, iteration=0)
        found.append(find_clusters(frame, None, seed=seed, **rules.parameters))
    return min(found, key=lambda clusters: sum(float(np.square(each.distances).sum()) for each in clusters))


def _clustered(
    cluster: Cluster, ids: NDArray[np.int64], facets: Mapping[str, Mapping[str, int]], positions: Sequence[int]
) -> ClusteredTraces:
    return ClusteredTraces(
        cluster,
        tuple(ids[list(cluster.members)].tolist()),
        positions[cluster.step.index] if cluster.step else None,
        break_down(cluster.keys, facets, int(ids.size)),
    )
