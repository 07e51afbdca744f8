"""Routes about alerts: what they did, how to change them, how often they are right, and what they missed."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import AwareDatetime

from knickpoint.answers import alerts, quality
from knickpoint.answers.alerts import (
    AlertChangeAnswer,
    AlertEffectAnswer,
    AlertFileAnswer,
    AlertPreviewRequest,
    AlertRecordAnswer,
    AlertRequest,
    NewAlertRequest,
)
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

alerts_router = APIRouter(tags=["alerts"])

_CREATED: Final = 201

AlertName = Annotated[str, Path(max_length=200, description="Name of an alert.")]


@alerts_router.get("/alerts/files")
def get_alert_files(visible: Visible, instance: RequestInstance) -> list[AlertFileAnswer]:
    """List the files in which repositories define alerts, with the reason why one cannot be used."""
    return alerts.list_alert_files(instance, visible)


@alerts_router.get("/alerts/{name}/record")
def get_alert_record(visible: Visible, instance: RequestInstance, name: AlertName) -> AlertRecordAnswer:
    """Return the record of an alert: its newest runs, its findings by what people decided, and the largest of them."""
    return alerts.read_alert_record(instance, visible, name)


@alerts_router.post("/alerts", status_code=_CREATED)
def post_alert(instance: RequestInstance, caller: Admin, request: NewAlertRequest) -> AlertChangeAnswer:
    """Make an alert in the store, checked as those of knickpoint.toml are. It takes an admin of all that it watches."""
    return alerts.create_alert(instance, caller, request)


@alerts_router.post("/alerts/preview")
def post_alert_preview(instance: RequestInstance, caller: Admin, request: AlertPreviewRequest) -> AlertEffectAnswer:
    """Count what comes and goes when an alert is set or removed.

    Real traces are judged; nothing is written.
    """
    return alerts.preview_alert(instance, caller, request)


@alerts_router.put("/alerts/{name}")
def put_alert(instance: RequestInstance, caller: Admin, name: AlertName, request: AlertRequest) -> AlertChangeAnswer:
    """Give an alert of the store the settings of the request, and no others. Its findings follow at the next run."""
    return alerts.change_alert(instance, caller, name, request)


@alerts_router.delete("/alerts/{name}")
def delete_alert(instance: RequestInstance, caller: Admin, name: AlertName) -> AlertChangeAnswer:
    """Remove an alert from the store. Findings that no other alert reports are gone; decisions stay in the log."""
    return alerts.delete_alert(instance, caller, name)


quality_router = APIRouter(tags=["alert quality"])


@quality_router.get("/alert-quality", response_model=AlertQualityAnswer)
def get_alert_quality(
    request: Request,
    visible: Visible,
    instance: RequestInstance,
    cache: Cache,
    *,
    since: Annotated[AwareDatetime | None, Query(description="Only findings made since this time.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Only findings made before this time.")] = None,
) -> Response:
    """Measure the alerts by what people decided: the table of alerts, labels in doubt, noisiest traces, proposals."""
    period = Period(since, until)
    question = ("alert quality", period, visible.extent)
    return cache.get(visible.store, question, lambda: quality.measure(instance, visible, period)).response(request)


@quality_router.post("/alert-quality/proposals", status_code=_CREATED)
def post_proposal_decision(
    _caller: Admin, visible: Visible, instance: RequestInstance, request: ProposalRequest
) -> ProposalDecisionAnswer:
    """Accept a proposal, which changes its alert in the store, or reject it.

    It takes an admin of all that it watches.
    """
    return quality.decide_proposal(instance, visible, request)


@quality_router.delete("/alert-quality/proposals/{decision}")
def delete_proposal_decision(
    _caller: Admin,
    visible: Visible,
    instance: RequestInstance,
    decision: Annotated[int, Path(ge=0, le=MOST, description="Id of the decision.")],
) -> ProposalDecisionAnswer:
    """Take a decision about a proposal back; the alerts are as they were before."""
    return quality.undo_proposal(instance, visible, decision)


@quality_router.get("/missed")
def get_missed(
    visible: Visible,
    *,
    repository: RepositoryName = "",
    trace: Annotated[int | None, Query(ge=0, le=MOST, description="Only those in this trace.")] = None,
    line: LineName = "",
) -> list[MissedAnswer]:
    """List the changes that people marked as missed, each with the finding that it is by now."""
    return quality.list_marks(visible, repository, trace, line)


@quality_router.post("/missed", status_code=_CREATED)
def post_missed(_caller: Editor, visible: Visible, request: MissedRequest) -> MissedAnswer:
    """Mark a change that no alert found. What an alert found, or is marked already, is refused."""
    return quality.mark(visible, request)


@quality_router.delete("/missed/{key}")
def delete_missed(
    _caller: Editor, visible: Visible, key: Annotated[MissedId, Path(description="Id of the mark.")]
) -> MissedAnswer:
    """Take a mark back. The audit log keeps that it was there."""
    return quality.unmark(visible, key)
