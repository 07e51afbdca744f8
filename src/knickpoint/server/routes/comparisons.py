"""The routes that compare two commits, or results that are sent with a commit or with each other."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from knickpoint.answers.comparisons import (
    ComparisonAnswer,
    ComparisonRequest,
    FlameGraphRequest,
    ListRequest,
    UploadedRequest,
    compare,
    compare_uploaded,
    read_compared_flame_graph,
)
from knickpoint.answers.flame_graphs import FlameGraphAnswer
from knickpoint.server.progress_responses import while_waited_for
from knickpoint.server.routes.dependencies import (
    MOST,
    RESULTS_BODY,
    LineName,
    RepositoryName,
    RequestInstance,
    Visible,
)
from knickpoint.watch.commit_comparison import MOST_VALUES

router = APIRouter(tags=["commits"])

_REVISION = (
    "Its hash, a unique prefix of at least 7 characters, its number, a day as 2026-03-14, `newest`, or a tag or a "
    "branch: the newest commit of the line that it contains."
)

Changed = Annotated[bool, Query(description="List only what regressed or improved.")]
BySuite = Annotated[
    bool,
    Query(description="List the traces by suite: by the first usual param that parts them, as `suite` or `group`."),
]
BaseRevision = Annotated[str, Query(max_length=1000, description=f"The commit to compare with. {_REVISION}")]
HeadRevision = Annotated[str, Query(max_length=1000, description=f"The new commit. {_REVISION}")]
HeadLine = Annotated[str, Query(description="Name of the line of the head. Default: that of the base.")]
Selected = Annotated[str, Query(max_length=2000, description="Which traces. Default: all.")]
Compared = Annotated[
    str,
    Query(
        max_length=20,
        description="What of the samples of a run is compared: `median`, `min`, `max`, or a percentile as `p99`.",
    ),
]
First = Annotated[int, Query(ge=0, le=MOST, description="Index of the first listed trace.")]
Limit = Annotated[int, Query(ge=1, le=2000, description="How many traces to list.")]


@router.get("/comparison")
def get_comparison(
    visible: Visible,
    instance: RequestInstance,
    *,
    base: BaseRevision,
    head: HeadRevision = "newest",
    repository: RepositoryName = "",
    line: LineName = "",
    head_line: HeadLine = "",
    query: Selected = "",
    summary: Compared = "median",
    values: Annotated[
        int, Query(ge=1, le=MOST_VALUES, description="How many of its newest values up to the head stand for it.")
    ] = 3,
    changed: Changed = False,
    by_suite: BySuite = False,
    first: First = 0,
    limit: Limit = 100,
) -> ComparisonAnswer:
    """Judge a commit against the history of another one, all traces by one decision, as `knick check` does.

    A trace of the new side has its newest values of commits that the base does not have. Its verdict is one of five:
    regressed, improved, unchanged, unstable or no data. At most 2,000 traces are compared at a time.
    """
    return compare(
        visible,
        instance,
        ComparisonRequest(
            repository,
            line,
            head_line,
            base,
            head,
            query,
            summary,
            values,
            ListRequest(changed, by_suite, first, limit),
        ),
    )


@router.get("/comparison/flame")
def get_compared_flame_graph(
    visible: Visible,
    instance: RequestInstance,
    *,
    base: BaseRevision,
    head: HeadRevision = "newest",
    repository: RepositoryName = "",
    line: LineName = "",
    head_line: HeadLine = "",
    benchmark: Annotated[str, Query(description="Default: the first one with profiles of both commits.")] = "",
) -> FlameGraphAnswer:
    """Return the differential flame graph of two commits, from their profiles.

    Only known callers may read it, unless `public_profiles` of `[access]` says otherwise.
    """
    wanted = FlameGraphRequest(repository, line, head_line, base, head, benchmark)
    return read_compared_flame_graph(visible, instance, wanted)


@router.post("/comparison", openapi_extra=RESULTS_BODY)
async def post_comparison(
    visible: Visible,
    instance: RequestInstance,
    request: Request,
    *,
    name: Annotated[str, Query(min_length=1, max_length=1000, description="Name of the results file, for messages.")],
    base: BaseRevision = "newest",
    base_name: Annotated[
        str, Query(max_length=1000, description="Name of the file that is the base, for messages.")
    ] = "",
    base_bytes: Annotated[
        int,
        Query(
            ge=0,
            le=MOST,
            description="How many bytes of the body, from its beginning, are another results file: the base. Default: "
            "none, and the base is a commit.",
        ),
    ] = 0,
    repository: RepositoryName = "",
    line: LineName = "",
    query: Selected = "",
    summary: Compared = "median",
    partial: Annotated[bool, Query(description="The results are partial: do not report missing benchmarks.")] = False,
    changed: Changed = False,
    by_suite: BySuite = False,
    first: First = 0,
    limit: Limit = 100,
) -> ComparisonAnswer:
    """Judge the results of a file, the body of the request, against the history up to a commit, as `knick check` does.

    The file may have any format that `knick import` reads. Nothing of it is stored. It may have as many bytes as the
    body of any request (`body_bytes` of `[limits]`), and results of at most 2,000 traces. With `base_bytes` the body is
    two files, one behind the other, and the second is judged against the first, as `knick check --against` does: `cat
    old.json new.json` is such a body.
    """
    listed = ListRequest(changed, by_suite, first, limit)
    wanted = UploadedRequest(repository, line, base, base_name, base_bytes, name, query, summary, partial, listed)
    data = await request.body()
    return await while_waited_for(request, lambda: compare_uploaded(visible, instance, data, wanted))
