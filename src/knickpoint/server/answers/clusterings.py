"""Build the answer about traces that a person clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from knickpoint.model.commit import Commit, Line
from knickpoint.model.query import parse_query
from knickpoint.server.answers.breakdowns import param_answer
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.schemas.clusterings import ClusteredTraceAnswer, ClusteringAnswer, FoundClusterAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.watch.trace_clustering import ClusteredTraces, ClusteringRules, cluster_traces

__all__ = ["ClusteringRequest", "cluster_query"]

_BEST: Final = 20
_MOST_IDS: Final = 1_000


@dataclass(frozen=True, slots=True)
class ClusteringRequest:
    """The traces of a query, a stretch of a line (positions, both inclusive), and how they are clustered."""

    repository: str
    line: str
    query: str
    first: int
    last: int | None
    commits: int
    rules: ClusteringRules


def cluster_query(visible: VisibleRepositories, wanted: ClusteringRequest) -> ClusteringAnswer:
    """Cluster the traces of a query.

    Raises:
        HistoryError: there is no such repository or line.
        QueryError: the query cannot be read.
        InputError: there are too many values, or a position is beyond the line.
    """
    store = visible.store
    line = visible.line(wanted.repository, wanted.line)
    query = parse_query(wanted.query)
    ids = store.traces.select(line.repository, query)
    found = cluster_traces(
        store,
        line,
        ids,
        store.traces.facets(line.repository, query),
        wanted.rules,
        first=wanted.first,
        last=wanted.last,
        measured=wanted.commits,
    )
    slots = sorted({line.slots[each.position] for each in found.clusters if each.position is not None})
    commits = {each.slot: each.commit for each in store.commits.get(line.repository, slots)}
    return ClusteringAnswer(
        repository=line.repository.name,
        line=line.name,
        query=wanted.query,
        selected=len(ids),
        left_out=found.left_out,
        positions=list(found.positions),
        clusters=[_cluster_answer(each, line, commits) for each in found.clusters],
    )


def _cluster_answer(found: ClusteredTraces, line: Line, commits: Mapping[int, Commit]) -> FoundClusterAnswer:
    cluster, position = found.cluster, found.position
    best = list(zip(found.ids, cluster.keys, cluster.distances, strict=True))[:_BEST]
    return FoundClusterAnswer(
        traces=cluster.size,
        best=[ClusteredTraceAnswer(id=key, key=name, distance=distance) for key, name, distance in best],
        ids=list(found.ids[:_MOST_IDS]),
        centroid=cluster.centroid.tolist(),
        regression=cluster.regression,
        interesting=cluster.interesting,
        commit=None if position is None else commit_answer(commits[line.slots[position]], position),
        params=[param_answer(each) for each in found.breakdown],
    )
