"""What a change of alerts would show people, and why an alert does not announce a real change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from knickpoint.model.alert import Alert
from knickpoint.store import Store
from knickpoint.watch.backtest.backtest import Backtest, BacktestBounds, backtest
from knickpoint.watch.backtest.score import Outcome, ScoredFinding
from knickpoint.watch.explanation import AlertExplanation, explain_trace

# Replay a change of alerts in the traces that it is about: what people would have seen before, and after.


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
    """Return the counts of findings that ``before`` would have announced, and ``after`` in its place."""
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


# Explain why an alert does not announce a change that people call real, from the data as they are now.


MOST_EXPLAINED: Final = 100
"""Lost changes that are explained: each costs a detection with all of its candidates."""


def lost_reasons(store: Store, result: Backtest) -> dict[ScoredFinding, str]:
    """Return the reason for which each of the first lost changes of ``result`` was lost, by finding."""
    lost = [each for each in result.score.findings if each.outcome is Outcome.LOST][:MOST_EXPLAINED]
    rows = {trace.key: trace.id for trace in result.history.traces}
    alert = replace(result.alert, repository="")
    return {each: _reason(store, alert, rows[each.trace_key], result, each) for each in lost}


def _reason(store: Store, alert: Alert, trace: int, result: Backtest, lost: ScoredFinding) -> str:
    commit = result.history.commits[lost.position].hash
    (explained,) = explain_trace(store, trace, [alert], at=commit).alerts
    return explained.reason or _of_steps(explained) or _of_candidates(explained)


def _of_steps(explained: AlertExplanation) -> str:
    """Return the fate of the step near the change, "" if the method finds none."""
    reasons: Sequence[str] = [step.reason for step in explained.steps]
    if not reasons:
        return ""
    refused = next((reason for reason in reasons if reason), "")
    unsettled = next((step.sighting.settlement.reason for step in explained.steps), "")
    known = "the alert has not run since these results came in"
    if refused and refused != known:
        return refused
    return unsettled or "it was found, and belongs to a change that was not announced on its own"


def _of_candidates(explained: AlertExplanation) -> str:
    rejected = next((each.candidate.reason for each in explained.candidates if each.candidate.reason), "")
    return f"the method rejects it: {rejected}" if rejected else "the method considers no step here"
