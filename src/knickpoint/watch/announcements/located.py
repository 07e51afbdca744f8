"""Announce what a bisection found, or that it did not find the commit, once, in the chain that announced the change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from knickpoint.model.announcement import Announcement, AnnouncementKind
from knickpoint.model.commit import Repository
from knickpoint.model.regression import Condition, SuspectRange
from knickpoint.store import Store
from knickpoint.store.events.payloads import Announced

__all__ = ["announce_bisected", "announce_located"]


def announce_located(
    store: Store, repository: Repository, regression_id: int, located: SuspectRange, *, now: datetime
) -> Announcement | None:
    """Announce that the change of a regression lies at the one commit of ``located``; return the announcement.

    None where nothing is to be said: the change was not announced, it is over, or this commit was named already.
    """
    with store.transaction():
        chain = _standing_chain(store, regression_id)
        if not chain or _names(chain, located):
            return None
        row = replace(chain[-1], kind=AnnouncementKind.LOCATED, suspect_range=located, interval=0)
        return _append(store, repository, regression_id, row, now)


def announce_bisected(
    store: Store, repository: Repository, regression_id: int, left: SuspectRange, *, now: datetime
) -> Announcement | None:
    """Announce that a bisection ended without the one commit; ``left`` is the suspect range now. Return the announcement.

    None where nothing is to be said: the change was not announced, or it is over.
    """
    with store.transaction():
        chain = _standing_chain(store, regression_id)
        if not chain:
            return None
        row = replace(chain[-1], kind=AnnouncementKind.BISECTED, suspect_range=left)
        return _append(store, repository, regression_id, row, now)


def _standing_chain(store: Store, regression_id: int) -> Sequence[Announcement]:
    """Return the first chain about a regression that still stands, empty without one."""
    chains: dict[int, list[Announcement]] = defaultdict(list)
    for row in store.findings.announcements.of_regression(regression_id):
        chains[row.chain].append(row)
    live = {point.announced for point in store.findings.live_members(regression_id)}
    return next((rows for chain, rows in sorted(chains.items()) if chain in live and _stands(rows)), ())


def _append(store: Store, repository: Repository, regression_id: int, row: Announcement, now: datetime) -> Announcement:
    """Add ``row``, which has the numbers of the last one, to the end of its chain."""
    ledger = store.findings.announcements
    number = row.number + 1
    added = replace(row, id=ledger.next_id(), number=number, regression_id=regression_id, time=now, cause_id=0)
    ledger.append([added])
    store.outbox.publish(Announced(repository.name, [added.id], False))  # noqa: FBT003 - none is left out
    return added


def _stands(rows: Sequence[Announcement]) -> bool:
    last = rows[-1]
    return last.condition is Condition.PRESENT and not last.provisional


def _names(rows: Sequence[Announcement], located: SuspectRange) -> bool:
    return any(row.kind is AnnouncementKind.LOCATED and row.suspect_range == located for row in rows)
