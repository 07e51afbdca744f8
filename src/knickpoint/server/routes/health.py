"""Routes of the alerts and notices of the instance, and of the reference of the API."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import RootModel

from knickpoint.answers import health
from knickpoint.answers.health import AlertAnswer, NoticeAnswer
from knickpoint.instance.notices import newer_commits
from knickpoint.server.api_reference import render_reference
from knickpoint.server.callers import RequestCaller
from knickpoint.server.routes.dependencies import Cache, RequestInstance, Visible

router = APIRouter(tags=["server"])

_Notices = RootModel[list[NoticeAnswer]]


@router.get("/alerts")
def get_alerts(
    visible: Visible,
    instance: RequestInstance,
    *,
    shadowed: Annotated[bool, Query(description="Also those that do not run because another has their name.")] = False,
) -> list[AlertAnswer]:
    """List the alerts, where each is defined, with their last runs and the reasons why some cannot run."""
    return health.list_alerts(instance, visible, shadowed=shadowed)


@router.get("/notices", response_model=list[NoticeAnswer])
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


@router.get("/reference", response_class=PlainTextResponse)
def read_reference(_caller: RequestCaller, request: Request) -> str:
    """Return the reference of this API as text."""
    return render_reference(request.app.openapi())
