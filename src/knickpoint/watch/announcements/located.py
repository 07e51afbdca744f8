"""Announce the commit that a bisection found, once, in the chain that announced the change."""

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
from knickpoint.watch.announcements.decisions import OVER

__all__ = ["announce_located"]


def announce_located(
    store: Store, repository: Repository, regression_id: int, located: SuspectRange, *, now: datetime
) -> Announcement | None:
    """Announce that the change of a regression lies at the one commit of ``located``; return the announcement.

    None where nothing is to be said: the change was not announced, it is over, or this commit was named already.
    """
    ledger = store.findings.announcements
    with store.transaction():
        chains: dict[int, list[Announcement]] = defaultdict(list)
        for row in ledger.of_regression(regression_id):
            chains[row.chain].append(row)
        live = {point.announced for point in store.findings.live_members(regression_id)}
        standing = [chain for chain, rows in sorted(chains.items()) if chain in live and _stands(rows)]
        if not standing or _names(chains[standing[0]], located):
            return None
        last = chains[standing[0]][-1]
        row = replace(
            last,
            id=ledger.next_id(),
            number=last.number + 1,
            regression_id=regression_id,
            kind=AnnouncementKind.LOCATED,
            time=now,
            suspect_range=located,
            interval=0,
            cause_id=0,
        )
        ledger.append([row])
        store.outbox.publish(Announced(repository.name, [row.id], False))  # noqa: FBT003 - none is left out
    return row


def _stands(rows: Sequence[Announcement]) -> bool:
    last = rows[-1]
    over = last.kind in OVER or last.kind is AnnouncementKind.WITHDRAWN or last.condition is not Condition.PRESENT
    return not over and not last.provisional


def _names(rows: Sequence[Announcement], located: SuspectRange) -> bool:
    return any(row.kind is AnnouncementKind.LOCATED and row.suspect_range == located for row in rows)
