"""The trackers of an instance: open their channels, read back their tickets, and make one for a decision."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knickpoint.instance.instance import Instance
from knickpoint.model.audit import AuditKind
from knickpoint.model.change_point import Condition
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.notify.settings import ChannelKind, ChannelSettings

if TYPE_CHECKING:
    from knickpoint.model.change import Change
    from knickpoint.model.commit import Repository
    from knickpoint.model.ticket import TrackerTicket
    from knickpoint.notify.trackers.sync import TicketSync
    from knickpoint.notify.trackers.tracker_channel import TrackerChannel
    from knickpoint.watch.triage.decisions import Targets

__all__ = ["create_ticket", "open_tracker", "sync_tracker", "trackers"]

_TRACKERS: Final = frozenset({ChannelKind.GITHUB, ChannelKind.GITLAB, ChannelKind.JIRA})


def trackers(instance: Instance) -> dict[str, ChannelSettings]:
    """Return the channels of ``instance`` that are trackers, by name."""
    return {name: settings for name, settings in instance.config.channels.items() if settings.kind in _TRACKERS}


def open_tracker(instance: Instance, name: str) -> TrackerChannel:
    """Open the channel ``name``, which is a tracker.

    Raises:
        InputError: there is no such channel.
        ConfigError: its settings cannot be used.
    """
    from knickpoint.notify.channel import ChannelContext
    from knickpoint.notify.channels.registry import open_channel
    from knickpoint.notify.trackers.tracker_channel import TrackerChannel

    known = trackers(instance)
    if name not in known:
        names = ", ".join(sorted(known)) or "none yet; add [channels.NAME] to knickpoint.toml"
        raise InputError(f"there is no tracker {name!r}", remedy=f"The trackers are: {names}.")
    config = instance.config
    context = ChannelContext(instance.directory, config.server.address, instance.outgoing, config.name, instance.store)
    channel = open_channel(known[name], context)
    if not isinstance(channel, TrackerChannel):
        raise ConfigError("it is no tracker", where=f"[channels.{name}]", remedy="Choose another channel.")
    return channel


def sync_tracker(instance: Instance, name: str) -> TicketSync:
    """Read what changed in the tracker ``name``, and compare closed tickets with the data.

    Raises:
        InputError: there is no such tracker.
        ConfigError: its settings cannot be used.
        DeliveryError: it does not answer as it should.
    """
    from knickpoint.notify.trackers.sync import sync_tickets

    return sync_tickets(open_tracker(instance, name), now=time.time())


@dataclass(frozen=True, slots=True)
class _Found:
    repository: Repository
    change: Change


def create_ticket(instance: Instance, targets: Targets, name: str, *, who: str) -> TrackerTicket:
    """Make one ticket for the findings that ``targets`` name in the tracker ``name``; the caller links it.

    Changes with an open ticket there get no second one: the first of these tickets is returned.

    Raises:
        InputError: there is no such tracker or finding, or nothing is named.
        ConfigError: the settings of the tracker cannot be used.
        DeliveryError: it does not answer as it should.
    """
    from knickpoint.notify.trackers.change_ticket import draft_ticket
    from knickpoint.notify.trackers.tracker_channel import known_ticket
    from knickpoint.store.findings.tracker_tickets import thread_of

    channel, store = open_tracker(instance, name), instance.store
    ids = sorted({*targets.changes, *store.findings.changes_of(targets.points)})
    found = _live_changes(instance, ids)
    heads = [(each.change.id, each.change.lead.key) for each in found if each.change.lead]
    known = known_ticket(store, name, heads)
    if known is not None and known.open:
        return known
    # The key is the same in each attempt, and another one after an earlier ticket was closed.
    leads = [each.change.lead for each in found]
    begun = min((lead.found.isoformat() for lead in leads if lead and lead.found), default="")
    parts = [instance.config.name, name, *(thread_of(key) for key in ids), begun, known.name if known else ""]
    draft = draft_ticket(
        channel,
        [(each.repository, each.change) for each in found],
        key=" ".join(part for part in parts if part),
        address=instance.config.server.address,
    )
    ticket = channel.make(draft)
    about = f"made {ticket.name} in {name} for {', '.join(thread_of(key) for key in ids[:20])}"
    store.audit.append(AuditKind.TICKETS_CHANGED, who, about)
    return ticket


def _live_changes(instance: Instance, ids: Sequence[int]) -> list[_Found]:
    """Return the changes ``ids`` with their live members, the one that got worst first."""
    store = instance.store
    repositories = {each.name: each for each in store.commits.repositories()}
    found = []
    for key in ids:
        change = store.findings.change(key)
        live = tuple(each for each in change.members if each.condition is not Condition.GONE)
        if not live:
            raise InputError(
                f"change {key} has no members any more",
                remedy="The data no longer show it; there is nothing to file.",
            )
        found.append(_Found(repositories[change.repository], replace(change, members=live)))
    if not found:
        raise InputError("no finding is named", remedy="Name one, as in knick triage R12 --create CHANNEL.")
    return sorted(found, key=lambda each: -each.change.severity)
