"""Routes of quarantined results."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from knickpoint.answers.base import QuarantineId
from knickpoint.answers.quarantines import (
    LiftRequest,
    QuarantineAnswer,
    QuarantinedValueAnswer,
    lift,
    list_quarantined_values,
    list_quarantines,
)
from knickpoint.model.quarantine import QuarantineState
from knickpoint.server.callers import Editor
from knickpoint.server.routes.dependencies import LineName, RepositoryName, TraceKey, Visible

router = APIRouter(tags=["changes"])


@router.get("/quarantines")
def get_quarantines(
    visible: Visible,
    repository: RepositoryName = "",
    state: Annotated[list[QuarantineState] | None, Query(description="Only these states; repeatable.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="How many to return.")] = 200,
) -> list[QuarantineAnswer]:
    """List quarantined results: which run of which machine, why, since when, and with which outcome."""
    return list_quarantines(visible, repository, state or [], limit)


@router.post("/quarantines/{quarantine}/lift")
def post_lift(
    _caller: Editor,
    visible: Visible,
    quarantine: Annotated[QuarantineId, Path(description="Id of the quarantine.")],
    request: LiftRequest,
) -> QuarantineAnswer:
    """Let quarantined results count after all, with a reason. A correction of the run makes the rule decide anew."""
    return lift(visible, quarantine, request.reason)


@router.get("/traces/{key}/quarantined")
def get_quarantined_values(visible: Visible, key: TraceKey, line: LineName = "") -> list[QuarantinedValueAnswer]:
    """List the values of a trace that take no part in its levels, in the order of the line."""
    return list_quarantined_values(visible, key, line)
