"""Routes of the health, alerts, notices and metrics of the instance, and of the server's version."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse

from knickpoint.server.answers import health, metrics
from knickpoint.server.api_reference import render_reference
from knickpoint.server.callers import RequestCaller
from knickpoint.server.routes.dependencies import RequestInstance, Visible
from knickpoint.server.schemas.health import AlertAnswer, HealthAnswer, NoticeAnswer, ReadyAnswer, VersionAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.version import __version__

__all__ = ["router"]

router = APIRouter(tags=["server"])

_PROMETHEUS_TEXT: Final = "text/plain; version=0.0.4"


@router.get("/health")
def read_health(caller: RequestCaller, instance: RequestInstance) -> HealthAnswer:
    """Return whether the store can be read, the workers work and the alerts run.

    Everybody learns the status, as load balancers need it; who may read also learns what is wrong.
    """
    return health.read_health(instance, VisibleRepositories(instance.store, caller))


@router.get("/ready")
def read_ready(caller: RequestCaller, instance: RequestInstance) -> ReadyAnswer:
    """Return whether this process can serve requests: 503 while the store cannot be read.

    `/health` says more, and needs more: a worker that fails is no reason to take this process out of service. `/version`
    reads nothing, and answers as long as the process does.
    """
    VisibleRepositories(instance.store, caller).all()
    return ReadyAnswer(ready=True)


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
    """List canaries that moved lately or put a finding in doubt, and benchmarks that stopped. Reads all values."""
    return health.list_notices(instance, visible, limit)


@router.get("/metrics", response_class=PlainTextResponse)
def get_metrics(visible: Visible, request: Request, instance: RequestInstance) -> PlainTextResponse:
    """Return metrics of the instance and of the requests of this process, in the text format of Prometheus."""
    text = metrics.render_metrics(instance, visible) + request.app.state.request_metrics.render()
    return PlainTextResponse(text, media_type=_PROMETHEUS_TEXT)


@router.get("/version")
def read_version(_caller: RequestCaller) -> VersionAnswer:
    """Return the name and version of the program, and the version of the API."""
    return VersionAnswer(name="knickpoint", version=__version__, api="v1")


@router.get("/reference", response_class=PlainTextResponse)
def read_reference(_caller: RequestCaller, request: Request) -> str:
    """Return the reference of this API as text."""
    return render_reference(request.app.openapi())
