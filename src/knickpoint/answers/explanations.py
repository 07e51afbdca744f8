"""The explanation of one trace: every candidate with its checks, its drifts, and its flips between levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic import Field

from knickpoint.answers.alerts import visible_alerts
from knickpoint.answers.base import Answer, ChangePointId, FiniteOrNull
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.traces import TraceAnswer, trace_answer
from knickpoint.answers.visible_repositories import UnknownError, VisibleRepositories
from knickpoint.instance import Instance
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint, Condition
from knickpoint.model.commit import Line
from knickpoint.model.params import decode_key
from knickpoint.model.query import parse_query
from knickpoint.watch.explanation import (
    AlertExplanation,
    ExplainedCandidate,
    ExplainedFlipping,
    ExplainedStep,
    explain_trace,
)
from knickpoint.watch.lines import Lines

# The explanation of a trace: every candidate of the method, with its checks.


class CheckAnswer(Answer):
    """One number that the method compared with a bound."""

    name: str
    value: FiniteOrNull
    relation: str
    bound: FiniteOrNull
    passed: bool


class CandidateAnswer(Answer):
    """A position at which the method considered a step."""

    position: int
    commit: CommitAnswer
    accepted: bool = Field(description="Whether the method found a step there and the alert reports it.")
    reason: str = Field(description="Why it was rejected; empty when it was accepted.")
    note: str = Field(
        description="What the trace is to the cluster that steps there, and since which run; empty where the method "
        "judges each trace alone."
    )
    finding: ChangePointId | None = Field(description="Id of its change point.")
    checks: list[CheckAnswer]


class ModeCauseAnswer(Answer):
    """The values measured where a fact of the runs had one text, and the level that most of them are at."""

    text: str
    level: int = Field(description="Index into `levels`.")
    count: int = Field(description="Number of these values.")
    share: float = Field(description="The share of them at this level.")


class FlippingAnswer(Answer):
    """A stretch of the trace that flips between levels: its jumps are not changes."""

    first: int = Field(description="Position of its first commit.")
    last: int = Field(description="Position of its last commit.")
    levels: list[float] = Field(description="The levels, ascending, in the unit of the trace.")
    shares: list[float] = Field(description="The share of the values at each level.")
    fact: str = Field(
        description="The fact of the runs that explains the levels, such as `runner`; empty where none does."
    )
    explained: FiniteOrNull = Field(
        description="The share of the values at the level that the fact says; null without one."
    )
    causes: list[ModeCauseAnswer] = Field(description="The level that each value of the fact coincides with.")


class ExplanationAnswer(Answer):
    """Why there is, or is not, a finding."""

    trace: TraceAnswer
    line: str
    method: str
    alert: str
    reason: str = Field(description="Why the alert does not judge the trace; empty where it does.")
    parameters: dict[str, float | int | str | bool | None]
    facts: dict[str, FiniteOrNull]
    flipping: list[FlippingAnswer]
    candidates: list[CandidateAnswer]
    omitted: int = Field(
        description="Number of candidates that are left out: too many, or not near the commit of the request."
    )


# Build the answer why there is, or is not, a finding in a trace; one alert a request.


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

    ``line_name`` replaces the line of the alert. ``commit`` keeps the candidates near that commit. "" is not a choice.

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


# What the values of a trace follow besides levels: drifts, and stretches that flip between levels.


class DriftAnswer(Answer):
    """A drift: the level moves in a straight line, from the last commit before it to its last one."""

    finding: ChangePointId
    first: int = Field(description="Position of the last commit before it.")
    last: int = Field(description="Position of its last commit.")
    before: float = Field(description="The level where it begins, in the unit of the trace.")
    after: float = Field(description="The level where it ends.")
    low: FiniteOrNull = Field(description="It moves the level by at least this (95 %); null where that is unknown.")
    high: FiniteOrNull = Field(description="It moves the level by at most this (95 %); null where that is unknown.")


class PatternsAnswer(Answer):
    """The drifts of a trace that are there now, and the stretches in which it flips, in the order of the line."""

    drifts: list[DriftAnswer]
    flipping: list[FlippingAnswer]


# Build the answer about the patterns of a trace: its drifts, and the stretches in which it flips between levels.


def read_patterns(instance: Instance, visible: VisibleRepositories, key: int, line_name: str) -> PatternsAnswer:
    """Return the patterns of the trace ``key`` on a line, as the first alert sees them that watches it.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line.
    """
    store = instance.store
    repository, trace = visible.trace(key)
    line = store.commits.line(repository, line_name)
    lines = Lines(store, repository)
    points = [
        replace(point, suspect_range=lines.current(point.suspect_range)) for point in store.findings.change_points(key)
    ]
    drifts = [drift for point in points if (drift := _drift(point, line)) is not None]
    params = decode_key(trace.key)
    # One alert after the other: each detects by itself, and the first one that does is enough.
    explained = next(
        (
            each
            for alert in sorted(visible_alerts(instance, visible), key=lambda alert: alert.name)
            if parse_query(alert.query).matches(params)
            for each in explain_trace(store, key, [replace(alert, line=line_name or alert.line)]).alerts
            if not each.reason
        ),
        None,
    )
    return PatternsAnswer(
        drifts=sorted(drifts, key=lambda drift: drift.first),
        flipping=[flipping_answer(each, line) for each in explained.flipping] if explained else [],
    )


def _drift(point: ChangePoint, line: Line) -> DriftAnswer | None:
    """Return a change point as a drift on ``line``, None where it is none, or is gone or elsewhere."""
    suspects = point.suspect_range.on(line)
    last = None if point.until is None else line.positions.get(point.until)
    if point.condition is Condition.GONE or suspects is None or last is None:
        return None
    numbers = point.numbers
    return DriftAnswer(
        finding=point.id,
        first=suspects.previous,
        last=last,
        before=numbers.before_level,
        after=numbers.after_level,
        low=numbers.low,
        high=numbers.high,
    )
