"""Tickets: their marks on the plots of traces, and the trackers that new ones can be made in."""

from __future__ import annotations

from pydantic import Field

from knickpoint.model.ticket import FixVerdict
from knickpoint.notify.settings import ChannelKind
from knickpoint.server.schemas.base import Answer

__all__ = ["TicketAnswer", "TicketMarkAnswer", "TrackerAnswer"]


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
