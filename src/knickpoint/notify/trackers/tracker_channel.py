"""A tracker as a channel: a new change makes a ticket, every later message about it is a comment.

A ticket has a key, which stands in its text. Before a ticket is made, the tracker is asked for one with that key: the
answer to an earlier attempt may have been lost. The same holds for comments. The store keeps which ticket the messages of a thread go
to, and the tickets table lets findings leave the list of work. The record is ``docs/decisions/0199-tickets-in-trackers.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from knickpoint.model.announcement import AnnouncementKind
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.notification import Message, Sent
from knickpoint.model.ticket import TicketFields, TrackerTicket
from knickpoint.notify.channel import ChannelContext
from knickpoint.notify.exchange import RefusedError
from knickpoint.notify.settings import ChannelSettings
from knickpoint.notify.trackers.rest import text_of
from knickpoint.notify.trackers.ticket_text import LABEL, TicketDraft, severity_label, title_line
from knickpoint.notify.trackers.tracker import Issue, Tracker
from knickpoint.store import Store
from knickpoint.store.findings.tickets import Ticket
from knickpoint.store.findings.tracker_tickets import thread_of
from knickpoint.watch.triage.tickets import covering_query, put_tickets

__all__ = ["GONE", "TrackerChannel", "changes_of", "covered_traces", "open_tracker_channel"]

GONE: Final = frozenset({404, 410})
_OVER: Final = frozenset(
    kind.value for kind in (AnnouncementKind.WITHDRAWN, AnnouncementKind.RECOVERED, AnnouncementKind.FIXED)
)
_LONGEST_BODY: Final = 20_000
"""Characters of a body; with the block, all trackers take them."""


@dataclass(frozen=True, slots=True)
class TrackerChannel:
    """Makes and comments on the tickets of ``tracker``, and keeps them in ``store``."""

    settings: ChannelSettings
    tracker: Tracker
    store: Store = field(repr=False)

    def send(self, message: Message) -> Sent:
        """Make a ticket for a new change, or comment on the ticket of its thread.

        A message about a change that is over, or about no change, makes no ticket: the reference of its answer is "".
        """
        changes = changes_of(message.data)
        threads = [message.thread, *(thread_of(change.change) for change in changes)]
        known = self.store.findings.tracker_tickets.of_thread(self.settings.name, threads)
        if known is not None:
            try:
                return self._follow(known, message, changes)
            except RefusedError as error:
                if error.status not in GONE:
                    raise
            self.store.findings.tracker_tickets.forget(known)  # it was deleted there
        kinds = _last_kinds(message.data)
        changes = tuple(replace(change, query=change.query or covered_traces(self.store, change)) for change in changes)
        if not changes or kinds <= _OVER | {"provisional"}:
            return Sent()
        draft = TicketDraft(message.key, title_line(message.subject), message.text, self.labels(changes), changes)
        ticket = self.make(draft, threads=[message.thread])
        return Sent(ticket.name, ticket.url)

    def close(self) -> None:
        """Do nothing: no connection outlives its request."""

    def labels(self, changes: Sequence[TicketFields]) -> tuple[str, ...]:
        """Return the labels of a new ticket."""
        return tuple(dict.fromkeys((LABEL, severity_label(changes), *self.settings.labels)))

    def make(self, draft: TicketDraft, *, threads: Sequence[str] = ()) -> TrackerTicket:
        """Make the ticket of ``draft``, or find the one that an earlier attempt made, and keep it in the store."""
        draft = replace(draft, body=_shortened(draft.body))
        issue = self.tracker.find(draft.key) or self.tracker.create(draft)
        return self.keep(issue, draft.changes, threads=threads)

    def keep(self, issue: Issue, changes: Sequence[TicketFields], *, threads: Sequence[str] = ()) -> TrackerTicket:
        """Keep a ticket in the store with what it is about; the findings that it covers leave the list of work."""
        with self.store.transaction():
            of_changes = [thread_of(change.change) for change in changes if change.change]
            ticket = self.store.findings.tracker_tickets.put(issue.ticket, threads=[*threads, *of_changes])
            self.store.findings.tickets.refresh(ticket.name, url=ticket.url, is_open=ticket.open)
            _put_rows(self.store, ticket, changes)
        return ticket

    def _follow(self, ticket: TrackerTicket, message: Message, changes: Sequence[TicketFields]) -> Sent:
        if not self.tracker.has_comment(ticket, message.key):
            self.tracker.comment(ticket, message.key, _shortened(f"**{message.subject}**\n\n{message.text}"))
        if self.settings.close and ticket.open and changes and _last_kinds(message.data) <= _OVER:
            self.tracker.finish(ticket, next((change.fixed for change in changes if change.fixed), ""))
            ticket = replace(ticket, open=False)
        self.store.findings.tracker_tickets.put(ticket, threads=[message.thread])
        return Sent(ticket.name, ticket.url)


def open_tracker_channel(settings: ChannelSettings, context: ChannelContext, tracker: Tracker) -> TrackerChannel:
    """Make the channel of ``tracker``.

    Raises:
        ConfigError: the token or the store is missing.
    """
    if not settings.token:
        raise ConfigError(
            "token is missing",
            where=f"[channels.{settings.name}]",
            remedy='Name its variable: token = "${TRACKER_TOKEN}".',
        )
    if context.store is None:
        raise ConfigError("a tracker needs the store", where=f"[channels.{settings.name}]", remedy="Open the instance.")
    return TrackerChannel(settings, tracker, context.store)


def changes_of(data: Mapping[str, object]) -> tuple[TicketFields, ...]:
    """Return the fields of the changes that a message is about."""
    entries = data.get("changes")
    return tuple(_fields(each) for each in entries if isinstance(each, dict)) if isinstance(entries, list) else ()


def _fields(entry: Mapping[str, Any]) -> TicketFields:
    change, traces = entry.get("change"), entry.get("traces")
    return TicketFields(
        repository=text_of(entry, "repository"),
        query=text_of(entry, "query"),
        trace=text_of(entry, "lead", "trace"),
        traces=traces if isinstance(traces, int) else 0,
        line=text_of(entry, "line"),
        failing=text_of(entry, "commit"),
        fixed=text_of(entry, "fixed"),
        change=change if isinstance(change, int) else 0,
        severity=text_of(entry, "severity") or "normal",
        link=text_of(entry, "link"),
    )


def _last_kinds(data: Mapping[str, object]) -> frozenset[str]:
    """Return the kind of the newest announcement of each change."""
    entries = data.get("changes")
    kinds = set()
    for change in entries if isinstance(entries, list) else []:
        announced = change.get("announcements") if isinstance(change, dict) else None
        kinds.add(str(announced[-1]) if isinstance(announced, list) and announced else text_of(change, "kind"))
    return frozenset(kinds)


def covered_traces(store: Store, change: TicketFields) -> str:
    """Return a query for the traces of a change: those of its change as it is now, else its lead alone."""
    keys = [member.key for member in store.findings.live_members(change.change)] if change.change else []
    return covering_query(keys) or (covering_query([change.trace]) if change.trace else "")


def _put_rows(store: Store, ticket: TrackerTicket, changes: Sequence[TicketFields]) -> None:
    """Write which traces and which commits a ticket is about; a change without either is left out."""
    repositories = {each.name: each for each in store.commits.repositories()}
    for change in changes:
        repository = repositories.get(change.repository)
        commit = store.commits.find(repository, change.failing) if repository and change.failing else None
        if repository is None or commit is None:
            continue
        try:
            query = change.query or covered_traces(store, change)
            if query:
                put_tickets(store, repository, [Ticket(ticket.name, query, commit.slot, ticket.url, ticket.open)])
        except InputError:  # the text of a ticket is not only ours
            continue


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_BODY else f"{text[:_LONGEST_BODY]}\n\n…"
