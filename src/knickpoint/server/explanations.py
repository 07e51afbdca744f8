"""Say why there is, or is not, a finding in a trace: replay what an alert does, and keep every number."""

from __future__ import annotations

from typing import Final

import numpy as np

from knickpoint.detect import explain as explain_series
from knickpoint.instance import Instance
from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.params import decode_key
from knickpoint.model.query import parse_query
from knickpoint.model.step import Candidate, Check, Detection
from knickpoint.server.answers import CandidateAnswer, CheckAnswer, CommitAnswer, ExplanationAnswer
from knickpoint.server.commits import list_commits
from knickpoint.server.finite import finite
from knickpoint.server.traces import find_trace, repository_of, trace_answer
from knickpoint.store import Store
from knickpoint.watch.lines import Lines
from knickpoint.watch.looking import in_window
from knickpoint.watch.seeing import refusal, sightings_of

__all__ = ["explain"]

_MOST: Final = 200
"""Candidates told; those of a long noisy trace fill pages otherwise. What was accepted is always told."""


def _watching(instance: Instance, trace: Trace, repository: Repository, name: str) -> Alert:
    """Return the alert ``name``, or the first that watches ``trace``."""
    alerts = sorted(instance.alerts, key=lambda alert: alert.name)
    if name:
        found = next((alert for alert in alerts if alert.name == name), None)
        if found is None:
            known = ", ".join(alert.name for alert in alerts)
            raise InputError(f"there is no alert {name!r}", where="alert", remedy=f"The alerts are: {known}.")
        return found
    params = decode_key(trace.key)
    for alert in alerts:
        if alert.repository in {"", repository.name} and parse_query(alert.query).matches(params):
            return alert
    raise InputError(
        "no alert watches this trace", where=trace.key, remedy="Widen the query of an alert in knickpoint.toml."
    )


def explain(instance: Instance, key: int, line_name: str, alert_name: str) -> ExplanationAnswer:
    """Replay what an alert does with the trace ``key`` on a line.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line.
        InputError: there is no such alert, or none that watches the trace.
    """
    store = instance.store
    trace = find_trace(store, key)
    repository = repository_of(store, [trace])
    alert = _watching(instance, trace, repository, alert_name)
    line = store.commits.line(repository, line_name or alert.line)
    frame = store.frames.read(line, [key])
    values = np.asarray(in_window(frame.values, alert.window)[0], dtype=np.float64)
    detection = explain_series(values, method=alert.method, **alert.parameters)
    refusals = _refusals(store, alert, frame, detection)
    told = _told(detection)
    commits = _commits(store, line, told)
    return ExplanationAnswer(
        trace=trace_answer(trace, repository.name),
        line=line.name,
        method=detection.method,
        alert=alert.name,
        parameters={name: value for name, value in detection.parameters.items() if value is not None},
        facts={name: finite(value) for name, value in detection.facts.items()},
        candidates=[
            _candidate(own, commits[own.index], refusals.get(own.index, "")) for own in told if own.index in commits
        ],
        omitted=len(detection.candidates) - len(told),
    )


def _refusals(store: Store, alert: Alert, frame: Frame, detection: Detection) -> dict[int, str]:
    """Return index → why the alert does not report a step that the method found."""
    lines = Lines(store, frame.line.repository)
    seen = sightings_of(alert.name, frame.traces[0], frame, detection.steps, lines)
    return {step.index: refusal(alert, own) for step, own in zip(detection.steps, seen, strict=True)}


def _told(detection: Detection) -> list[Candidate]:
    rejected = [own for own in detection.candidates if not own.accepted]
    room = max(0, _MOST - len(detection.steps))
    kept = {id(own) for own in rejected[:room]}
    return [own for own in detection.candidates if own.accepted or id(own) in kept]


def _commits(store: Store, line: Line, told: list[Candidate]) -> dict[int, CommitAnswer]:
    found = {}
    for position in sorted({own.index for own in told}):
        commits = list_commits(store, line, position, 1).commits
        if commits:
            found[position] = commits[0]
    return found


def _candidate(candidate: Candidate, commit: CommitAnswer, refused: str) -> CandidateAnswer:
    return CandidateAnswer(
        position=candidate.index,
        commit=commit,
        accepted=candidate.accepted and not refused,
        reason=candidate.reason or refused,
        checks=[_check(own) for own in candidate.checks],
    )


def _check(check: Check) -> CheckAnswer:
    return CheckAnswer(
        name=check.name,
        value=finite(check.value),
        relation=check.relation,
        bound=finite(check.bound),
        passed=check.passed,
    )
