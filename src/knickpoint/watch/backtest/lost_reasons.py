"""Say why an alert does not announce a change that people call real, from the data as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from knickpoint.model.alert import Alert
from knickpoint.store import Store
from knickpoint.watch.backtest.backtest import Backtest
from knickpoint.watch.backtest.score import Outcome, ScoredFinding
from knickpoint.watch.explanation import AlertExplanation, explain_trace

__all__ = ["MOST_EXPLAINED", "lost_reasons"]

MOST_EXPLAINED: Final = 100
"""Lost changes that are explained: each costs a detection with all of its candidates."""


def lost_reasons(store: Store, result: Backtest) -> dict[ScoredFinding, str]:
    """Return why each of the first lost changes of ``result`` was lost, by finding."""
    lost = [each for each in result.score.findings if each.outcome is Outcome.LOST][:MOST_EXPLAINED]
    rows = {trace.key: trace.id for trace in result.history.traces}
    alert = replace(result.alert, repository="")
    return {each: _reason(store, alert, rows[each.trace_key], result, each) for each in lost}


def _reason(store: Store, alert: Alert, trace: int, result: Backtest, lost: ScoredFinding) -> str:
    commit = result.history.commits[lost.position].hash
    (explained,) = explain_trace(store, trace, [alert], at=commit).alerts
    return explained.reason or _of_steps(explained) or _of_candidates(explained)


def _of_steps(explained: AlertExplanation) -> str:
    """Return what became of the step near the change, "" where the method finds none."""
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
