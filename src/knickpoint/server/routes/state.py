"""Routes about the state of a process and its instance, in every process: health, readiness, metrics, version."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from knickpoint.answers import health
from knickpoint.answers.health import HealthAnswer, ReadyAnswer, VersionAnswer
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.model.service_part import ServicePart
from knickpoint.server import metrics
from knickpoint.server.callers import RequestCaller
from knickpoint.server.routes.dependencies import PrimaryInstance, RequestInstance, Visible
from knickpoint.version import __version__

router = APIRouter(tags=["server"])
usual_addresses = APIRouter()
"""Routes under the addresses that other programs ask by default: Prometheus asks `/metrics`."""


_PROMETHEUS_TEXT: Final = "text/plain; version=0.0.4"


@router.get("/health")
def read_health(caller: RequestCaller, instance: PrimaryInstance) -> HealthAnswer:
    """Return the health of the process: the store can be read, the workers work and the alerts run.

    Everybody learns the status, as load balancers need it; who may read also learns what is wrong.
    """
    return health.read_health(instance, VisibleRepositories(instance.store, caller))


@router.get("/ready")
def read_ready(caller: RequestCaller, request: Request, instance: PrimaryInstance) -> ReadyAnswer:
    """Return the parts that this process runs; 503 while the store cannot be read or has a newer schema.

    `/health` says more, and needs more: a worker that fails is not a reason to take this process out of service.
    `/version` reads nothing, and answers as long as the process does.
    """
    instance.store.check_schema()
    VisibleRepositories(instance.store, caller).all()
    return ReadyAnswer(ready=True, parts=[part for part in ServicePart if part in request.app.state.parts])


@usual_addresses.get("/metrics", response_class=PlainTextResponse)
@router.get("/metrics", response_class=PlainTextResponse)
def get_metrics(visible: Visible, request: Request, instance: RequestInstance) -> PlainTextResponse:
    """Return metrics of the instance, its requests and the work of this process, in the text format of Prometheus."""
    found = metrics.InstanceMetrics(instance, visible, request.app.state.process_metrics.registries)
    return PlainTextResponse(metrics.render_metrics(found), media_type=_PROMETHEUS_TEXT)


@router.get("/version")
def read_version(_caller: RequestCaller) -> VersionAnswer:
    """Return the name and version of the program, and the version of the API."""
    return VersionAnswer(name="knickpoint", version=__version__, api="v1")
