"""Tickets of a tracker: issues of GitHub, GitLab or Jira that a channel made, and what comes back from there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

__all__ = ["FixVerdict", "TicketFields", "TrackerTicket"]


class FixVerdict(Enum):
    """What the data say about a closed ticket with a fixing revision.

    NONE: the ticket is open, or its fixing revision is unknown. NOT_MEASURED: no trace of its findings has a value at or after
    that commit. FIXED: all measured traces are back at their level before. NOT_FIXED: one of them is not.
    """

    NONE = ""
    NOT_MEASURED = "not-measured"
    FIXED = "fixed"
    NOT_FIXED = "not-fixed"


@dataclass(frozen=True, slots=True)
class TicketFields:
    """The fields that map a ticket back to one change.

    Attributes:
        repository: name of the repository.
        query: text of a query that the traces of the change match.
        trace: key of the trace that changed most.
        traces: number of traces.
        line: name of the line, "" for the default line.
        failing: first failing revision: hash of the first commit measured at the new level.
        fixed: fixing revision, "" where it is unknown.
        change: id of the change.
        severity: `low`, `normal` or `high`.
        link: address of the change in the dashboard, "" without one.
    """

    repository: str
    query: str
    trace: str
    traces: int
    line: str
    failing: str
    fixed: str = ""
    change: int = 0
    severity: str = "normal"
    link: str = ""


@dataclass(frozen=True, slots=True)
class TrackerTicket:
    """A ticket as a tracker last described it.

    ``name`` is what people write: ``owner/name#12``, ``PERF-7``. ``fixed`` is the fixing revision as the tracker has it, ""
    without one. ``updated`` is the tracker's time. ``verdict`` is about ``checked``, the fixing revision that was compared with
    the data. ``id`` is 0 before it is stored.
    """

    channel: str
    name: str
    url: str
    title: str
    open: bool = True
    assignee: str = ""
    fixed: str = ""
    updated: datetime | None = None
    verdict: FixVerdict = FixVerdict.NONE
    checked: str = ""
    id: int = 0
