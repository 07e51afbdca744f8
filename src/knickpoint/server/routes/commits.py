"""Routes of repositories, lines and commits."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from knickpoint.server.answers.commits import (
    choose_repository,
    find_commit,
    list_commits,
    list_lines,
    list_repositories,
    pack_times,
)
from knickpoint.server.callers import Reader
from knickpoint.server.routes.binary import BINARY, binary
from knickpoint.server.routes.dependencies import MOST, LineName, RepositoryName, RequestStore
from knickpoint.server.schemas.commits import CommitAnswer, CommitsAnswer, LineAnswer, RepositoryAnswer

__all__ = ["router"]

router = APIRouter(tags=["commits"])


@router.get("/repositories")
def get_repositories(_caller: Reader, store: RequestStore) -> list[RepositoryAnswer]:
    """List the repositories of the instance."""
    return list_repositories(store)


@router.get("/lines")
def get_lines(_caller: Reader, store: RequestStore, repository: RepositoryName = "") -> list[LineAnswer]:
    """List the lines of a repository."""
    return list_lines(store, choose_repository(store, repository))


@router.get("/commits")
def get_commits(
    _caller: Reader,
    store: RequestStore,
    repository: RepositoryName = "",
    line: LineName = "",
    first: Annotated[int, Query(ge=0, le=MOST, description="Position of the first commit.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many commits.")] = 200,
) -> CommitsAnswer:
    """List commits of a line by position, oldest first."""
    known = choose_repository(store, repository)
    return list_commits(store, store.commits.line(known, line), first, limit)


@router.get("/commits/times", response_class=Response, responses=BINARY)
def get_times(_caller: Reader, store: RequestStore, repository: RepositoryName = "", line: LineName = "") -> Response:
    """Return the times of all commits of a line: little-endian float64, seconds since 1970, NaN where unknown."""
    known = choose_repository(store, repository)
    return binary(pack_times(store, store.commits.line(known, line)))


@router.get("/commits/{revision}")
def get_commit(
    _caller: Reader, store: RequestStore, revision: str, repository: RepositoryName = "", line: LineName = ""
) -> CommitAnswer:
    """Find a commit by its hash, a unique prefix of at least 7 characters, or its number."""
    known = choose_repository(store, repository)
    return find_commit(store, store.commits.line(known, line), revision)
