"""What a tracker is: the few things that Knickpoint asks of GitHub, GitLab and Jira."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from knickpoint.model.ticket import TrackerTicket
from knickpoint.notify.trackers.ticket_text import TicketDraft
from knickpoint.store.findings.tracker_tickets import TrackerCursor

__all__ = ["ChangedIssues", "Issue", "Tracker"]


@dataclass(frozen=True, slots=True)
class Issue:
    """A ticket as its tracker describes it, with its text."""

    ticket: TrackerTicket
    body: str


@dataclass(frozen=True, slots=True)
class ChangedIssues:
    """The tickets that changed since a cursor, and the cursor from which to go on."""

    issues: tuple[Issue, ...]
    cursor: TrackerCursor


class Tracker(Protocol):
    """The tickets of one project; every method raises a DeliveryError where the tracker refuses or does not answer."""

    def find(self, key: str) -> Issue | None:
        """Return the ticket that was made with this key, if there is one."""

    def create(self, draft: TicketDraft) -> Issue:
        """Make a ticket."""

    def has_comment(self, ticket: TrackerTicket, key: str) -> bool:
        """Return whether the ticket has the comment with this key."""

    def comment(self, ticket: TrackerTicket, key: str, text: str) -> None:
        """Add a comment, Markdown, which gets the mark of ``key``."""

    def relocate(self, ticket: TrackerTicket, was: str, located: str) -> None:
        """Replace the first failing revision ``was`` by ``located`` in the fields of a ticket; other text stays."""

    def finish(self, ticket: TrackerTicket, fixed: str) -> None:
        """Close a ticket whose change is gone; ``fixed`` is the fixing revision, "" where it is unknown."""

    def changed(self, cursor: TrackerCursor) -> ChangedIssues:
        """Return the tickets with the label of Knickpoint that changed since ``cursor``."""
