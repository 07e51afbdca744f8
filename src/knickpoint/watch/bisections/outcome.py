"""Write the outcome of a bisection: its state, the range of its regression, one announcement, all in one transaction."""

from __future__ import annotations

from datetime import UTC, datetime

from knickpoint.model.bisection import BisectionState
from knickpoint.store import Store
from knickpoint.store.bisections import BisectionAnswer, StoredBisection
from knickpoint.watch.announcements.located import announce_located
from knickpoint.watch.regressions.membership import MovedPoints, regroup

__all__ = ["put_on_finding"]


def put_on_finding(
    store: Store, bisection: StoredBisection, answer: BisectionAnswer, holder: str, *, now: datetime | None = None
) -> StoredBisection:
    """End a bisection that ``holder`` coordinates, and put its answer onto its regression; return the bisection.

    The suspect range of the regression becomes what was found, as long as the data place the change in the commits that
    were searched. A culprit of a change that was announced is announced once, in the same chain.

    Raises:
        BusyError: another worker coordinates the bisection, or it ended.
    """
    time = now or datetime.now(UTC)
    asked = bisection.request
    with store.transaction():
        ended = store.bisections.finish(bisection.id, holder, answer, time)
        if asked.regression_id and answer.suspect_range is not None:
            members = store.findings.live_members(asked.regression_id)
            moved = MovedPoints(
                frozenset(member.id for member in members), frozenset(member.suspect_range for member in members)
            )
            repository = store.findings.repository_of(asked.regression_id)
            regroup(store, repository, moved=moved)
            located = store.findings.groups.suspect_ranges(repository).get(asked.regression_id)
            if answer.state is BisectionState.CULPRIT and located == answer.suspect_range:
                announce_located(store, repository, asked.regression_id, located, now=time)
    return ended
