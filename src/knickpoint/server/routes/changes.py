"""Routes of changes, their members, the history boundary, triage, and results in quarantine."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from knickpoint.answers.base import ChangeId, ChangePointId, QuarantineId
from knickpoint.answers.change_pages import ChangePageAnswer, read_change_page
from knickpoint.answers.changes import (
    FEW_MEMBERS,
    ChangesAnswer,
    DecisionAnswer,
    Listing,
    Ordering,
    list_changes,
    list_members,
    refuse_unknown_names,
)
from knickpoint.answers.clusters import ClustersAnswer, list_clusters
from knickpoint.answers.filters import ListFilter
from knickpoint.answers.flame_graphs import FlameGraphAnswer, read_flame_graph
from knickpoint.answers.members import MembersAnswer, SuspectsAnswer, list_suspects
from knickpoint.answers.quarantines import (
    LiftRequest,
    QuarantineAnswer,
    QuarantinedValueAnswer,
    lift,
    list_quarantined_values,
    list_quarantines,
)
from knickpoint.answers.tickets import TrackerAnswer, list_trackers, with_new_ticket
from knickpoint.answers.traces import BreakdownAnswer, break_change_down
from knickpoint.answers.triage import (
    HistoryAnswer,
    LastEntryAnswer,
    RegroupRequest,
    TriageAnswer,
    TriageRequest,
    UndoRequest,
    decide,
    history_answer,
    list_decisions,
    merge,
    split,
    undo,
)
from knickpoint.instance.alert_sources import sourced_alerts
from knickpoint.model.errors import InputError
from knickpoint.model.quarantine import QuarantineState
from knickpoint.server.callers import Editor
from knickpoint.server.routes.dependencies import (
    MOST,
    Cache,
    ChangeKey,
    LineName,
    RepositoryName,
    RequestInstance,
    TraceKey,
    Visible,
    from_parameters,
    in_one_snapshot,
)

changes_router = APIRouter(tags=["changes"])


def _ordering(text: str) -> tuple[Ordering, bool]:
    name = text.removeprefix("-")
    try:
        return Ordering(name), text.startswith("-")
    except ValueError:
        known = ", ".join(each.value for each in Ordering)
        raise InputError(
            f"a list cannot be sorted by {name!r}",
            where="sort",
            remedy=f"Use one of {known}; a minus before it reverses the order.",
        ) from None


RequestFilter = Annotated[ListFilter, Depends(from_parameters(ListFilter))]


@changes_router.get("/changes", response_model=ChangesAnswer)
def get_changes(
    request: Request,
    visible: Visible,
    instance: RequestInstance,
    cache: Cache,
    wanted: RequestFilter,
    *,
    sort: Annotated[
        str,
        Query(
            json_schema_extra={"pattern": f"^-?({'|'.join(each.value for each in Ordering)})$"},
            description="change (the worst first), hazard, date, traces, author, subject or found; "
            "a minus before it reverses the order.",
        ),
    ] = "-change",
    page: Annotated[int, Query(ge=1, le=MOST, description="Which page.")] = 1,
    size: Annotated[int, Query(ge=1, le=500, description="Changes on a page.")] = 50,
    members: Annotated[int, Query(ge=1, le=100, description="Members of each change, the lead first.")] = FEW_MEMBERS,
) -> Response:
    """List changes: unprocessed, processed, history, all of these, or gone; each with its commit and its first traces.

    Changes at or before the history boundary are history. The unprocessed list does not have them. An alert,
    an assignee or a ticket that no change has is refused with the nearest name.
    """
    ordering, descending = _ordering(sort)
    listing = Listing(wanted, ordering, descending, page, size, members)
    question = ("changes", listing, visible.extent)

    def read() -> ChangesAnswer:
        found = list_changes(visible, listing)
        if not (found.unprocessed or found.history or found.processed or found.gone):
            alerts = (each.alert for each in sourced_alerts(instance.config, visible.store))
            shown = (each.name for each in alerts if not each.repository or visible.shows(each.repository))
            refuse_unknown_names(visible, wanted, shown)
        return found

    return cache.get(visible.store, question, read).response(request)


@changes_router.get("/changes/{change}")
@in_one_snapshot
def get_change(visible: Visible, change: ChangeKey) -> ChangePageAnswer:
    """Return one change, wherever it is listed, with earlier changes of its traces, decisions and announcements."""
    return read_change_page(visible, change)


@changes_router.get("/changes/{change}/flame", response_model=FlameGraphAnswer)
def get_flame_graph(
    request: Request,
    visible: Visible,
    instance: RequestInstance,
    cache: Cache,
    *,
    change: ChangeKey,
    benchmark: Annotated[str, Query(description="Default: the benchmark that the cause of the change is about.")] = "",
) -> Response:
    """Return the differential flame graph of a change, from the profiles before and after it.

    Only known callers may read it, unless `public_profiles` of `[access]` says otherwise.
    """
    visible.require_profiles()
    question = ("flame", change, benchmark, visible.extent)
    build = partial(read_flame_graph, visible, instance, change, benchmark)
    return cache.get(visible.store, question, build).response(request)


@changes_router.get("/changes/{change}/suspects")
def get_suspects(
    visible: Visible,
    change: ChangeKey,
) -> SuspectsAnswer:
    """List the commits that may have caused a change, the most likely first, with reasons.

    Alerts rank them after each run, and they are kept with the change.
    """
    return list_suspects(visible, change)


@changes_router.get("/changes/{change}/clusters")
def get_clusters(
    visible: Visible,
    change: ChangeKey,
    members: Annotated[
        int, Query(ge=1, le=10_000, description="Traces of each state to return, those nearest to the centroid.")
    ] = 200,
) -> ClustersAnswer:
    """List the clusters of a change: members, what they have in common, and traces that were left out, with reasons.

    Alerts with a method that judges traces together keep them after each run; others have none.
    """
    return list_clusters(visible, change, most=members)


@changes_router.get("/changes/{change}/breakdown", response_model=BreakdownAnswer)
def get_breakdown(
    request: Request,
    visible: Visible,
    cache: Cache,
    change: ChangeKey,
) -> Response:
    """Break the traces of a change down by their params: what they have in common, and what the other traces lack."""
    question = ("breakdown", change, visible.extent)
    build = partial(break_change_down, visible, change)
    return cache.get(visible.store, question, build).response(request)


@changes_router.get("/members")
@in_one_snapshot
def get_members(
    visible: Visible,
    wanted: RequestFilter,
    *,
    change: Annotated[ChangeId, Query(description="Id of the change.")],
    after: Annotated[
        ChangePointId | None,
        Query(description="Id of the last member of the page before. Default: the first page."),
    ] = None,
    size: Annotated[int, Query(ge=1, le=500, description="Members on a page.")] = 200,
) -> MembersAnswer:
    """List one page of the members of a change that are on a list, in the order of the list."""
    return list_members(visible, change, wanted, after=after, size=size)


@changes_router.get("/history")
def get_history(visible: Visible, repository: RepositoryName = "") -> list[HistoryAnswer]:
    """List the history boundary of each repository, or of one, with the number of findings on either side."""
    return [history_answer(visible.store, each) for each in visible.some(repository)]


@changes_router.post("/triage")
def post_triage(_caller: Editor, visible: Visible, instance: RequestInstance, request: TriageRequest) -> TriageAnswer:
    """Decide about one or many findings, all or none: acknowledge, hide, link a ticket, or make unprocessed again.

    `create` makes a ticket for them in a tracker, and links it. If the tracker refuses, nothing is decided.
    """
    return decide(visible, with_new_ticket(instance, visible, request) if request.create else request)


@changes_router.get("/trackers")
def get_trackers(_caller: Editor, instance: RequestInstance) -> list[TrackerAnswer]:
    """List the trackers in which the ticket of a decision can be made."""
    return list_trackers(instance)


@changes_router.post("/triage/undo")
def post_undo(_caller: Editor, visible: Visible, request: UndoRequest) -> TriageAnswer:
    """Undo the last decision about each of some findings. Repeated requests undo earlier decisions."""
    return undo(visible, request)


@changes_router.post("/triage/split")
def post_split(_caller: Editor, visible: Visible, request: RegroupRequest) -> TriageAnswer:
    """Split findings from their changes: they form a new one, which later results do not merge again."""
    return split(visible, request)


@changes_router.post("/triage/merge")
def post_merge(_caller: Editor, visible: Visible, request: RegroupRequest) -> TriageAnswer:
    """Merge several changes into one; new findings in their suspect ranges join it."""
    return merge(visible, request)


@changes_router.get("/triage/last")
def get_last_entry(visible: Visible) -> LastEntryAnswer:
    """Return the number of the newest entry of the triage log: it grows with every decision and undo of anybody."""
    return LastEntryAnswer(entry=visible.store.findings.triage.newest())


@changes_router.get("/triage")
def get_decisions(
    visible: Visible,
    finding: Annotated[ChangePointId, Query(description="Id of a change point.")],
) -> list[DecisionAnswer]:
    """List the decisions about a finding, oldest first."""
    return list_decisions(visible, finding)


quarantines_router = APIRouter(tags=["changes"])


@quarantines_router.get("/quarantines")
def get_quarantines(
    visible: Visible,
    repository: RepositoryName = "",
    state: Annotated[list[QuarantineState] | None, Query(description="Only these states; repeatable.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="How many to return.")] = 200,
) -> list[QuarantineAnswer]:
    """List quarantined results: which run of which machine, why, since when, and with which outcome."""
    return list_quarantines(visible, repository, state or [], limit)


@quarantines_router.post("/quarantines/{quarantine}/lift")
def post_lift(
    _caller: Editor,
    visible: Visible,
    quarantine: Annotated[QuarantineId, Path(description="Id of the quarantine.")],
    request: LiftRequest,
) -> QuarantineAnswer:
    """Let quarantined results count after all, with a reason. A correction of the run makes the rule decide anew."""
    return lift(visible, quarantine, request.reason)


@quarantines_router.get("/traces/{key}/quarantined")
def get_quarantined_values(visible: Visible, key: TraceKey, line: LineName = "") -> list[QuarantinedValueAnswer]:
    """List the values of a trace that take no part in its levels, in the order of the line."""
    return list_quarantined_values(visible, key, line)
