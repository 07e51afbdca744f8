"""Say why there is, or is not, a finding in a trace, for the dashboard: one alert at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from knickpoint.instance import Instance
from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.model.step import Check
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.answers.traces import find_trace, repository_of, trace_answer
from knickpoint.server.schemas.explanations import CandidateAnswer, CheckAnswer, ExplanationAnswer
from knickpoint.server.schemas.finite import finite
from knickpoint.watch.explanation import AlertExplanation, ExplainedCandidate, ExplainedStep, explain_trace

__all__ = ["explain"]

_MOST: Final = 200
"""Rejected places told; those of a long noisy trace fill pages otherwise. What was accepted is always told."""


def _chosen(instance: Instance, name: str) -> list[Alert]:
    if not name:
        return list(instance.alerts)
    found = [alert for alert in instance.alerts if alert.name == name]
    if not found:
        known = ", ".join(sorted(alert.name for alert in instance.alerts))
        raise InputError(f"there is no alert {name!r}", where="alert", remedy=f"The alerts are: {known}.")
    return found


def explain(instance: Instance, key: int, line_name: str, alert_name: str, commit: str) -> ExplanationAnswer:
    """Replay what an alert does with the trace ``key``: the one that is named, else the first that looks at it.

    ``line_name`` replaces the line of the alert, ``commit`` keeps what is near that commit; "" leaves both open.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line or commit.
        InputError: there is no such alert.
    """
    store = instance.store
    trace = find_trace(store, key)
    repository = repository_of(store, [trace])
    alerts = [replace(alert, line=line_name or alert.line) for alert in _chosen(instance, alert_name)]
    told = explain_trace(store, key, alerts, at=commit or None).alerts
    own = next((each for each in told if not each.reason), told[0])
    line = store.commits.line(repository, own.line)
    kept = _kept(own.candidates)
    fates = {step.sighting.suspect_range.slot: step for step in own.steps}
    return ExplanationAnswer(
        trace=trace_answer(trace, repository.name),
        line=line.name,
        method=own.detection.method if own.detection else own.alert.method,
        alert=own.alert.name,
        reason=own.reason,
        parameters=_parameters(own),
        facts={name: finite(value) for name, value in own.detection.facts.items()} if own.detection else {},
        candidates=[_candidate(each, line, fates.get(each.commit.slot)) for each in kept],
        omitted=own.omitted + len(own.candidates) - len(kept),
    )


def _parameters(own: AlertExplanation) -> dict[str, float | int | str | bool | None]:
    effective = own.detection.parameters if own.detection else own.alert.parameters
    return {name: value for name, value in effective.items() if value is not None}


def _kept(candidates: Sequence[ExplainedCandidate]) -> list[ExplainedCandidate]:
    rejected = [each for each in candidates if not each.candidate.accepted]
    left_out = {id(each) for each in rejected[_MOST:]}
    return [each for each in candidates if id(each) not in left_out]


def _candidate(own: ExplainedCandidate, line: Line, fate: ExplainedStep | None) -> CandidateAnswer:
    """Shape a place; what the method accepted and the alert does not report counts as rejected by the alert."""
    candidate = own.candidate
    refused = fate.reason if fate and candidate.accepted else ""
    position = line.positions.get(own.commit.slot, candidate.index)
    return CandidateAnswer(
        position=position,
        commit=commit_answer(own.commit.commit, position),
        accepted=candidate.accepted and not refused,
        reason=candidate.reason or refused,
        finding=fate.point.id if fate and fate.point and candidate.accepted else None,
        checks=[_check(each) for each in candidate.checks],
    )


def _check(check: Check) -> CheckAnswer:
    return CheckAnswer(
        name=check.name,
        value=finite(check.value),
        relation=check.relation,
        bound=finite(check.bound),
        passed=check.passed,
    )
