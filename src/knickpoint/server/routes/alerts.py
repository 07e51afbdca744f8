"""Routes about what alerts did, and that make, change and remove them and count what that does to findings."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path

from knickpoint.answers import alerts
from knickpoint.answers.alerts import (
    AlertChangeAnswer,
    AlertEffectAnswer,
    AlertFileAnswer,
    AlertPreviewRequest,
    AlertRecordAnswer,
    AlertRequest,
    NewAlertRequest,
)
from knickpoint.server.callers import Admin
from knickpoint.server.routes.dependencies import RequestInstance, Visible

router = APIRouter(tags=["alerts"])

_CREATED: Final = 201

AlertName = Annotated[str, Path(max_length=200, description="Name of an alert.")]


@router.get("/alerts/files")
def get_alert_files(visible: Visible, instance: RequestInstance) -> list[AlertFileAnswer]:
    """List the files in which repositories define alerts, with the reason why one cannot be used."""
    return alerts.list_alert_files(instance, visible)


@router.get("/alerts/{name}/record")
def get_alert_record(visible: Visible, instance: RequestInstance, name: AlertName) -> AlertRecordAnswer:
    """Return the record of an alert: its newest runs, its findings by what people decided, and the largest of them."""
    return alerts.read_alert_record(instance, visible, name)


@router.post("/alerts", status_code=_CREATED)
def post_alert(instance: RequestInstance, caller: Admin, request: NewAlertRequest) -> AlertChangeAnswer:
    """Make an alert in the store, checked as those of knickpoint.toml are. It takes an admin of all that it watches."""
    return alerts.create_alert(instance, caller, request)


@router.post("/alerts/preview")
def post_alert_preview(instance: RequestInstance, caller: Admin, request: AlertPreviewRequest) -> AlertEffectAnswer:
    """Count what comes and goes when an alert is set or removed.

    Real traces are judged; nothing is written.
    """
    return alerts.preview_alert(instance, caller, request)


@router.put("/alerts/{name}")
def put_alert(instance: RequestInstance, caller: Admin, name: AlertName, request: AlertRequest) -> AlertChangeAnswer:
    """Give an alert of the store the settings of the request, and no others. Its findings follow at the next run."""
    return alerts.change_alert(instance, caller, name, request)


@router.delete("/alerts/{name}")
def delete_alert(instance: RequestInstance, caller: Admin, name: AlertName) -> AlertChangeAnswer:
    """Remove an alert from the store. Findings that no other alert reports are gone; decisions stay in the log."""
    return alerts.delete_alert(instance, caller, name)
