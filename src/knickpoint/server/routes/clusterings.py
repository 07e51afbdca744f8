"""The route that clusters the traces of a query."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from knickpoint.answers.clusters import ClusteringAnswer, ClusteringRequest, cluster_query
from knickpoint.server.progress_responses import LINES, answer_with_progress, while_waited_for
from knickpoint.server.routes.dependencies import MOST, LineName, RepositoryName, Visible
from knickpoint.watch.trace_clustering import ClusteringRules

router = APIRouter(tags=["traces"])


@router.get("/clustering", response_model=ClusteringAnswer, responses=LINES)
async def get_clustering(
    visible: Visible,
    request: Request,
    *,
    repository: RepositoryName = "",
    line: LineName = "",
    query: Annotated[str, Query(max_length=2000, description="Which traces. Default: all.")] = "",
    first: Annotated[int, Query(ge=0, le=MOST, description="First position on the line.")] = 0,
    last: Annotated[
        int | None, Query(ge=0, le=MOST, description="Last position, inclusive. Default: the newest.")
    ] = None,
    commits: Annotated[
        int, Query(ge=2, le=5000, description="How many of these commits count: the newest that were measured.")
    ] = 250,
    k: Annotated[int, Query(ge=0, le=1000, description="Clusters to look for. Default: by the number of traces.")] = 0,
    interesting: Annotated[
        float | None,
        Query(ge=0, le=1e6, description="Smallest step / error of the fit that counts. Default: 4, with `skia` 50."),
    ] = None,
    skia: Annotated[bool, Query(description="Start, stop and fit as Skia Perf does.")] = False,
    progress: Annotated[
        bool,
        Query(
            description="Answer in lines of JSON: `progress` whenever that has changed (the stage `reading`, `grouping` or "
            "`fitting`, the start of k-means of all `starts`, and its iteration), and at the end `answer`, or `error` "
            "and its `status`."
        ),
    ] = False,
) -> ClusteringAnswer | Response:
    """Group the traces of a query by shape, and fit a step to each group, as an alert with the method `cluster` does.

    The strongest step comes first. Nothing is stored, and the same values give the same clusters. At most 5,000,000
    values, traces times commits, are clustered at a time. The work ends when the connection is closed before the
    answer.
    """
    wanted = ClusteringRequest(repository, line, query, first, last, commits, ClusteringRules(k, interesting, skia))
    if progress:
        return await answer_with_progress(request, lambda: cluster_query(visible, wanted))
    return await while_waited_for(request, lambda: cluster_query(visible, wanted))
