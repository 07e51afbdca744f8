"""Replay a change of alerts in the traces that it is about: what people would have seen before, and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from knickpoint.model.alert import Alert
from knickpoint.store import Store
from knickpoint.watch.backtest.backtest import BacktestBounds, backtest
from knickpoint.watch.backtest.score import Outcome

__all__ = ["ReplayedCounts", "replay_change"]


@dataclass(frozen=True, slots=True)
class ReplayedCounts:
    """Real changes found, noise announced, and messages."""

    found: int = 0
    noise: int = 0
    messages: int = 0

    def __add__(self, other: ReplayedCounts) -> ReplayedCounts:
        """Return the counts of both."""
        return ReplayedCounts(self.found + other.found, self.noise + other.noise, self.messages + other.messages)


def replay_change(store: Store, before: Alert, after: Sequence[Alert]) -> tuple[ReplayedCounts, ReplayedCounts]:
    """Return what ``before`` would have announced, and what ``after`` in its place, in the traces with its findings."""
    concerned = {
        repository.id: frozenset(
            record.trace_id for record in store.findings.records.all(repository) if before.name in record.methods
        )
        for repository in store.commits.repositories()
    }
    return _counts(store, [before], concerned), _counts(store, after, concerned)


def _counts(store: Store, alerts: Sequence[Alert], concerned: dict[int, frozenset[int]]) -> ReplayedCounts:
    total = ReplayedCounts()
    for repository in store.commits.repositories():
        for alert in alerts:
            if alert.repository not in {"", repository.name} or not concerned[repository.id]:
                continue
            bounds = BacktestBounds(among=concerned[repository.id])
            score = backtest(store, repository, alert, bounds=bounds).score
            total += ReplayedCounts(score.count(Outcome.FOUND), score.count(Outcome.NOISE), score.messages)
    return total
