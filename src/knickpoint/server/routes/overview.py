"""Routes of the overview: what happened since a time, and the sums of many traces."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import AwareDatetime

from knickpoint.answers.overview import (
    AssignedAnswer,
    OverviewAnswer,
    SharedOverviewAnswer,
    read_assigned,
    read_overview,
    read_shared_overview,
)
from knickpoint.answers.trends import TrendRange, TrendsAnswer, read_trends
from knickpoint.server.routes.dependencies import Cache, LineName, RepositoryName, RequestInstance, Visible

router = APIRouter(tags=["overview"])

_HOUR: Final = "%Y-%m-%dT%H"
"""What the devices did lately is counted anew at least so often."""


@router.get("/overview", response_model=OverviewAnswer)
def get_overview(
    request: Request,
    visible: Visible,
    instance: RequestInstance,
    cache: Cache,
    *,
    since: Annotated[AwareDatetime, Query(description="Count what was announced from this time on.")],
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


@router.get("/trends", response_model=TrendsAnswer)
def get_trends(
    request: Request,
    visible: Visible,
    cache: Cache,
    *,
    repository: RepositoryName = "",
    line: LineName = "",
    query: Annotated[str, Query(max_length=2000, description="Which traces. Default: all.")] = "",
    by: Annotated[
        str, Query(max_length=200, description="The param that parts them. Default: the first usual one, as `suite`.")
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
