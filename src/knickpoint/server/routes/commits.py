"""Routes of repositories, lines and commits, and of comparisons of two commits or of results that are sent."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from knickpoint.answers.commit_reports import CommitReportAnswer, report_commit
from knickpoint.answers.commits import (
    CommitAnswer,
    CommitsAnswer,
    LineAnswer,
    ReleaseAnswer,
    RepositoryAnswer,
    find_commit,
    list_commits,
    list_lines,
    list_releases,
    list_repositories,
    pack_times,
    search_commits,
)
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
from knickpoint.answers.tabular_values import list_times
from knickpoint.answers.values import TimesAnswer
from knickpoint.server.error_responses import while_waited_for
from knickpoint.server.routes.dependencies import (
    BINARY,
    MOST,
    RESULTS_BODY,
    AsJson,
    Cache,
    LineName,
    RepositoryName,
    RequestInstance,
    Visible,
    binary,
    in_one_snapshot,
)
from knickpoint.watch.commit_comparison import MOST_VALUES

router = APIRouter(tags=["commits"])


@router.get("/repositories")
def get_repositories(visible: Visible) -> list[RepositoryAnswer]:
    """List the repositories of the instance."""
    return list_repositories(visible)


@router.get("/lines")
def get_lines(visible: Visible, repository: RepositoryName = "") -> list[LineAnswer]:
    """List the lines of a repository."""
    return list_lines(visible.store, visible.choose(repository))


@router.get("/releases")
def get_releases(
    visible: Visible,
    repository: RepositoryName = "",
    limit: Annotated[int, Query(ge=1, le=1000, description="How many of each repository.")] = 100,
) -> list[ReleaseAnswer]:
    """List the releases of a repository, or of all: the tags that alerts can compare drifts with, the newest first."""
    return list_releases(visible, repository, limit)


@router.get("/commits", response_model=CommitsAnswer)
def get_commits(
    request: Request,
    visible: Visible,
    cache: Cache,
    *,
    repository: RepositoryName = "",
    line: LineName = "",
    first: Annotated[int, Query(ge=0, le=MOST, description="Position of the first commit.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many commits.")] = 200,
    text: Annotated[
        str | None,
        Query(
            max_length=200,
            description="Only commits with all these words in hash, author or subject, the newest first; all of them "
            "for an empty text. `first` counts nothing then.",
        ),
    ] = None,
    measured: Annotated[
        bool, Query(description="Only commits with results, the newest first. `first` counts nothing then.")
    ] = False,
) -> Response:
    """List commits of a line by position, oldest first; or search them, the newest first."""
    question = ("commits", repository, line, first, limit, text, measured, visible.extent)

    def read() -> CommitsAnswer:
        if measured or text is not None:
            return search_commits(visible.store, visible.line(repository, line), text or "", limit, measured=measured)
        return list_commits(visible.store, visible.line(repository, line), first, limit)

    return cache.get(visible.store, question, read).response(request)


@router.get("/commits/times", response_model=TimesAnswer, responses=BINARY)
def get_times(
    request: Request, visible: Visible, as_json: AsJson, repository: RepositoryName = "", line: LineName = ""
) -> Response | TimesAnswer:
    """Return the times of all commits of a line.

    As binary numbers: little-endian float64, seconds since 1970, NaN where unknown.
    """
    found = visible.line(repository, line)
    return list_times(visible.store, found) if as_json else binary(pack_times(visible.store, found), request)


@router.get("/commits/{revision}")
@in_one_snapshot
def get_commit(visible: Visible, revision: str, repository: RepositoryName = "", line: LineName = "") -> CommitAnswer:
    """Find a commit by its hash, a unique prefix of at least 7 characters, or its number."""
    return find_commit(visible.store, visible.line(repository, line), revision)


@router.get("/commits/{revision}/report")
def get_commit_report(
    visible: Visible, revision: str, repository: RepositoryName = "", line: LineName = ""
) -> CommitReportAnswer:
    """Return all that is known of a commit: what changed there or may have, values that stand out, and its runs."""
    return report_commit(visible, visible.line(repository, line), revision)


_REVISION = (
    "Its hash, a unique prefix of at least 7 characters, its number, a day as 2026-03-14, `newest`, or a tag or a "
    "branch: the newest commit of the line that it contains."
)

Changed = Annotated[bool, Query(description="List only what regressed or improved.")]
BySuite = Annotated[
    bool,
    Query(
        description="List the traces by suite: by the first usual param that divides them, such as `suite` or `group`."
    ),
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
        int, Query(ge=1, le=MOST_VALUES, description="How many of its newest values up to the head represent it.")
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
