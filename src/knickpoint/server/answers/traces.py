"""Build the answers about traces: which there are, and the params that they consist of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from knickpoint.model.commit import Repository
from knickpoint.model.frame import Trace
from knickpoint.model.params import decode_key
from knickpoint.model.query import parse_query
from knickpoint.server.schemas.traces import FacetAnswer, FacetsAnswer, TraceAnswer, TracesAnswer, ValueCountAnswer
from knickpoint.store import Store

__all__ = ["list_facets", "list_traces", "name_traces", "trace_answer"]

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
