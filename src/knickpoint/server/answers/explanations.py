"""Build the answer why there is, or is not, a finding in a trace; one alert a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from knickpoint.instance import Instance
from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.server.answers.alerts import visible_alerts
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.answers.traces import trace_answer
from knickpoint.server.errors import UnknownError
from knickpoint.server.schemas.explanations import CandidateAnswer, ExplanationAnswer, FlippingAnswer, ModeCauseAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.watch.explanation import (
    AlertExplanation,
    ExplainedCandidate,
    ExplainedFlipping,
    ExplainedStep,
    explain_trace,
)

__all__ = ["explain", "flipping_answer"]

_MOST_REJECTED: Final = 200
"""Rejected candidates in one answer; a long noisy trace has thousands. Accepted candidates are all there."""


def _chosen_alerts(alerts: Sequence[Alert], name: str) -> Sequence[Alert]:
    found = [alert for alert in alerts if alert.name == name] if name else alerts
    if not found:
        known = ", ".join(sorted(alert.name for alert in alerts))
        raise UnknownError(f"there is no alert {name!r}", where="alert", remedy=f"The alerts are: {known}.")
    return found


def explain(
    instance: Instance, visible: VisibleRepositories, key: int, *, line_name: str, alert_name: str, commit: str
) -> ExplanationAnswer:
    """Replay what an alert decides about the trace ``key``: the alert ``alert_name``, or the first that watches it.

    ``line_name`` replaces the line of the alert. ``commit`` keeps the candidates near that commit. "" is no choice.

    Raises:
        UnknownError: there is no such trace or alert.
        HistoryError: there is no such line or commit.
    """
    store = instance.store
    repository, trace = visible.trace(key)
    alerts = [
        replace(alert, line=line_name or alert.line)
        for alert in _chosen_alerts(visible_alerts(instance, visible), alert_name)
    ]
    explanations = explain_trace(store, key, alerts, at=commit or None).alerts
    explanation = next((each for each in explanations if not each.reason), explanations[0])
    detection = explanation.detection
    line = store.commits.line(repository, explanation.line)
    candidates = _without_most_rejected(explanation.candidates)
    steps = {step.sighting.suspect_range.slot: step for step in explanation.steps}
    return ExplanationAnswer(
        trace=trace_answer(trace, repository.name),
        line=line.name,
        method=detection.method if detection else explanation.alert.method,
        alert=explanation.alert.name,
        reason=explanation.reason,
        parameters=_parameters(explanation),
        facts=dict(detection.facts) if detection else {},
        flipping=[flipping_answer(each, line) for each in explanation.flipping],
        candidates=[_candidate_answer(each, line, steps.get(each.commit.slot)) for each in candidates],
        omitted=explanation.omitted + len(explanation.candidates) - len(candidates),
    )


def _parameters(explanation: AlertExplanation) -> dict[str, float | int | str | bool | None]:
    """Return the parameters that the method used; without a detection, those of the alert."""
    used = explanation.detection.parameters if explanation.detection else explanation.alert.parameters
    return {name: value for name, value in used.items() if value is not None}


def flipping_answer(explained: ExplainedFlipping, line: Line) -> FlippingAnswer:
    """Return a stretch that flips between levels, by positions on ``line``."""
    stretch = explained.stretch
    return FlippingAnswer(
        first=line.positions[explained.first.slot],
        last=line.positions[explained.last.slot],
        levels=list(stretch.levels),
        shares=list(stretch.shares),
        fact=explained.cause.fact if explained.cause else "",
        explained=explained.cause.share if explained.cause else None,
        causes=[
            ModeCauseAnswer(text=each.text, level=each.mode, count=each.count, share=each.share)
            for each in (explained.cause.texts if explained.cause else ())
        ],
    )


def _without_most_rejected(candidates: Sequence[ExplainedCandidate]) -> list[ExplainedCandidate]:
    rejected = [each for each in candidates if not each.candidate.accepted]
    left_out = {id(each) for each in rejected[_MOST_REJECTED:]}
    return [each for each in candidates if id(each) not in left_out]


def _candidate_answer(explained: ExplainedCandidate, line: Line, step: ExplainedStep | None) -> CandidateAnswer:
    """Build one candidate; a step that the alert does not report counts as rejected by the alert."""
    candidate = explained.candidate
    if step and candidate.accepted:
        candidate = replace(candidate, checks=(*candidate.checks, *step.evidence))
    refused = step.reason if step and candidate.accepted else ""
    position = line.positions.get(explained.commit.slot, candidate.index)
    point = step.point if step else explained.point
    return CandidateAnswer.of(
        candidate,
        position=position,
        commit=commit_answer(explained.commit.commit, position),
        accepted=candidate.accepted and not refused,
        reason=candidate.reason or refused,
        note=explained.note,
        finding=point.id if point and candidate.accepted else None,
    )
