"""Clusters: those of a change, and those of traces that a person clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer, ChangeId, ChangePointId, ClusterId, FiniteOrNull
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.explanations import CheckAnswer
from knickpoint.answers.traces import ParamBreakdownAnswer, param_answer
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.model.cluster import KeptCluster, KeptMember, MemberState
from knickpoint.model.commit import Commit, Line
from knickpoint.model.query import parse_query
from knickpoint.model.step import Movement
from knickpoint.watch.lines import Lines
from knickpoint.watch.trace_clustering import ClusteredTraces, ClusteringRules, cluster_traces

# The clusters of a change: traces that an alert judged together.


class SharedParamAnswer(Answer):
    """A param that at least nine of ten members have."""

    name: str
    value: str
    members: int = Field(description="Number of members that have it.")
    others: int = Field(description="Number of other traces of the group that have it.")


class ClusterMemberAnswer(Answer):
    """A trace that was judged for a cluster, and why it belongs or does not."""

    trace: int
    key: str
    state: MemberState
    rank: int = Field(description="Place by distance to the centroid, 1 for the nearest, in each state by itself.")
    distance: FiniteOrNull = Field(description="Euclidean distance of its normalised values to the centroid.")
    joined: bool = Field(description="Whether it became a member after the cluster was found.")
    run: int = Field(description="Run of the alerts since which it is in this state.")
    since: datetime | None
    finding: ChangePointId | None = Field(description="Id of its change point.")
    size: FiniteOrNull = Field(description="Median of its values after the step less the median before.")
    relative_size: FiniteOrNull
    p_value: FiniteOrNull
    reason: str = Field(description="Why it does not belong; empty for a member.")
    checks: list[CheckAnswer]


class ClusterAnswer(Answer):
    """Traces that moved together, as an alert keeps them from run to run."""

    id: ClusterId
    alert: str
    group: list[str] = Field(description="Values of the params that the alert groups by.")
    commit: CommitAnswer
    movement: Movement
    regression: FiniteOrNull = Field(description="Step size / error of the fit of the centroid.")
    centroid: list[FiniteOrNull] = Field(description="Mean of the normalised members, in standard deviations.")
    positions: list[int | None] = Field(description="Positions of the values of the centroid on the line.")
    shared: list[SharedParamAnswer] = Field(description="What members have in common, what others have least first.")
    others: int = Field(description="Number of traces of the group that are not members.")
    run: int = Field(description="Run that found the cluster.")
    found: datetime | None
    counts: dict[MemberState, int]
    members: list[ClusterMemberAnswer] = Field(
        description="Members, then traces that were left out, then former members, each nearest to the centroid first."
    )


class ClustersAnswer(Answer):
    """The clusters that have members in a change."""

    change: ChangeId
    clusters: list[ClusterAnswer]


# Build the answer about the clusters of a change.


def list_clusters(visible: VisibleRepositories, change: int, *, most: int | None = None) -> ClustersAnswer:
    """List the clusters that have members in a change, by id; ``most`` limits the traces of each state.

    Raises:
        UnknownError: there is no such change.
    """
    repository = visible.of_change(change)
    lines = Lines(visible.store, repository)
    found = visible.store.findings.clusters.of_change(change)
    slots = sorted({each.suspect_range.slot for each in found})
    commits = {each.slot: each.commit for each in visible.store.commits.get(repository, slots)}
    answers = []
    for each in found:
        line = lines.line(each.suspect_range.line)
        slot = each.suspect_range.slot
        answers.append(_cluster_answer(each, line, commit_answer(commits[slot], line.positions.get(slot)), most))
    return ClustersAnswer(change=change, clusters=answers)


def _cluster_answer(kept: KeptCluster, line: Line, commit: CommitAnswer, most: int | None) -> ClusterAnswer:
    counts = Counter(each.state for each in kept.members)
    return ClusterAnswer.of(
        kept,
        commit=commit,
        movement=Movement.of(kept.movement),
        positions=[line.positions.get(slot) for slot in kept.slots],
        counts={state: counts[state] for state in MemberState},
        members=[_member_answer(each) for each in kept.members if most is None or each.rank <= most],
    )


def _member_answer(kept: KeptMember) -> ClusterMemberAnswer:
    former = kept.state is MemberState.FORMER
    return ClusterMemberAnswer.of(
        kept,
        kept.verdict,
        trace=kept.trace_id,
        finding=kept.point_id or None,
        reason="it was a member in an earlier run" if former else kept.verdict.reason,
    )


# Traces that a person clusters.


class ClusteredTraceAnswer(Answer):
    """A trace of a cluster."""

    id: int
    key: str
    distance: float = Field(description="Euclidean distance of its normalised values to the centroid.")


class FoundClusterAnswer(Answer):
    """Traces of one shape."""

    traces: int
    best: list[ClusteredTraceAnswer] = Field(description="The 20 nearest to the centroid, the nearest first.")
    ids: list[int] = Field(description="The 1,000 nearest to the centroid, the nearest first.")
    centroid: list[FiniteOrNull] = Field(description="Mean of the normalised traces, in standard deviations.")
    regression: FiniteOrNull = Field(description="Step size / error of the fit; above 0 where the level goes up.")
    interesting: bool = Field(description="Whether the step counts.")
    commit: CommitAnswer | None = Field(description="The first commit at the new level; null without a step.")
    params: list[ParamBreakdownAnswer] = Field(
        description="What its traces have in common, against all clustered ones; what says most about them first."
    )


class ClusteringAnswer(Answer):
    """The clusters of the traces of a query over a stretch of commits, the strongest step first."""

    repository: str
    line: str
    query: str
    selected: int = Field(description="Traces of the query.")
    left_out: int = Field(description="Traces with too few values, which belong to no cluster.")
    positions: list[int] = Field(description="Positions of the values of the centroids on the line.")
    clusters: list[FoundClusterAnswer]


# Build the answer about traces that a person clusters.


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
        clusters=[_clustered_answer(each, line, commits) for each in found.clusters],
    )


def _clustered_answer(found: ClusteredTraces, line: Line, commits: Mapping[int, Commit]) -> FoundClusterAnswer:
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
