"""Answer whether the server works, and what it is."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse

from knickpoint.server.answers import health as state
from knickpoint.server.api_reference import render_reference
from knickpoint.server.routes.dependencies import InstanceNeed
from knickpoint.server.schemas.health import AlertAnswer, HealthAnswer, NoticeAnswer, VersionAnswer

__all__ = ["router"]

router = APIRouter(tags=["server"])


@router.get("/health")
def read_health(instance: InstanceNeed) -> HealthAnswer:
    """Say whether the store can be read, how the workers do, and which alerts cannot run."""
    return state.read_health(instance)


@router.get("/alerts")
def get_alerts(instance: InstanceNeed) -> list[AlertAnswer]:
    """List the alerts of the configuration, with their last run, and why one cannot run."""
    return state.list_alerts(instance)


@router.get("/notices")
def get_notices(
    instance: InstanceNeed, limit: Annotated[int, Query(ge=1, le=10_000, description="How many to tell.")] = 1000
) -> list[NoticeAnswer]:
    """List canaries that moved lately or put a finding in doubt, and benchmarks that stopped. Reads all values."""
    return state.list_notices(instance, limit)


@router.get("/metrics", response_class=PlainTextResponse)
def get_metrics(instance: InstanceNeed) -> PlainTextResponse:
    """Return numbers for monitoring, in the text format of Prometheus."""
    return PlainTextResponse(state.render_metrics(instance), media_type="text/plain; version=0.0.4")


@router.get("/version")
def read_version() -> VersionAnswer:
    """Say which program and which version answers."""
    return VersionAnswer(name="knickpoint", version=version("knickpoint"), api="v1")


@router.get("/reference", response_class=PlainTextResponse)
def read_reference(request: Request) -> str:
    """Return the reference of this API as text."""
    return render_reference(request.app.openapi())
