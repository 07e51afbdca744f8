"""Answer for regressions and triage."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from knickpoint.model.errors import InputError
from knickpoint.model.regression import Direction, Status
from knickpoint.server.answers.commits import choose_repository
from knickpoint.server.answers.regressions import (
    FEW_MEMBERS,
    Listing,
    Ordering,
    history_answer,
    list_members,
    list_regressions,
)
from knickpoint.server.answers.triage import list_decisions, merge, split, triage, undo
from knickpoint.server.routes.dependencies import MOST, RepositoryName, StoreNeed
from knickpoint.server.schemas.regressions import HistoryAnswer, RegressionsAnswer
from knickpoint.server.schemas.triage import (
    DecisionAnswer,
    ListFilter,
    MembersAnswer,
    RegroupRequest,
    TriageAnswer,
    TriageRequest,
    UndoRequest,
)

__all__ = ["router"]

router = APIRouter(tags=["regressions"])


def _ordering(text: str) -> tuple[Ordering, bool]:
    name = text.removeprefix("-")
    try:
        return Ordering(name), text.startswith("-")
    except ValueError:
        known = ", ".join(own.value for own in Ordering)
        raise InputError(
            f"a list cannot be sorted by {name!r}", where="sort", remedy=f"Use one of {known}; a minus turns it round."
        ) from None


def _filtered(
    *,
    repository: Annotated[str, Query(description="Name of the repository; all of them without it.")] = "",
    processed: Annotated[bool, Query(description="Those that were dealt with, or those that were not.")] = False,
    gone: Annotated[
        bool, Query(description="Instead, those that later data no longer show: nothing to decide.")
    ] = False,
    history: Annotated[bool, Query(description="Instead, the unprocessed ones that are history: no work.")] = False,
    filter: Annotated[  # noqa: A002
        str, Query(max_length=1000, description="Words that all occur in trace key, commit hash, author or subject.")
    ] = "",
    direction: Annotated[Direction | None, Query(description="Only this direction.")] = None,
    status: Annotated[Status | None, Query(description="Only this status.")] = None,
    alert: Annotated[str, Query(description="Only what this alert found.")] = "",
    assignee: Annotated[str, Query(description="Only what this person has.")] = "",
    ticket: Annotated[str, Query(description="Only what belongs to this ticket.")] = "",
    minimum_hazard: Annotated[float, Query(ge=0, description="Only hazard levels at least that far from 0.")] = 0.0,
    minimum_effect: Annotated[
        float, Query(ge=0, description="Only relative sizes of at least that; 0.02 is 2 %.")
    ] = 0.0,
) -> ListFilter:
    """Read which list is meant, and what of it."""
    return ListFilter(
        repository=repository,
        processed=processed,
        history=history,
        gone=gone,
        filter=filter,
        direction=direction,
        status=status,
        alert=alert,
        assignee=assignee,
        ticket=ticket,
        minimum_hazard=minimum_hazard,
        minimum_effect=minimum_effect,
    )


FilterNeed = Annotated[ListFilter, Depends(_filtered)]


@router.get("/regressions")
def get_regressions(
    store: StoreNeed,
    wanted: FilterNeed,
    *,
    sort: Annotated[
        str,
        Query(
            description="change (the worst first), hazard, date, traces, author, subject or found; "
            "a minus before it turns it round."
        ),
    ] = "-change",
    page: Annotated[int, Query(ge=1, le=MOST, description="Which page.")] = 1,
    size: Annotated[int, Query(ge=1, le=500, description="Groups on a page.")] = 50,
    members: Annotated[int, Query(ge=1, le=100, description="Members of each group, the lead first.")] = FEW_MEMBERS,
) -> RegressionsAnswer:
    """List regressions, unprocessed or processed, history or gone, each with its commit and its first traces.

    What was found up to the first run over its repository is history; the unprocessed ones are work only.
    """
    ordering, descending = _ordering(sort)
    return list_regressions(store, Listing(wanted, ordering, descending, page, size, members))


@router.get("/members")
def get_members(
    store: StoreNeed,
    wanted: FilterNeed,
    *,
    regression: Annotated[int, Query(ge=0, le=MOST, description="Id of the regression.")],
    after: Annotated[
        int | None, Query(ge=0, le=MOST, description="Id of the member to begin behind; the first page without it.")
    ] = None,
    size: Annotated[int, Query(ge=1, le=500, description="Members on a page.")] = 200,
) -> MembersAnswer:
    """List the members of a regression that are on a list, page by page, in the order of the list."""
    return list_members(store, regression, wanted, after=after, size=size)


@router.get("/history")
def get_history(store: StoreNeed, repository: RepositoryName = "") -> list[HistoryAnswer]:
    """List the history boundary of each repository, or of one, with the number of findings on either side."""
    repositories = [choose_repository(store, repository)] if repository else store.commits.repositories()
    return [history_answer(store, own) for own in repositories]


@router.post("/triage")
def post_triage(store: StoreNeed, request: TriageRequest) -> TriageAnswer:
    """Decide about one or many findings: acknowledge, hide, link a ticket, or put back. All of them or none."""
    return triage(store, request)


@router.post("/triage/undo")
def post_undo(store: StoreNeed, request: UndoRequest) -> TriageAnswer:
    """Take back the last decision about each of some findings; again to go further back."""
    return undo(store, request)


@router.post("/triage/split")
def post_split(store: StoreNeed, request: RegroupRequest) -> TriageAnswer:
    """Set findings apart from the others at their commit: they make a group of their own from now on."""
    return split(store, request)


@router.post("/triage/merge")
def post_merge(store: StoreNeed, request: RegroupRequest) -> TriageAnswer:
    """Make one group of several, from now on; what appears at their places joins it."""
    return merge(store, request)


@router.get("/triage")
def get_decisions(
    store: StoreNeed, finding: Annotated[int, Query(ge=0, le=MOST, description="Id of a change point.")]
) -> list[DecisionAnswer]:
    """List what was decided about a finding, oldest first."""
    return list_decisions(store, finding)
