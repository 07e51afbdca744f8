"""Shapes of traces, and of the params that they are made of."""

from __future__ import annotations

from pydantic import Field

from knickpoint.model.unit import Better
from knickpoint.server.schemas.base import Answer

__all__ = [
    "FacetAnswer",
    "FacetsAnswer",
    "TraceAnswer",
    "TracesAnswer",
    "ValueCountAnswer",
]


class TraceAnswer(Answer):
    """A trace: what names a series, and its unit."""

    id: int
    repository: str
    key: str
    params: dict[str, str]
    unit: str
    dimension: str
    better: Better


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
    distinct: int = Field(description="How many values there are; `values` may be cut.")
    values: list[ValueCountAnswer]


class FacetsAnswer(Answer):
    """What the matching traces are made of."""

    total: int = Field(description="Number of matching traces.")
    facets: list[FacetAnswer]
