"""Build the answer what stands on the lines of a plot: findings, and changes of environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from knickpoint.model.change_point import ChangePoint
from knickpoint.model.errors import InputError
from knickpoint.model.statement import ChangeCondition, ChangeDirection, Statement
from knickpoint.server.answers.environments import list_environments
from knickpoint.server.schemas.marks import FindingMarkAnswer, MarkAnswer
from knickpoint.server.schemas.runs import EnvironmentAnswer
from knickpoint.server.visible_repositories import VisibleRepositories

__all__ = ["list_marks", "mark_environment"]

_MOST_WITH_ENVIRONMENTS: Final = 16
"""Traces whose environments one request may ask for: each costs a pass over its runs."""


def list_marks(
    visible: VisibleRepositories, keys: Sequence[int], line_name: str, *, environments: bool
) -> list[MarkAnswer]:
    """List the findings on the traces ``keys`` at commits of a line, and where asked for the changes of environment.

    Raises:
        UnknownError: one of the traces does not exist.
        HistoryError: there is no such line.
        InputError: there are too many traces for their environments.
    """
    if environments and len(keys) > _MOST_WITH_ENVIRONMENTS:
        raise InputError(
            f"environments of {len(keys)} traces",
            remedy=f"Ask for at most {_MOST_WITH_ENVIRONMENTS} traces at once, or leave environments out.",
        )
    store = visible.store
    repository, _ = visible.traces(keys)
    line = store.commits.line(repository, line_name)
    points = [
        point
        for of_trace in store.findings.of_traces(keys).values()
        for point in of_trace
        if point.suspect_range.slot in line.positions
    ]
    stated = store.findings.statements.of_changes({point.change_id for point in points})
    found = [_finding(point, line.positions[point.suspect_range.slot], stated.get(point.change_id)) for point in points]
    changes = (
        (mark_environment(key, change) for key in keys for change in list_environments(visible, key, line_name))
        if environments
        else ()
    )
    return sorted([*found, *changes], key=lambda mark: (mark.trace, mark.position))


def mark_environment(key: int, change: EnvironmentAnswer) -> MarkAnswer:
    """Return the mark of a change of environment on the trace ``key``."""
    return MarkAnswer(trace=key, position=change.position, finding=None, facts=change.facts)


def _finding(point: ChangePoint, position: int, stated: Statement | None) -> MarkAnswer:
    found = FindingMarkAnswer.of(
        point,
        point.numbers,
        change=point.change_id or None,
        status=point.effective_status,
        headline=stated.headline if stated else "",
        stated=stated.direction if stated else ChangeDirection(point.direction.value),
        condition=stated.condition if stated else ChangeCondition(point.condition.value),
        traces=stated.traces if stated else 1,
    )
    return MarkAnswer(trace=point.trace_id, position=position, finding=found, facts=[])
