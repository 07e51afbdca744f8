"""Routes of missing data: what should have results, and renames that explain it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import RootModel

from knickpoint.answers import missing
from knickpoint.answers.missing import MissingAnswer, RenameAnswer, RenameRequest
from knickpoint.instance.notices import newer_commits
from knickpoint.server.callers import Editor
from knickpoint.server.routes.dependencies import Cache, RequestInstance, Visible

router = APIRouter(tags=["missing"])


_All = RootModel[list[MissingAnswer]]


@router.get("/missing", response_model=list[MissingAnswer])
def get_missing(
    request: Request,
    visible: Visible,
    instance: RequestInstance,
    cache: Cache,
    repository: Annotated[str, Query(description="Name of the repository; all of them without it.")] = "",
) -> Response:
    """List jobs, series and commits that should have results, and renames that may explain it.

    Reads the values that changed since it was asked last.
    """
    # Git has newer commits before the store does.
    newer = tuple(tuple(newer_commits(instance, each)) for each in visible.some(repository))
    question = ("missing", repository, newer, visible.extent)

    def read() -> _All:
        return _All(missing.list_missing(instance, visible, repository))

    return cache.get(visible.store, question, read).response(request)


@router.post("/missing/renames")
def post_rename(_caller: Editor, visible: Visible, request: RenameRequest) -> RenameAnswer:
    """Accept a rename: a trace continues another one, for values, detection and findings. No stored value changes."""
    return missing.accept(visible, request)


@router.post("/missing/renames/undo")
def post_rename_undo(_caller: Editor, visible: Visible, request: RenameRequest) -> RenameAnswer:
    """Take an accepted rename back; the findings of the old trace go back to it."""
    return missing.withdraw(visible, request)
