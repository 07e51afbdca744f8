"""The traces of a change, broken down by their params."""

from __future__ import annotations

from pydantic import Field

from knickpoint.server.schemas.base import Answer, ChangeId

__all__ = ["BreakdownAnswer", "ParamBreakdownAnswer", "ValueShareAnswer"]


class ValueShareAnswer(Answer):
    """A value of a param among the traces of a change or a cluster, and among those that they are compared with."""

    value: str = Field(description="Empty for traces without the param.")
    members: int = Field(description="Its traces that have it.")
    traces: int = Field(description="Traces of the repository, or all clustered ones, that have it.")


class ParamBreakdownAnswer(Answer):
    """How often the traces of a change or a cluster have each value of a param."""

    name: str
    distance: float = Field(
        description="Total variation distance to the distribution among all traces: 0 where both are equal, at most 1."
    )
    even: bool = Field(description="Whether the distance is no more than chance explains.")
    distinct: int = Field(description="Number of values, those included that are not listed.")
    values: list[ValueShareAnswer] = Field(description="At most 20, the one that most of its traces have first.")


class BreakdownAnswer(Answer):
    """What the traces of a change have in common, and in what they differ from the other traces."""

    change: ChangeId
    members: int = Field(description="Traces of the change that are not gone.")
    traces: int = Field(description="Traces of the repository.")
    params: list[ParamBreakdownAnswer] = Field(
        description="The one that says most about the traces first, without those of which all traces have one value."
    )
