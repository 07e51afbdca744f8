"""Traces that a person clusters."""

from __future__ import annotations

from pydantic import Field

from knickpoint.server.schemas.base import Answer, FiniteOrNull
from knickpoint.server.schemas.breakdowns import ParamBreakdownAnswer
from knickpoint.server.schemas.commits import CommitAnswer

__all__ = ["ClusteredTraceAnswer", "ClusteringAnswer", "FoundClusterAnswer"]


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
