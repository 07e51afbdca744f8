"""Build the answer about the params of the traces of a change."""

from __future__ import annotations

from typing import Final

from knickpoint.model.param_breakdown import ParamBreakdown, break_down
from knickpoint.model.query import Query
from knickpoint.server.schemas.breakdowns import BreakdownAnswer, ParamBreakdownAnswer, ValueShareAnswer
from knickpoint.server.visible_repositories import VisibleRepositories

__all__ = ["break_change_down", "param_answer"]

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
