"""Announce what a bisection found, or that it did not find the commit, once, in the chain that announced the change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from knickpoint.model.announcement import Announcement, AnnouncementKind
from knickpoint.model.change_point import Condition, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.store import Store
from knickpoint.store.events.payloads import Announced

__all__ = ["announce_bisected", "announce_located"]


def announce_located(
    store: Store, repository: Repository, change_id: int, located: SuspectRange, *, now: datetime, trace_id: int = 0
) -> Announcement | None:
    """Announce that a change lies at the one commit of ``located``; return the announcement.

    ``trace_id`` is the trace that was searched: of several changes that were announced there, it is that one.

    None where nothing is to be said: the change was not announced, it is over, or this commit was named already.
    """
    with store.transaction():
        chain = _standing_chain(store, change_id, trace_id)
        if not chain or _names(chain, located):
            return None
        row = replace(chain[-1], kind=AnnouncementKind.LOCATED, suspect_range=located, interval=0)
        return _append(store, repository, change_id, row, now)


def announce_bisected(
    store: Store, repository: Repository, change_id: int, left: SuspectRange, *, now: datetime, trace_id: int = 0
) -> Announcement | None:
    """Announce that a bisection ended without the one commit; ``left`` is the suspect range now. Return the announcement.

    None where nothing is to be said: the change was not announced, or it is over.
    """
    with store.transaction():
        chain = _standing_chain(store, change_id, trace_id)
        if not chain:
            return None
        row = replace(chain[-1], kind=AnnouncementKind.BISECTED, suspect_range=left)
        return _append(store, repository, change_id, row, now)


def _standing_chain(store: Store, change_id: int, trace_id: int) -> Sequence[Announcement]:
    """Return the first chain about a change that still stands, that of the searched trace first; empty without one."""
    chains: dict[int, list[Announcement]] = defaultdict(list)
    for row in store.findings.announcements.of_change(change_id):
        chains[row.chain].append(row)
    live = store.findings.live_members(change_id)
    searched = {point.announced for point in live if point.trace_id == trace_id}
    standing = {point.announced for point in live if _stands(chains.get(point.announced, ()))}
    return chains[min(standing, key=lambda chain: (chain not in searched, chain))] if standing else ()


def _append(store: Store, repository: Repository, change_id: int, row: Announcement, now: datetime) -> Announcement:
    """Add ``row``, which has the numbers of the last one, to the end of its chain."""
    ledger = store.findings.announcements
    number = row.number + 1
    added = replace(row, id=ledger.next_id(), number=number, change_id=change_id, time=now, cause_id=0)
    ledger.append([added])
    store.outbox.publish(Announced(repository.name, [added.id], False))  # noqa: FBT003 - none is left out
    return added


def _stands(rows: Sequence[Announcement]) -> bool:
    return bool(rows) and rows[-1].condition is Condition.PRESENT and not rows[-1].provisional


def _names(rows: Sequence[Announcement], located: SuspectRange) -> bool:
    return any(row.kind is AnnouncementKind.LOCATED and row.suspect_range == located for row in rows)
