"""Routes of alert quality, and of changes that people mark as missed."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import AwareDatetime

from knickpoint.answers import quality
from knickpoint.answers import quality as proposals
from knickpoint.answers.base import MissedId
from knickpoint.answers.quality import (
    AlertQualityAnswer,
    MissedAnswer,
    MissedRequest,
    ProposalDecisionAnswer,
    ProposalRequest,
)
from knickpoint.server.callers import Admin, Editor
from knickpoint.server.routes.dependencies import MOST, Cache, LineName, RepositoryName, RequestInstance, Visible
from knickpoint.watch.quality.report import Period

router = APIRouter(tags=["alert quality"])

_CREATED: Final = 201


@router.get("/alert-quality", response_model=AlertQualityAnswer)
def get_alert_quality(
    request: Request,
    visible: Visible,
    instance: RequestInstance,
    cache: Cache,
    *,
    since: Annotated[AwareDatetime | None, Query(description="Only findings made from this time on.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Only findings made before this time.")] = None,
) -> Response:
    """Measure the alerts by what people decided: the table of alerts, labels in doubt, noisiest traces, proposals."""
    period = Period(since, until)
    question = ("alert quality", period, visible.extent)
    return cache.get(visible.store, question, lambda: quality.measure(instance, visible, period)).response(request)


@router.post("/alert-quality/proposals", status_code=_CREATED)
def post_proposal_decision(
    _caller: Admin, visible: Visible, instance: RequestInstance, request: ProposalRequest
) -> ProposalDecisionAnswer:
    """Accept a proposal, which changes its alert in the store, or reject it.

    It takes an admin of all that it watches.
    """
    return proposals.decide_proposal(instance, visible, request)


@router.delete("/alert-quality/proposals/{decision}")
def delete_proposal_decision(
    _caller: Admin,
    visible: Visible,
    instance: RequestInstance,
    decision: Annotated[int, Path(ge=0, le=MOST, description="Id of the decision.")],
) -> ProposalDecisionAnswer:
    """Take a decision about a proposal back; the alerts are as they were before."""
    return proposals.undo_proposal(instance, visible, decision)


@router.get("/missed")
def get_missed(
    visible: Visible,
    *,
    repository: RepositoryName = "",
    trace: Annotated[int | None, Query(ge=0, le=MOST, description="Only those in this trace.")] = None,
    line: LineName = "",
) -> list[MissedAnswer]:
    """List the changes that people marked as missed, each with the finding that it is by now."""
    return quality.list_marks(visible, repository, trace, line)


@router.post("/missed", status_code=_CREATED)
def post_missed(_caller: Editor, visible: Visible, request: MissedRequest) -> MissedAnswer:
    """Mark a change that no alert found. What an alert found, or is marked already, is refused."""
    return quality.mark(visible, request)


@router.delete("/missed/{key}")
def delete_missed(
    _caller: Editor, visible: Visible, key: Annotated[MissedId, Path(description="Id of the mark.")]
) -> MissedAnswer:
    """Take a mark back. The audit log keeps that it was there."""
    return quality.unmark(visible, key)
