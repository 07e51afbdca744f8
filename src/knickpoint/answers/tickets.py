"""The tickets of traces, and new ones in a tracker."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from knickpoint.answers.base import Answer
from knickpoint.answers.triage import TriageRequest, request_targets
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.instance import Instance
from knickpoint.instance.trackers import create_ticket, trackers
from knickpoint.model.access import Permission
from knickpoint.model.change_point import Status
from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.model.notification import FixVerdict, TrackerTicket
from knickpoint.model.params import decode_key
from knickpoint.model.query import parse_query
from knickpoint.notify.settings import ChannelKind
from knickpoint.watch.triage.tickets import tracked_tickets

# Tickets: their marks on the plots of traces, and the trackers that new ones can be made in.


class _TrackedAnswer(Answer):
    """A ticket, with what came back from its tracker."""

    name: str
    title: str = Field(description="Title in the tracker; empty for an imported ticket.")
    url: str
    open: bool
    assignee: str
    fixed: str = Field(description="Fixing revision, as the tracker has it; empty where it is unknown.")
    verdict: FixVerdict = Field(
        description="What the data say about a closed ticket with a fixing revision: `fixed`, `not-fixed`, "
        "`not-measured`; empty for others."
    )


class TicketAnswer(_TrackedAnswer):
    """A ticket about the traces that a query matches, at a commit."""

    repository: str
    commit: str = Field(description="Hash of the commit that it is about.")
    query: str = Field(description="Which traces it is about; empty for all of the repository.")


class TicketMarkAnswer(_TrackedAnswer):
    """A ticket about some of the traces that were asked for, at a commit of the line."""

    position: int = Field(description="Position of the commit that the ticket is about.")
    traces: list[int] = Field(description="Ids of the traces that it is about.")
    fixed_position: int | None = Field(description="Position of the fixing revision on the line.")


class TrackerAnswer(Answer):
    """A channel that makes tickets."""

    name: str
    kind: ChannelKind
    project: str


# List tickets, also those of traces where no change is, and make new ones in a tracker.


def list_tickets(visible: VisibleRepositories, name: str = "") -> list[TicketAnswer]:
    """Return the tickets of the repository ``name``, or of all.

    Raises:
        HistoryError: there is no such repository.
    """
    store = visible.store
    answers: list[TicketAnswer] = []
    for repository in visible.some(name):
        tickets = store.findings.tickets.all(repository)
        slots = sorted({each.slot for each in tickets})
        hashes = {each.slot: each.commit.hash for each in store.commits.get(repository, slots)}
        answers += (
            TicketAnswer.of(tracked, ticket, repository=repository.name, commit=hashes.get(ticket.slot, ""))
            for ticket, tracked in tracked_tickets(store, tickets)
        )
    return answers


def list_ticket_marks(visible: VisibleRepositories, keys: Sequence[int], line_name: str) -> list[TicketMarkAnswer]:
    """Return the tickets about the traces ``keys`` at commits of a line, by position.

    Raises:
        UnknownError: one of the traces does not exist.
        HistoryError: there is no such line.
    """
    store = visible.store
    repository, traces = visible.traces(keys)
    params = {trace.id: decode_key(trace.key) for trace in traces}
    line = store.commits.line(repository, line_name)
    placed = [each for each in store.findings.tickets.all(repository) if each.slot in line.positions]
    found: dict[tuple[str, int], tuple[TrackerTicket, dict[int, None]]] = {}
    for ticket, tracked in tracked_tickets(store, placed):
        query = parse_query(ticket.query)
        _, about = found.setdefault((ticket.name, ticket.slot), (tracked, {}))
        about.update(dict.fromkeys(key for key, each in params.items() if query.matches(each)))
    marks = [
        TicketMarkAnswer.of(
            tracked,
            position=line.positions[slot],
            traces=list(about),
            fixed_position=_position(visible, line, tracked.fixed),
        )
        for (_, slot), (tracked, about) in found.items()
        if about
    ]
    return sorted(marks, key=lambda mark: (mark.position, mark.name))


def _position(visible: VisibleRepositories, line: Line, revision: str) -> int | None:
    commit = visible.store.commits.find(line.repository, revision) if revision else None
    return line.positions.get(commit.slot) if commit else None


def list_trackers(instance: Instance) -> list[TrackerAnswer]:
    """Return the channels in which tickets can be made, by name."""
    return [
        TrackerAnswer(name=name, kind=settings.kind, project=settings.project)
        for name, settings in sorted(trackers(instance).items())
    ]


def with_new_ticket(instance: Instance, visible: VisibleRepositories, request: TriageRequest) -> TriageRequest:
    """Make the ticket that a decision asks for, and return the decision that links it.

    The tracker is asked outside every transaction.

    Raises:
        UnknownError: an id is unknown.
        ForbiddenError: the caller may not decide in one of the repositories.
        InputError: there is no such tracker, or the decision is another one than to link a ticket.
        DeliveryError: the tracker does not answer as it should.
    """
    if request.ticket or request.status not in {None, Status.TICKET}:
        raise InputError(
            "create makes the ticket of a decision with the status ticket",
            where="create",
            remedy="Leave out ticket and any other status.",
        )
    targets = request_targets(visible, request)
    visible.require(Permission.DECIDE, visible.of_findings(targets.points).values())
    made = create_ticket(instance, targets, request.create, who=visible.caller.name)
    return request.model_copy(update={"ticket": made.name, "status": Status.TICKET, "create": ""})
