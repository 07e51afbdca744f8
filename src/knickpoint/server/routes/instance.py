"""Routes about an instance: what happened since a time, whether each part works, and what AI agents ask."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import AwareDatetime, RootModel

from knickpoint.answers import health, status
from knickpoint.answers.health import AlertAnswer, HealthAnswer, NoticeAnswer, ReadyAnswer, VersionAnswer
from knickpoint.answers.overview import (
    AssignedAnswer,
    OverviewAnswer,
    SharedOverviewAnswer,
    read_assigned,
    read_overview,
    read_shared_overview,
)
from knickpoint.answers.status import RetryAnswer, RetryRequest, StatusAnswer
from knickpoint.answers.trends import TrendRange, TrendsAnswer, read_trends
from knickpoint.answers.visible_repositories import UnknownError, VisibleRepositories
from knickpoint.instance.notices import newer_commits
from knickpoint.model.access import CallerKind, Permission
from knickpoint.model.service_part import ServicePart
from knickpoint.server import metrics
from knickpoint.server.api_reference import render_reference
from knickpoint.server.callers import InstanceAdmin, Reader, RequestCaller
from knickpoint.server.request_limits import limits_of
from knickpoint.server.routes.dependencies import (
    Cache,
    LineName,
    PrimaryInstance,
    RepositoryName,
    RequestInstance,
    Visible,
)
from knickpoint.version import __version__

overview_router = APIRouter(tags=["overview"])

_HOUR: Final = "%Y-%m-%dT%H"
"""What the devices did lately is counted anew at least so often."""


@overview_router.get("/overview", response_model=OverviewAnswer)
def get_overview(
    request: Request,
    visible: Visible,
    instance: RequestInstance,
    cache: Cache,
    *,
    since: Annotated[AwareDatetime, Query(description="Count what was announced since this time.")],
    repository: Annotated[str, Query(description="Name of the repository; all of them without it.")] = "",
) -> Response:
    """Return the announcements since a time, what waits for people, what fails, and the largest open regressions."""
    asked = (repository, visible.extent, f"{datetime.now(UTC):{_HOUR}}")

    def read() -> OverviewAnswer:
        # What is the same for everybody is read once for all of them.
        store, caller = visible.store, visible.caller.name
        shared = cache.get(
            store, ("shared overview", *asked), lambda: read_shared_overview(instance, visible, repository)
        )
        assigned = cache.get(store, ("assigned", *asked, caller), lambda: read_assigned(visible, repository))
        return read_overview(
            visible,
            since,
            repository,
            SharedOverviewAnswer.model_validate_json(shared.json),
            AssignedAnswer.model_validate_json(assigned.json),
        )

    question = ("overview", *asked, since, visible.caller.name)
    return cache.get(visible.store, question, read).response(request)


@overview_router.get("/trends", response_model=TrendsAnswer)
def get_trends(
    request: Request,
    visible: Visible,
    cache: Cache,
    *,
    repository: RepositoryName = "",
    line: LineName = "",
    query: Annotated[str, Query(max_length=2000, description="Which traces. Default: all.")] = "",
    by: Annotated[
        str,
        Query(
            max_length=200, description="The param that divides them. Default: the first usual one, such as `suite`."
        ),
    ] = "",
    commits: Annotated[int, Query(ge=10, le=1000, description="How many of the newest commits.")] = 250,
) -> Response:
    """Return the geometric mean of a query relative to the beginning of a range, with its uncertainty, and in parts.

    Of large parts a bounded number of traces is read; how many is in the answer, and part of the uncertainty.
    """

    def read() -> TrendsAnswer:
        return read_trends(visible.store, TrendRange(visible.line(repository, line), query, by, commits))

    question = ("trends", repository, line, query, by, commits, visible.extent)
    return cache.get(visible.store, question, read).response(request)


state_router = APIRouter(tags=["server"])
usual_addresses = APIRouter()
"""Routes under the addresses that other programs ask by default: Prometheus asks `/metrics`."""


_PROMETHEUS_TEXT: Final = "text/plain; version=0.0.4"


@state_router.get("/health")
def read_health(caller: RequestCaller, instance: PrimaryInstance) -> HealthAnswer:
    """Return the health of the process: the store can be read, the workers work and the alerts run.

    Everybody learns the status, as load balancers need it; who may read also learns what is wrong.
    """
    return health.read_health(instance, VisibleRepositories(instance.store, caller))


@state_router.get("/ready")
def read_ready(caller: RequestCaller, request: Request, instance: PrimaryInstance) -> ReadyAnswer:
    """Return the parts that this process runs; 503 while the store cannot be read or has a newer schema.

    `/health` says more, and needs more: a worker that fails is not a reason to take this process out of service.
    `/version` reads nothing, and answers as long as the process does.
    """
    instance.store.check_schema()
    VisibleRepositories(instance.store, caller).all()
    return ReadyAnswer(ready=True, parts=[part for part in ServicePart if part in request.app.state.parts])


@usual_addresses.get("/metrics", response_class=PlainTextResponse)
@state_router.get("/metrics", response_class=PlainTextResponse)
def get_metrics(visible: Visible, request: Request, instance: RequestInstance) -> PlainTextResponse:
    """Return metrics of the instance, its requests and the work of this process, in the text format of Prometheus."""
    found = metrics.InstanceMetrics(instance, visible, request.app.state.process_metrics.registries)
    return PlainTextResponse(metrics.render_metrics(found), media_type=_PROMETHEUS_TEXT)


@state_router.get("/version")
def read_version(_caller: RequestCaller) -> VersionAnswer:
    """Return the name and version of the program, and the version of the API."""
    return VersionAnswer(name="knickpoint", version=__version__, api="v1")


service_router = APIRouter(tags=["server"])

_Notices = RootModel[list[NoticeAnswer]]


@service_router.get("/alerts")
def get_alerts(
    visible: Visible,
    instance: RequestInstance,
    *,
    shadowed: Annotated[bool, Query(description="Also those that do not run because another has their name.")] = False,
) -> list[AlertAnswer]:
    """List the alerts, where each is defined, with their last runs and the reasons why some cannot run."""
    return health.list_alerts(instance, visible, shadowed=shadowed)


@service_router.get("/notices", response_model=list[NoticeAnswer])
def get_notices(
    request: Request,
    visible: Visible,
    instance: RequestInstance,
    cache: Cache,
    limit: Annotated[int, Query(ge=1, le=10_000, description="How many to return.")] = 1000,
) -> Response:
    """List canaries that moved lately or put a finding in doubt, benchmarks that stopped, and findings that would turn.

    Reads the values that changed since it was asked last.
    """
    # Git has newer commits before the store does.
    newer = tuple(tuple(newer_commits(instance, each)) for each in visible.all())
    question = ("notices", limit, newer, visible.extent)

    def read() -> _Notices:
        return _Notices(health.list_notices(instance, visible, limit))

    return cache.get(visible.store, question, read).response(request)


@service_router.get("/reference", response_class=PlainTextResponse)
def read_reference(_caller: RequestCaller, request: Request) -> str:
    """Return the reference of this API as text."""
    return render_reference(request.app.openapi())


@service_router.get("/status")
def get_status(visible: Visible, instance: RequestInstance) -> StatusAnswer:
    """Return waiting files, refused files with reasons, events, workers, devices, and the store."""
    return status.read_status(instance, visible)


@service_router.post("/status/retry")
def post_status_retry(_caller: InstanceAdmin, instance: RequestInstance, request: RetryRequest) -> RetryAnswer:
    """Import refused files again, as they arrived, and process events again that were given up."""
    return status.retry(instance, request)


agents_router = APIRouter(tags=["agents"])


@agents_router.post("/mcp")
async def post_mcp(request: Request, caller: Reader, instance: PrimaryInstance) -> Response:
    """Answer one message of the Model Context Protocol, with what the caller may read.

    A token opens what its scopes say. A person who signed in, or sits at this machine, only reads through an agent,
    because only a token states that an agent may do more.
    """
    if find_spec("mcp") is None:
        raise UnknownError(
            "the server has no tools for agents", where="/mcp", remedy='Run: pip install "knickpoint[mcp]"'
        )
    from knickpoint.agents import answer_http, begin_session  # the package is an extra of its own

    allowed = frozenset(Permission) if caller.kind is CallerKind.TOKEN else frozenset[Permission]()
    session = begin_session(instance, caller, allowed)
    body_bytes = limits_of(request).settings.body_bytes
    status, headers, body = await answer_http(session, request.scope, request.receive, body_bytes=body_bytes)
    return Response(body, status, {name.decode("latin-1"): value.decode("latin-1") for name, value in headers})
