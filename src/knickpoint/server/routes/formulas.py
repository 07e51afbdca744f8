"""Routes of formulas and short ids."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from knickpoint.answers.formulas import (
    FormulaAnswer,
    ShortcutAnswer,
    ShortcutIdAnswer,
    ShortcutRequest,
    add_shortcut,
    calculate,
    read_shortcut,
)
from knickpoint.answers.values import MOST_TRACES
from knickpoint.server.routes.dependencies import LineName, RepositoryName, RequestInstance, Visible

router = APIRouter(tags=["formulas"])


@router.get("/formulas")
def get_formula(
    visible: Visible,
    *,
    formula: Annotated[
        str, Query(min_length=1, max_length=10_000, description='As in `ave(filter("os=linux"))`; see the guide.')
    ],
    repository: RepositoryName = "",
    line: LineName = "",
    points: Annotated[int, Query(ge=2, le=100_000, description="Points of a trace; more are thinned out.")] = 2400,
    limit: Annotated[int, Query(ge=1, le=MOST_TRACES, description="How many traces to return.")] = 16,
) -> FormulaAnswer:
    """Calculate traces from stored ones, over the whole line. An error names the column of the formula."""
    return calculate(visible, visible.line(repository, line), formula, points=points, limit=limit)


@router.post("/shortcuts")
def post_shortcut(visible: Visible, instance: RequestInstance, request: ShortcutRequest) -> ShortcutIdAnswer:
    """Keep a set of trace keys and formulas under a short id; the same set always has the same id."""
    return ShortcutIdAnswer(id=add_shortcut(visible.store, request, most=instance.config.limits.shortcuts))


@router.get("/shortcuts/{name}")
def get_shortcut(
    visible: Visible,
    name: Annotated[str, Path(max_length=100, description="The short id.")],
    repository: RepositoryName = "",
) -> ShortcutAnswer:
    """Return the traces and formulas of a short id."""
    return read_shortcut(visible, visible.choose(repository), name)
