"""Read back what people changed in a tracker, in batches, and compare closed tickets with the data.

The tickets come that changed since the last time. One that the store does not know, because the answer to its creation
was lost or the store was restored, is known by the block in its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from knickpoint.model.change_point import ChangePoint
from knickpoint.model.commit import Repository
from knickpoint.model.notification import FixVerdict, TicketFields, TrackerTicket
from knickpoint.model.params import decode_key
from knickpoint.model.query import parse_query
from knickpoint.model.statement import Change
from knickpoint.notify.channel import DeliveryError, RefusedError
from knickpoint.notify.trackers.tracker_channel import GONE, Issue, TrackerChannel, changes_of_ticket, read_block
from knickpoint.store import Store
from knickpoint.store.findings.tickets import Ticket
from knickpoint.watch.announcements.due_findings import Places
from knickpoint.watch.lines import Lines
from knickpoint.watch.triage.tickets import compare_fix

_WORDS = {
    FixVerdict.FIXED: "**Fixed**: since `{revision}`, the measured traces are back at the level before the change.",
    FixVerdict.NOT_FIXED: "**Not fixed**: since `{revision}`, a measured trace is not back at the level before the change.",
    FixVerdict.NOT_MEASURED: "**Not measured yet**: there are too few results since `{revision}`.",
}


@dataclass(frozen=True, slots=True)
class TicketSync:
    """The result of a sync: how many tickets the tracker named, and what was said about closed ones.

    ``waits`` is how many seconds the tracker still does not want to be asked.
    """

    read: int = 0
    compared: tuple[TrackerTicket, ...] = ()
    waits: float = 0.0


def sync_tickets(channel: TrackerChannel, *, now: float) -> TicketSync:
    """Read the tickets of ``channel`` that changed, and compare those that were closed with a fixing revision.

    Open tickets get the first failing revision of a change that was located since.

    ``now`` is the time in seconds since 1970.

    Raises:
        DeliveryError: the tracker does not answer as it should. If it says when to ask again, it is not asked before.
    """
    table, name = channel.store.findings.tracker_tickets, channel.settings.name
    cursor = table.cursor(name)
    if cursor.resume > now:
        return TicketSync(waits=cursor.resume - now)
    try:
        changed = channel.tracker.changed(cursor)
        for issue in changed.issues:
            _take(channel, issue)
        _relocate_open(channel)
        compared = _compare_closed(channel)
    except DeliveryError as error:
        if error.wait_seconds:
            table.set_cursor(name, replace(cursor, resume=now + error.wait_seconds))
        raise
    table.set_cursor(name, changed.cursor)
    return TicketSync(len(changed.issues), compared)


def _take(channel: TrackerChannel, issue: Issue) -> None:
    """Keep what the tracker says about a ticket; one without a block that was not made here is left alone."""
    table = channel.store.findings.tracker_tickets
    known = table.by_channel(channel.settings.name, issue.ticket.name)
    _, changes = read_block(issue.body)
    if known is None and not changes:
        return
    fixed = issue.ticket.fixed or next((change.fixed for change in changes if change.fixed), "")
    taken = replace(issue.ticket, fixed=fixed)
    if known is not None and (known.fixed, known.open) == (taken.fixed, taken.open):
        taken = replace(taken, verdict=known.verdict, checked=known.checked)
    # Rows of a known ticket were made from the store; those of an unknown one can only come from its text.
    channel.keep(replace(issue, ticket=taken), () if known is not None else _without_changes(changes))


def _without_changes(changes: Sequence[TicketFields]) -> tuple[TicketFields, ...]:
    """Return ``changes`` by their traces alone: in a restored store, an id may be that of another change."""
    return tuple(replace(change, change=0) for change in changes)


def _relocate_open(channel: TrackerChannel) -> None:
    """Write the first failing revision of open tickets whose change was located since, there and here."""
    store = channel.store
    names = {each.name: each for each in store.findings.tracker_tickets.all(channel.settings.name) if each.open}
    for repository in store.commits.repositories():
        places = Places(store, Lines(store, repository))
        for row in store.findings.tickets.all(repository):
            slot = _located(places, repository, row) if row.name in names else row.slot
            if slot == row.slot:
                continue
            hashes = {each.slot: each.commit.hash for each in store.commits.get(repository, [row.slot, slot])}
            try:
                channel.tracker.relocate(names[row.name], hashes[row.slot], hashes[slot])
            except RefusedError as error:
                if error.status not in GONE:
                    raise
            store.findings.tickets.relocate(repository, row, slot)


def _located(places: Places, repository: Repository, row: Ticket) -> int:
    """The first commit of the change that a row of a ticket is about.

    That of the row while the data do not contradict it.

    Where the traces have several changes, those with a row of their own are left out, and the most severe one counts.
    """
    query, store = parse_query(row.query), places.store
    taken = {each.slot for each in store.findings.tickets.all(repository) if each.name == row.name}
    found = [
        each
        for each in changes_of_ticket(store, repository, row.name)
        if any(query.matches(decode_key(member.key)) for member in each.members)
    ]
    slots = [_first_failing(each, places) for each in sorted(found, key=lambda each: (-each.severity, each.id))]
    return row.slot if row.slot in slots else next((slot for slot in slots if slot not in taken), row.slot)


def _first_failing(change: Change, places: Places) -> int:
    """Return the first commit of a change, or of the lead of these members, where a merge gave it another place."""
    lead, slot = min(change.members, key=lambda point: point.rank), change.suspect_range.slot
    return slot if places.may_lie_at(lead, slot) else lead.suspect_range.slot


def _compare_closed(channel: TrackerChannel) -> tuple[TrackerTicket, ...]:
    """Compare the closed tickets with a fixing revision that the data do not speak about yet.

    Each verdict is one comment.
    """
    compared = []
    for ticket in channel.store.findings.tracker_tickets.all(channel.settings.name):
        is_known = ticket.checked == ticket.fixed and ticket.verdict in {FixVerdict.FIXED, FixVerdict.NOT_FIXED}
        if ticket.open or not ticket.fixed or is_known:
            continue
        verdict = _verdict(channel.store, ticket)
        if (verdict, ticket.fixed) == (ticket.verdict, ticket.checked):
            continue
        key = f"verdict {ticket.name} {ticket.fixed} {verdict.value}"
        if not channel.tracker.has_comment(ticket, key):
            channel.tracker.comment(ticket, key, _WORDS[verdict].format(revision=ticket.fixed))
        done = replace(ticket, verdict=verdict, checked=ticket.fixed)
        compared.append(channel.store.findings.tracker_tickets.put(done))
    return tuple(compared)


def _verdict(store: Store, ticket: TrackerTicket) -> FixVerdict:
    verdicts = {
        compare_fix(store, repository, points, ticket.fixed)
        for repository in store.commits.repositories()
        if (points := _points(store, repository, ticket.name))
    }
    order = (FixVerdict.NOT_FIXED, FixVerdict.FIXED)
    return next((verdict for verdict in order if verdict in verdicts), FixVerdict.NOT_MEASURED)


def _points(store: Store, repository: Repository, name: str) -> list[ChangePoint]:
    """Return the live change points of a ticket."""
    return [member for change in changes_of_ticket(store, repository, name) for member in change.members]
