"""Write the outcome of a bisection: its state, the range of its change, one announcement, all in one transaction."""

from __future__ import annotations

from datetime import UTC, datetime

from knickpoint.model.bisection import BisectionState
from knickpoint.store import Store
from knickpoint.store.bisections import BisectionAnswer, StoredBisection
from knickpoint.watch.announcements.located import announce_bisected, announce_located
from knickpoint.watch.changes.membership import MovedPoints, regroup

__all__ = ["put_on_finding"]


def put_on_finding(
    store: Store, bisection: StoredBisection, answer: BisectionAnswer, holder: str, *, now: datetime | None = None
) -> StoredBisection:
    """End a bisection that ``holder`` coordinates, and put its answer onto its change; return the bisection.

    The suspect range of the change becomes what was found, as long as the data allow the change there. How the bisection of an announced change ended is announced once, in the same chain, unless a person
    stopped it or an earlier bisection found the same commit.

    Raises:
        BusyError: another worker coordinates the bisection, or it ended.
    """
    time = now or datetime.now(UTC)
    asked = bisection.request
    with store.transaction():
        ended = store.bisections.finish(bisection.id, holder, answer, time)
        if not asked.change_id or answer.state is BisectionState.STOPPED:
            return ended
        repository = next(each for each in store.commits.repositories() if each.id == asked.repository_id)
        if answer.suspect_range is not None:
            members = store.findings.live_members(asked.change_id)
            regroup(store, repository, moved=MovedPoints.of(members))
        current = store.findings.groups.suspect_ranges(repository).get(asked.change_id)
        if current is None:
            return ended
        found = answer.state is BisectionState.CULPRIT and current == answer.suspect_range
        announce = announce_located if found else announce_bisected
        announce(store, repository, asked.change_id, current, now=time, trace_id=asked.trace_id)
    return ended
