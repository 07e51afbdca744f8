"""Routes of the status of an instance: files, events, workers, devices, the store."""

from __future__ import annotations

from fastapi import APIRouter

from knickpoint.answers import status
from knickpoint.answers.status import RetryAnswer, RetryRequest, StatusAnswer
from knickpoint.server.callers import InstanceAdmin
from knickpoint.server.routes.dependencies import RequestInstance, Visible

router = APIRouter(tags=["server"])


@router.get("/status")
def get_status(visible: Visible, instance: RequestInstance) -> StatusAnswer:
    """Return waiting files, refused files with reasons, events, workers, devices, and the store."""
    return status.read_status(instance, visible)


@router.post("/status/retry")
def post_status_retry(_caller: InstanceAdmin, instance: RequestInstance, request: RetryRequest) -> RetryAnswer:
    """Import refused files again, as they arrived, and process events again that were given up."""
    return status.retry(instance, request)
