"""Read back what people changed in a tracker, in batches, and compare closed tickets with the data.

The tickets come that changed since the last time. One that the store does not know, because the answer to its creation was
lost or the store was restored, is known by the block in its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from knickpoint.model.commit import Repository
from knickpoint.model.regression import ChangePoint
from knickpoint.model.ticket import FixVerdict, TicketFields, TrackerTicket
from knickpoint.notify.channel import DeliveryError
from knickpoint.notify.trackers.ticket_text import read_block
from knickpoint.notify.trackers.tracker import Issue
from knickpoint.notify.trackers.tracker_channel import TrackerChannel
from knickpoint.store import Store
from knickpoint.store.findings.selection import Selection
from knickpoint.watch.triage.ticket_fixes import compare_fix

__all__ = ["TicketSync", "sync_tickets"]

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
    channel.keep(replace(issue, ticket=taken), () if known is not None else _without_regressions(changes))


def _without_regressions(changes: Sequence[TicketFields]) -> tuple[TicketFields, ...]:
    """Return ``changes`` by their traces alone: in a restored store, an id may be that of another regression."""
    return tuple(replace(change, regression=0) for change in changes)


def _compare_closed(channel: TrackerChannel) -> tuple[TrackerTicket, ...]:
    """Compare the closed tickets with a fixing revision that the data do not speak about yet; each verdict is one comment."""
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
    """Return the live change points of a ticket, by decision or by match."""
    selection = Selection(ticket=name, alert_kinds=None)
    regressions = store.findings.regressions(repository, selection=selection)
    return [member for regression in regressions for member in regression.members]
