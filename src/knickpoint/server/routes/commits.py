"""Routes of repositories, lines and commits."""

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
from knickpoint.answers.tabular_values import list_times
from knickpoint.answers.values import TimesAnswer
from knickpoint.server.routes.binary import BINARY, AsJson, binary
from knickpoint.server.routes.dependencies import MOST, Cache, LineName, RepositoryName, Visible, in_one_snapshot

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
) -> Response:
    """List commits of a line by position, oldest first; or search them, the newest first."""
    question = ("commits", repository, line, first, limit, text, visible.extent)

    def read() -> CommitsAnswer:
        if text is not None:
            return search_commits(visible.store, visible.line(repository, line), text, limit)
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
