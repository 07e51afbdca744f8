"""Routes of the alerts and notices of the instance, and of the reference of the API."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse

from knickpoint.server.answers import health
from knickpoint.server.api_reference import render_reference
from knickpoint.server.callers import RequestCaller
from knickpoint.server.routes.dependencies import RequestInstance, Visible
from knickpoint.server.schemas.health import AlertAnswer, NoticeAnswer

__all__ = ["router"]

router = APIRouter(tags=["server"])


@router.get("/alerts")
def get_alerts(visible: Visible, instance: RequestInstance) -> list[AlertAnswer]:
    """List the alerts, where each is defined, with their last runs and the reasons why some cannot run."""
    return health.list_alerts(instance, visible)


@router.get("/notices")
def get_notices(
    visible: Visible,
    instance: RequestInstance,
    limit: Annotated[int, Query(ge=1, le=10_000, description="How many to return.")] = 1000,
) -> list[NoticeAnswer]:
    """List canaries that moved lately or put a finding in doubt, and benchmarks that stopped.

    Reads the values that changed since it was asked last.
    """
    return health.list_notices(instance, visible, limit)


@router.get("/reference", response_class=PlainTextResponse)
def read_reference(_caller: RequestCaller, request: Request) -> str:
    """Return the reference of this API as text."""
    return render_reference(request.app.openapi())
