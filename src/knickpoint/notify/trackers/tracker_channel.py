"""A tracker as a channel: a new change makes a ticket, every later message about it is a comment.

A ticket has a key, which stands in its text, and fields beside the words for people. Before a ticket is made, the
tracker is asked for one with that key: the answer to an earlier attempt may have been lost. The same holds for
comments. The store keeps which ticket the messages of a thread go to, and the tickets table lets findings leave the
list of work. The design is ``docs/decisions/messages.md``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from knickpoint.model.change_point import ChangePoint, Direction, Status
from knickpoint.model.commit import Repository
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.notification import AnnouncementKind, Message, Sent, TicketFields, TrackerTicket
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted, plain_line
from knickpoint.model.quantity_text import figure_text, percent_text
from knickpoint.model.settlement import Certainty
from knickpoint.model.statement import Basis, Change
from knickpoint.notify.channel import ChannelContext, RefusedError
from knickpoint.notify.markup import code_span, escape_markdown, link_target
from knickpoint.notify.settings import ChannelSettings
from knickpoint.notify.trackers.rest import text_of
from knickpoint.store import Store
from knickpoint.store.findings.selection import Selection
from knickpoint.store.findings.tickets import Ticket, TrackerCursor, change_thread, thread_of
from knickpoint.watch.trend import change_path
from knickpoint.watch.triage.tickets import covering_query, put_tickets

# What a ticket has beside the words for people: a marker, labels, and fields that programs read back.
#
# Markdown hides the block in an HTML comment; Jira shows it as unformatted text. The block is JSON::
#
#     {"version": 1, "key": "…", "changes": [{"repository": "…", "first_failing_revision": "…", …}]}
#
# A ticket is text that others may edit: a block that cannot be read is not a block.


LABEL: Final = "knickpoint"
"""The label of every ticket that a channel made; a sync reads the tickets that have it."""

_VERSION: Final = 1
_LONGEST_TITLE: Final = 250
_LONGEST_BLOCK: Final = 100_000
_MOST_CHANGES: Final = 50
_BLOCKS: Final = (
    re.compile(r"<!-- knickpoint\s+(\{.*?\})\s*-->", re.DOTALL),
    re.compile(r"\{noformat[^}\n]*\}\s*(\{\"version\".*?\})\s*\{noformat\}", re.DOTALL),
)
_FIXED: Final = re.compile(
    r"^[ \t>*-]*(?:fixed by|fixing revision)[ \t]*:?[ \t]*`?([0-9a-f]{7,64})\b", re.IGNORECASE | re.MULTILINE
)
_TEXTS: Final = {
    "repository": "repository",
    "query": "query",
    "trace": "trace",
    "line": "line",
    "failing": "first_failing_revision",
    "fixed": "fixing_revision",
    "severity": "severity",
    "link": "link",
}
_NUMBERS: Final = {"traces": "traces", "change": "change"}


@dataclass(frozen=True, slots=True)
class TicketDraft:
    """A ticket that is to be made.

    ``key`` is the same in every attempt, and unique: with it the ticket is found again. ``body`` is Markdown without
    the block.
    """

    key: str
    title: str
    body: str
    labels: tuple[str, ...] = ()
    changes: tuple[TicketFields, ...] = ()


def title_line(text: str) -> str:
    """Return ``text`` as a title that every tracker takes."""
    return plain_line(text, _LONGEST_TITLE) or "A benchmark changed"


def severity_label(changes: Sequence[TicketFields]) -> str:
    """Return the label for the highest severity of ``changes``, without a space, which Jira does not take."""
    order = ("high", "normal", "low")
    found = {change.severity for change in changes}
    return f"severity-{next((each for each in order if each in found), 'normal')}"


def unique_label(key: str) -> str:
    """Return the label by which a tracker without a search in texts finds the ticket with this key."""
    return f"{LABEL}-{hashlib.sha256(key.encode()).hexdigest()[:20]}"


def comment_mark(key: str) -> str:
    """Return the mark of a comment: by it, a repetition of the comment is noticed."""
    return f"knickpoint {hashlib.sha256(key.encode()).hexdigest()[:20]}"


def has_mark(text: str, key: str) -> bool:
    """Return True if a comment has the mark of ``key``."""
    return comment_mark(key) in text


def markdown_block(draft: TicketDraft) -> str:
    """Return the block of a ticket for Markdown, in a comment that no page shows."""
    return f"<!-- knickpoint\n{_json(draft)}\n-->"


def text_block(draft: TicketDraft) -> str:
    """Return the block of a ticket for Jira."""
    return f"{{noformat:title=Knickpoint}}\n{_json(draft)}\n{{noformat}}"


def _json(draft: TicketDraft) -> str:
    changes = [
        {outside: getattr(change, inside) for inside, outside in (_TEXTS | _NUMBERS).items()}
        for change in draft.changes[:_MOST_CHANGES]
    ]
    text = json.dumps({"version": _VERSION, "key": draft.key, "changes": changes}, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")  # no value ends the comment


def read_block(body: str) -> tuple[str, tuple[TicketFields, ...]]:
    """Return the key and the changes of the block in ``body``; "" and none where there is no block that can be read."""
    for pattern in _BLOCKS:
        found = pattern.search(body[:_LONGEST_BLOCK])
        if found:
            try:
                block = json.loads(found[1])
            except (ValueError, RecursionError):
                continue
            if isinstance(block, dict) and block.get("version") == _VERSION and isinstance(block.get("key"), str):
                changes = block.get("changes")
                entries = changes[:_MOST_CHANGES] if isinstance(changes, list) else []
                return block["key"], tuple(_fields_of_block(each) for each in entries if isinstance(each, dict))
    return "", ()


def relocated(body: str, was: str, located: str) -> str:
    """Replace the first failing revision ``was`` in the block and in the line for people."""
    pattern = rf"(first[ _]failing[ _]revision\W{{1,8}}){re.escape(was)}\b"
    return re.sub(pattern, lambda found: f"{found[1]}{located}", body, flags=re.IGNORECASE)


def with_fix(body: str, fixed: str) -> str:
    """Write the fixing revision ``fixed`` into the block."""
    return re.sub(r'("fixing_revision": )"[0-9A-Fa-f]*"', lambda found: f'{found[1]}"{fixed}"', body)


def _fields_of_block(entry: Mapping[str, object]) -> TicketFields:
    text = {inside: str(entry.get(outside) or "") for inside, outside in _TEXTS.items()}
    return TicketFields(
        repository=text["repository"],
        query=text["query"],
        trace=text["trace"],
        traces=_number(entry.get("traces")),
        line=text["line"],
        failing=text["failing"],
        fixed=text["fixed"],
        change=_number(entry.get("change", entry.get("regression"))),
        severity=text["severity"],
        link=text["link"],
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else 0


def fixing_revision(text: str) -> str:
    """Return the hash that a line such as ``Fixed by: 1a2b3c4`` in ``text`` names, the last one; "" without one."""
    found = _FIXED.findall(text)
    return str(found[-1]).lower() if found else ""


# What a tracker is: the few things that Knickpoint asks of GitHub, GitLab and Jira.


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
        """Return True if the ticket has the comment with this key."""

    def comment(self, ticket: TrackerTicket, key: str, text: str) -> None:
        """Add a comment, Markdown, which gets the mark of ``key``."""

    def relocate(self, ticket: TrackerTicket, was: str, located: str) -> None:
        """Replace the first failing revision ``was`` by ``located`` in the fields of a ticket; other text stays."""

    def finish(self, ticket: TrackerTicket, fixed: str) -> None:
        """Close a ticket whose change is gone; ``fixed`` is the fixing revision, "" where it is unknown."""

    def changed(self, cursor: TrackerCursor) -> ChangedIssues:
        """Return the tickets with the label of Knickpoint that changed since ``cursor``."""


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
        leads = [(change.change, change.trace) for change in changes]
        known = known_ticket(self.store, self.settings.name, leads, thread=message.thread)
        if known is not None:
            try:
                return self._follow(known, message, changes)
            except RefusedError as error:
                if error.status not in GONE:
                    raise
            self._forget(known)
        changes = tuple(replace(change, query=change.query or covered_traces(self.store, change)) for change in changes)
        if not changes or _is_over(message.data, provisional=True):
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

    def _forget(self, ticket: TrackerTicket) -> None:
        """Delete a ticket that was deleted in the tracker, so that its findings match the one that is made again."""
        with self.store.transaction():
            self.store.findings.tracker_tickets.forget(ticket)
            for repository in self.store.commits.repositories():
                self.store.findings.tickets.remove(repository, ticket.name)

    def _follow(self, ticket: TrackerTicket, message: Message, changes: Sequence[TicketFields]) -> Sent:
        if not self.tracker.has_comment(ticket, message.key):
            self.tracker.comment(ticket, message.key, _shortened(f"**{message.subject}**\n\n{message.text}"))
        if (
            self.settings.close
            and ticket.open
            and changes
            and _is_over(message.data)
            and self._others_over(ticket, message)
        ):
            self.tracker.finish(ticket, next((change.fixed for change in changes if change.fixed), ""))
            ticket = replace(ticket, open=False)
        with self.store.transaction():
            self.store.findings.tracker_tickets.put(ticket, threads=[message.thread])
            self.store.findings.tickets.refresh(ticket.name, url=ticket.url, is_open=ticket.open)
        return Sent(ticket.name, ticket.url)

    def _others_over(self, ticket: TrackerTicket, message: Message) -> bool:
        """Return True if all other changes of ``ticket`` are over; a split or a decision may give it several."""
        return all(
            point.is_over or point.announced <= 0 or change_thread(point.announced) == message.thread
            for repository in self.store.commits.repositories()
            for change in changes_of_ticket(self.store, repository, ticket.name)
            for point in change.members
            if point.certainty is Certainty.SETTLED
        )


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
    return (
        tuple(_fields_of_facts(each) for each in entries if isinstance(each, dict)) if isinstance(entries, list) else ()
    )


def known_ticket(
    store: Store, channel: str, leads: Sequence[tuple[int, str]], *, thread: str = ""
) -> TrackerTicket | None:
    """Return the ticket in ``channel`` about changes, each given by its change and the trace that leads it.

    That is the ticket of a leading finding, else of the ``thread`` of a message, else of a change: by a split or merge,
    the findings of a ticket may be in another change than at first.
    """
    table = store.findings.tracker_tickets
    for change, key in leads:
        members = store.findings.live_members(change) if change else []
        linked = next((each.linked_ticket for each in members if each.key == key), "")
        if linked and (found := table.by_channel(channel, linked)):
            return found
    threads = [thread, *(thread_of(change) for change, _ in leads)]
    return table.of_thread(channel, [each for each in threads if each])


def changes_of_ticket(store: Store, repository: Repository, name: str) -> list[Change]:
    """Return the changes with findings of a ticket, by decision or else by match, and these live members alone.

    Findings that a person hid are left out, and improvements where the ticket has regressions.
    """

    def is_own(point: ChangePoint) -> bool:
        return point.linked_ticket == name and point.status is not Status.HIDDEN

    found = list(store.findings.changes(repository, selection=Selection(ticket=name, alert_kinds=None)))
    points = [point for each in found for point in each.members if is_own(point)]
    worse = [point for point in points if point.direction is not Direction.IMPROVEMENT]
    kept = {point.id for point in worse or points}
    members = [tuple(point for point in each.members if point.id in kept) for each in found]
    return [replace(each, members=those) for each, those in zip(found, members, strict=True) if those]


def _fields_of_facts(entry: Mapping[str, Any]) -> TicketFields:
    change, traces = text_of(entry, "id").removeprefix("R"), entry.get("traces")
    return TicketFields(
        repository=text_of(entry, "repository"),
        query=text_of(entry, "query"),
        trace=text_of(entry, "lead", "trace"),
        traces=traces if isinstance(traces, int) else 0,
        line=text_of(entry, "line"),
        failing=text_of(entry, "commit"),
        fixed=text_of(entry, "fixed"),
        change=int(change) if change.isascii() and change.isdecimal() else 0,
        severity=text_of(entry, "severity") or "normal",
        link=text_of(entry, "link"),
    )


def _is_over(data: Mapping[str, object], *, provisional: bool = False) -> bool:
    """Return True if each change of a message is over, or ``provisional`` where that counts as well."""
    entries = data.get("changes")
    for change in entries if isinstance(entries, list) else []:
        announced = change.get("announcements") if isinstance(change, dict) else None
        kind = str(announced[-1]) if isinstance(announced, list) and announced else text_of(change, "kind")
        over = kind in _OVER or (isinstance(change, dict) and change.get("recovered") is True)
        if not over and not (provisional and kind == AnnouncementKind.PROVISIONAL.value):
            return False
    return True


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


# The ticket that a person asks for: about one or several changes, as they are now.


_MOST_TRACES = 20


def draft_ticket(
    channel: TrackerChannel, changes: Sequence[tuple[Repository, Change]], *, key: str, address: str
) -> TicketDraft:
    """Return the ticket about ``changes``, each with its repository and its live members, the lead first.

    ``address`` is the public address of the dashboard, "" without one.
    """
    store = channel.store
    fields = tuple(_change_fields(store, repository, each, address) for repository, each in changes)
    first, more = changes[0][1], len(changes) - 1
    title = f"{_named(_lead(first))}: {_headline(first)}" + (
        f" (and {counted(more, 'further change')})" if more else ""
    )
    body = "\n\n".join(
        _section(store, repository, each, about) for (repository, each), about in zip(changes, fields, strict=True)
    )
    return TicketDraft(key, title_line(title), body, channel.labels(fields), fields)


def _change_fields(store: Store, repository: Repository, change: Change, address: str) -> TicketFields:
    lead = _lead(change)
    (found,) = store.commits.get(repository, [change.suspect_range.slot]) or (None,)
    fields = TicketFields(
        repository=repository.name,
        query="",
        trace=lead.key,
        traces=_traces(change),
        line=change.suspect_range.line,
        failing=found.commit.hash if found else "",
        change=change.id,
        severity=change.alert_severity.value,
        link=f"{address.rstrip('/')}{change_path(change.id)}" if address else "",
    )
    return replace(fields, query=covered_traces(store, fields))


def _section(store: Store, repository: Repository, change: Change, about: TicketFields) -> str:
    heading = f"## R{change.id} in {code_span(about.repository)}: {escape_markdown(_headline(change))}"
    rows = [
        f"- {code_span(_named(point))}: {_amount(point)}, "
        f"{figure_text(point.numbers.before_level, '.4g')} → {figure_text(point.numbers.after_level, '.4g')} {escape_markdown(point.unit)}".rstrip()
        for point in change.members[:_MOST_TRACES]
    ]
    left = _traces(change) - len(rows)
    rows += [f"- and {counted(left, 'further trace')}"] if left > 0 else []
    rows += [f"\n{likely}"] if (likely := _likely(store, repository, change)) else []
    rows += [f"\n{escape_markdown(cause)}"] if (cause := change.statement.cause if change.statement else "") else []
    rows += [f"\nFirst failing revision: {code_span(about.failing)}"]
    rows += [f"\n[Open in the dashboard]({link_target(about.link)})"] if about.link else []
    return "\n".join([heading, "", *rows])


def _named(point: ChangePoint) -> str:
    return plain_line(" ".join(decode_key(point.key).values()), 150)


def _amount(point: ChangePoint) -> str:
    return figure_text(point.numbers.relative_size, "+.1%")


def _lead(change: Change) -> ChangePoint:
    return change.lead or change.members[0]


def _headline(change: Change) -> str:
    return change.statement.headline if change.statement else ""


def _traces(change: Change) -> int:
    stated = change.statement
    return stated.traces if stated else len(change.members)


def _likely(store: Store, repository: Repository, change: Change) -> str:
    """Return the line about the commit that most likely made the change, "" where only the range is known."""
    likely = change.statement.likely if change.statement else None
    (found,) = (store.commits.get(repository, [likely.slot]) if likely else []) or (None,)
    if likely is None or found is None:
        return ""
    commit = found.commit
    why = f"{likely.why}, {percent_text(likely.probability)}" if likely.basis is Basis.BISECTED else likely.why
    about = escape_markdown(
        plain_line(f"{commit.subject} by {commit.author}" if commit.author else commit.subject, 200)
    )
    return f"Most likely commit: {code_span(commit.hash)} {about} ({why})"
