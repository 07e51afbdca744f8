"""Traces, and the params that they consist of."""

from __future__ import annotations

from pydantic import Field

from knickpoint.model.unit import Better
from knickpoint.server.schemas.base import Answer, FiniteOrNull
from knickpoint.server.schemas.commits import CommitAnswer

__all__ = [
    "FacetAnswer",
    "FacetsAnswer",
    "MeasuredTraceAnswer",
    "TraceAnswer",
    "TracesAnswer",
    "ValueCountAnswer",
]


class TraceAnswer(Answer):
    """A trace: its params and its unit."""

    id: int
    repository: str
    key: str = Field(
        examples=[",benchmark=parse,os=linux,unit=ms,"], description="Its params and their values as one text."
    )
    params: dict[str, str] = Field(examples=[{"benchmark": "parse", "os": "linux", "unit": "ms"}])
    unit: str = Field(examples=["ms"])
    dimension: str = Field(examples=["time"], description="What is measured; units of one dimension convert.")
    better: Better = Field(description="Which values are better.")


class MeasuredTraceAnswer(TraceAnswer):
    """A trace, and what was measured of it on a line."""

    line: str
    values: int = Field(description="Number of commits with a value.")
    newest: FiniteOrNull = Field(description="The newest value, in the unit of the trace; null before the first.")
    commit: CommitAnswer | None = Field(description="The commit of the newest value.")


class TracesAnswer(Answer):
    """One page of the traces that match a query."""

    total: int
    offset: int
    traces: list[TraceAnswer]


class ValueCountAnswer(Answer):
    """A value of a param, and how many of the matching traces have it."""

    value: str
    count: int


class FacetAnswer(Answer):
    """A param, with the values that occur among the matching traces, most frequent first."""

    name: str
    distinct: int = Field(description="Number of distinct values; `values` may have fewer.")
    values: list[ValueCountAnswer]


class FacetsAnswer(Answer):
    """The params of the matching traces."""

    total: int = Field(description="Number of matching traces.")
    facets: list[FacetAnswer]
