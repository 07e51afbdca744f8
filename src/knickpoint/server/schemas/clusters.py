"""The clusters of a change: traces that an alert judged together."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.cluster import MemberState
from knickpoint.model.step import Movement
from knickpoint.server.schemas.base import Answer, ChangeId, ChangePointId, ClusterId, FiniteOrNull
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.explanations import CheckAnswer

__all__ = ["ClusterAnswer", "ClusterMemberAnswer", "ClustersAnswer", "SharedParamAnswer"]


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
    others: int = Field(description="Number of traces of the group that are no members.")
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
