"""Traces and their params, and the traces of a change broken down by param."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer, ChangeId, FiniteOrNull
from knickpoint.answers.commits import CommitAnswer
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.model.commit import Repository
from knickpoint.model.frame import Trace
from knickpoint.model.params import ParamBreakdown, break_down, decode_key
from knickpoint.model.query import Query, parse_query
from knickpoint.model.unit_names import Better
from knickpoint.store import Store

# Traces, and the params that they consist of.


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


# Build the answers about traces: which there are, and the params that they consist of.


_FACET_VALUES: Final = 200
"""Values of a param in one answer."""


def trace_answer(trace: Trace, repository: str) -> TraceAnswer:
    """Return a trace of the repository ``repository``."""
    return TraceAnswer.of(trace, repository=repository, params=decode_key(trace.key))


def list_traces(store: Store, repository: Repository, query: str, offset: int, limit: int) -> TracesAnswer:
    """List one page of the traces that ``query`` matches, by id.

    Raises:
        QueryError: the query cannot be read.
    """
    ids = store.traces.select(repository, parse_query(query))
    page = store.traces.get(ids[offset : offset + limit])
    return TracesAnswer(total=len(ids), offset=offset, traces=[trace_answer(trace, repository.name) for trace in page])


def name_traces(repository: Repository, traces: Sequence[Trace]) -> TracesAnswer:
    """Answer with traces that the request names, in its order."""
    answers = [trace_answer(trace, repository.name) for trace in traces]
    return TracesAnswer(total=len(answers), offset=0, traces=answers)


def list_facets(store: Store, repository: Repository, query: str) -> FacetsAnswer:
    """Count the matching traces by param and value.

    The values of a param that the query names are counted without its term, so that people see the alternatives.

    Raises:
        QueryError: the query cannot be read.
    """
    found = store.traces.alternatives(repository, parse_query(query))
    return FacetsAnswer(total=found.total, facets=[_facet(name, found.counts[name]) for name in sorted(found.counts)])


def _facet(name: str, counts: Mapping[str, int]) -> FacetAnswer:
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:_FACET_VALUES]
    values = [ValueCountAnswer(value=value, count=count) for value, count in most]
    return FacetAnswer(name=name, distinct=len(counts), values=values)


# The traces of a change, broken down by their params.


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
    even: bool = Field(description="Whether chance explains the distance.")
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


# Build the answer about the params of the traces of a change.


_MOST_VALUES: Final = 20


def break_change_down(visible: VisibleRepositories, change: int) -> BreakdownAnswer:
    """Break the traces of a change down by their params.

    Raises:
        UnknownError: there is no such change.
    """
    repository = visible.of_change(change)
    store = visible.store
    ids = sorted({point.trace_id for point in store.findings.live_members(change)})
    traces = store.traces.count(repository)
    found = break_down((trace.key for trace in store.traces.get(ids)), store.traces.facets(repository, Query()), traces)
    return BreakdownAnswer(
        change=change, members=len(ids), traces=traces, params=[param_answer(each) for each in found]
    )


def param_answer(found: ParamBreakdown) -> ParamBreakdownAnswer:
    """Return the answer about one param, with its most common values."""
    return ParamBreakdownAnswer(
        name=found.name,
        distance=found.distance,
        even=found.even,
        distinct=len(found.values),
        values=[
            ValueShareAnswer(value=each.value, members=each.members, traces=each.traces)
            for each in found.values[:_MOST_VALUES]
        ],
    )
