"""The route that compares two commits."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from knickpoint.server.answers.comparisons import ComparisonRequest, compare
from knickpoint.server.routes.dependencies import MOST, LineName, RepositoryName, RequestInstance, Visible
from knickpoint.server.schemas.comparisons import ComparisonAnswer
from knickpoint.watch.commit_comparison import MOST_VALUES

__all__ = ["router"]

router = APIRouter(tags=["commits"])

_REVISION = (
    "Its hash, a unique prefix of at least 7 characters, its number, a day as 2026-03-14, `newest`, or a tag or a branch: the"
    " newest commit of the line that it contains."
)


@router.get("/comparison")
def get_comparison(
    visible: Visible,
    instance: RequestInstance,
    *,
    base: Annotated[str, Query(max_length=1000, description=f"The commit to compare with. {_REVISION}")],
    head: Annotated[str, Query(max_length=1000, description=f"The new commit. {_REVISION}")] = "newest",
    repository: RepositoryName = "",
    line: LineName = "",
    head_line: Annotated[str, Query(description="Name of the line of the head. Default: that of the base.")] = "",
    query: Annotated[str, Query(max_length=2000, description="Which traces. Default: all.")] = "",
    values: Annotated[
        int, Query(ge=1, le=MOST_VALUES, description="How many of its newest values up to the head stand for it.")
    ] = 3,
    changed: Annotated[bool, Query(description="List only what regressed or improved.")] = False,
    first: Annotated[int, Query(ge=0, le=MOST, description="Index of the first listed trace.")] = 0,
    limit: Annotated[int, Query(ge=1, le=100, description="How many traces to list.")] = 100,
) -> ComparisonAnswer:
    """Judge a commit against the history of another one, as `knick check` judges new results: all traces by one decision.

    A trace of the new side has its newest values of commits that the base does not have. Its verdict is one of five:
    regressed, improved, unchanged, unstable or no data. At most 2,000 traces are compared at a time.
    """
    return compare(
        visible,
        instance,
        ComparisonRequest(repository, line, head_line, base, head, query, values, changed, first, limit),
    )
