"""Replay the alerts over one trace: every candidate, every check, every filter.

The replay does what a run does with this trace (:mod:`knickpoint.watch.detection`) and writes nothing. It keeps
the candidates that the method rejected, and follows each step that the method accepted to its change point, or to the
filter that refused it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import makes_clusters
from knickpoint.detect.methods.default.siblings.found_places import ASKED
from knickpoint.detect.samples import sample_evidence
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint, Condition, Sighting
from knickpoint.model.cluster import KeptCluster, KeptMember, MemberState
from knickpoint.model.commit import Line, Repository, SlottedCommit, short_name
from knickpoint.model.errors import AbsentError, HistoryError, InputError
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.params import decode_key
from knickpoint.model.quarantine import QuarantineState
from knickpoint.model.query import parse_query
from knickpoint.model.step import Candidate, Check, Detection, Step
from knickpoint.store import Store
from knickpoint.watch.alert_validation import missing_reference, reason_against, reason_of
from knickpoint.watch.bisections import bisection_text
from knickpoint.watch.detection.alert_settings import find_reference, watched_traces
from knickpoint.watch.detection.filters import refusal
from knickpoint.watch.detection.sightings import evidence_of, sightings_of
from knickpoint.watch.explanation.parts import (
    AlertExplanation,
    ExplainedBisection,
    ExplainedCandidate,
    ExplainedChange,
    ExplainedFlipping,
    ExplainedQuarantine,
    ExplainedStep,
    Explanation,
    JudgedTrace,
    judge_trace,
    read_mode_cause,
)
from knickpoint.watch.identity import REACH
from knickpoint.watch.lines import Lines
from knickpoint.watch.suspects.machine import find_machine_change
from knickpoint.watch.trend import distribution_note


def find_trace_in(store: Store, trace: int | str) -> tuple[Repository, Trace]:
    """Return the trace of an id or a key, with its repository.

    Raises:
        InputError: there is none.
    """
    key = trace
    if isinstance(trace, int):
        try:
            key = store.traces.get([trace])[0].key
        except AbsentError:
            key = ""
    for repository in store.commits.repositories():
        for found in store.traces.find(repository, str(key)):
            if trace in {found.id, found.key}:
                return repository, found
    raise InputError(
        f"there is no trace {trace!r}",
        remedy="Give a trace key, as in ,benchmark=parse,os=linux, or the id of a trace.",
    )


def _not_watched(store: Store, alert: Alert, lines: Lines, trace: Trace) -> str:
    failure, repository = reason_against(alert, ()) or reason_of(missing_reference(alert, lines)), lines.repository
    if failure:
        return f"the alert cannot run: {failure}"
    if alert.repository not in {"", repository.name}:
        return f"the alert watches the repository {alert.repository!r}"
    if not parse_query(alert.query).matches(decode_key(trace.key)):
        return f"the query {alert.query!r} does not match the trace"
    if trace.id not in watched_traces(store, alert, repository):
        return "the trace is a canary, and the alert has no query that names it"
    return ""


def _note(cluster: KeptCluster, member: KeptMember) -> str:
    """Return the part of a trace in a cluster, and the run since which it has it."""
    name = f"cluster C{cluster.id}" + (", which later data no longer show" if cluster.gone else "")
    if member.state is MemberState.FORMER:
        return f"former member of {name}, until run {member.run}"
    if member.state is MemberState.LEFT_OUT:
        return f"left out of {name} since run {member.run}"
    joined = "joined" if member.joined else "among its first members,"
    return f"member {member.rank} of {name}, {joined} in run {member.run}"


def _distance(measured: NDArray[np.int64], at: int | None, previous: int, position: int) -> int:
    """Return the number of measured commits between ``at`` and a step's range, 0 if its range holds ``at``."""
    if at is None or previous < at <= position:
        return 0
    ranks = np.searchsorted(measured, [at, position])
    return abs(int(ranks[0]) - int(ranks[1]))


def _near(measured: NDArray[np.int64], at: int | None, previous: int, position: int) -> bool:
    """Return True if a step in (previous, position] is asked for: the range holds ``at``, or is near to it."""
    return _distance(measured, at, previous, position) <= REACH


@dataclass(frozen=True, slots=True)
class _Subject:
    """The trace to explain, with its change points, and the slot to which the explanation is limited, None for all."""

    store: Store
    lines: Lines
    trace: Trace
    points: tuple[ChangePoint, ...]
    at: int | None

    def commits(self, slots: Sequence[int]) -> dict[int, SlottedCommit]:
        wanted = sorted(set(slots))
        return {found.slot: found for found in self.store.commits.get(self.lines.repository, wanted)}

    def explain(self, alert: Alert) -> AlertExplanation:
        reason = _not_watched(self.store, alert, self.lines, self.trace)
        line = self.lines.line(alert.line)
        if reason:
            return AlertExplanation(alert, line.name, reason)
        if makes_clusters(alert.method):
            return self._explain_clusters(alert, line)

        # Detect as a run does, and keep the candidates.
        judged = judge_trace(self.store, alert, line, self.trace)
        frame, detection = judged.frame, judged.detection

        # Keep what is near the commit that is asked for.
        measured = np.flatnonzero(~np.isnan(judged.points))
        at = None if self.at is None else line.positions.get(self.at, -1)
        near = [found for found in detection.candidates if _near(measured, at, found.index, found.index)]
        commits = self.commits([int(frame.slots[found.index]) for found in near])
        candidates = [
            ExplainedCandidate(commits[int(frame.slots[found.index])], found)
            for found in near
            if int(frame.slots[found.index]) in commits
        ]
        candidates += self._asked(alert, line, measured, at)
        return AlertExplanation(
            alert,
            line.name,
            "",
            detection,
            tuple(candidates),
            self._steps(alert, judged, measured, at),
            len(detection.candidates) - len(near),
            self._flipping(detection, frame, judged.values),
        )

    def _asked(self, alert: Alert, line: Line, measured: NDArray[np.int64], at: int | None) -> list[ExplainedCandidate]:
        """Return the change points that the trace shows only where others of its family step, as the last run did."""
        found = [
            (position, each)
            for each in self.points
            if alert.name in each.alerts
            and each.numbers.method == ASKED
            and each.condition is not Condition.GONE
            and (position := line.positions.get(each.suspect_range.slot)) is not None
            and _near(measured, at, position, position)
        ]
        commits = self.commits([each.suspect_range.slot for _, each in found])
        return [
            ExplainedCandidate(
                commits[each.suspect_range.slot],
                Candidate(
                    position, accepted=True, checks=(Check("its levels apart (standard errors)", each.numbers.score),)
                ),
                "a member: it moved where others of its family step, and is judged at their places alone",
                each,
            )
            for position, each in found
        ]

    def _flipping(
        self, detection: Detection, frame: Frame, values: NDArray[np.float64]
    ) -> tuple[ExplainedFlipping, ...]:
        slots = [(int(frame.slots[each.first]), int(frame.slots[each.last])) for each in detection.flipping]
        commits = self.commits([slot for pair in slots for slot in pair])
        return tuple(
            ExplainedFlipping(
                commits[first],
                commits[last],
                stretch,
                read_mode_cause(self.store, frame, values, stretch),
            )
            for (first, last), stretch in zip(slots, detection.flipping, strict=True)
            if first in commits and last in commits
        )

    def _explain_clusters(self, alert: Alert, line: Line) -> AlertExplanation:
        """Explain by what the last run kept: the clusters that the trace was judged for, with the verdict on it."""
        frame = self.store.frames.read(line, [self.trace.id])
        measured = np.flatnonzero(~np.isnan(frame.values[0])) + frame.first
        at = None if self.at is None else line.positions.get(self.at, -1)
        clusters = [
            each
            for each in self.store.findings.clusters.of_trace(self.trace.id)
            if each.alert == alert.name and each.suspect_range.slot in line.positions
        ]
        commits = self.commits([each.suspect_range.slot for each in clusters])
        points = {point.id: point for point in self.points}
        found = []
        for each in sorted(clusters, key=lambda each: line.positions[each.suspect_range.slot]):
            position = line.positions[each.suspect_range.slot]
            (member,) = each.members
            if not _near(measured, at, position, position):
                continue
            accepted = member.state is MemberState.MEMBER and not each.gone
            reason = "" if accepted else member.verdict.reason or "the last run did not find it in this cluster"
            candidate = Candidate(position, accepted, member.verdict.checks, reason)
            found.append(
                ExplainedCandidate(
                    commits[each.suspect_range.slot], candidate, _note(each, member), points.get(member.point_id)
                )
            )
        reason = (
            ""
            if clusters
            else (
                f"the method {alert.method} judges traces together, and the last run found no step of a cluster with "
                "this trace"
            )
        )
        return AlertExplanation(alert, line.name, reason, None, tuple(found), (), len(clusters) - len(found))

    def _steps(
        self, alert: Alert, judged: JudgedTrace, measured: NDArray[np.int64], at: int | None
    ) -> tuple[ExplainedStep, ...]:
        """Return the steps that are asked for, each with what the alert does with it."""
        frame, detection = judged.frame, judged.detection
        older = {
            int(frame.slots[step.index]) for step in detection.steps if alert.window and step.index <= judged.reported
        }
        steps = [step for step in detection.steps if _near(measured, at, step.previous, step.index)]
        chosen = {step.index for step in steps}
        sightings = [
            sighting
            for step, sighting in zip(
                detection.steps,
                sightings_of(
                    alert.name,
                    frame,
                    0,
                    detection.steps,
                    self.lines,
                    settlements=judged.settlements,
                    reference=find_reference(alert, self.lines.line(alert.line), self.lines),
                ),
                strict=True,
            )
            if step.index in chosen
        ]
        steps = [step for step in detection.steps if step.index in chosen]
        commits = self.commits([sighting.suspect_range.slot for sighting in sightings])
        return tuple(
            ExplainedStep(
                sighting,
                commits[sighting.suspect_range.slot],
                *self._reason_and_point(alert, sighting, older=sighting.suspect_range.slot in older),
                (
                    *evidence_of(judged.values, step).checks(),
                    *(sample_evidence(step, judged.commits) if judged.commits else ()),
                ),
                self._machine(sighting),
                _distance(measured, at, step.previous, step.index),
                self._note(judged, step),
            )
            for step, sighting in zip(steps, sightings, strict=True)
        )

    def _note(self, judged: JudgedTrace, step: Step) -> str:
        """Describe the change of the distribution at a change of the noise or of the modes, "" for other kinds."""
        if not step.kind.changes_distribution:
            return ""
        sides = [(side.first, side.last) for side in (step.before, step.after)]
        return distribution_note(judged.values, sides, self.trace.unit)

    def _machine(self, sighting: Sighting) -> str:
        """Describe the change of the machine at a step, "" without one."""
        line = self.lines.line(sighting.suspect_range.line)
        return str(find_machine_change(self.store, line, sighting.suspect_range, [sighting.trace_id]) or "")

    def _reason_and_point(self, alert: Alert, sighting: Sighting, *, older: bool) -> tuple[str, ChangePoint | None]:
        """Return the reason for which the alert does not report the sighting, "" if it does, and its change point."""
        refused = refusal(alert, sighting)
        if refused:
            return refused.reason, None
        for point in self.points:
            here = (point.suspect_range.slot, point.movement) == (sighting.suspect_range.slot, sighting.movement)
            if here and alert.name in point.alerts:
                return "", point
        if older:
            return f"it lies before the alert's window of the last {alert.window:,} values", None
        if alert.minimum_traces > 1:
            return f"fewer than {alert.minimum_traces} traces of its group moved here", None
        return "the alert has not run since these results came in", None


def explain_trace(
    store: Store, trace: int | str, alerts: Sequence[Alert], *, at: str | int | None = None
) -> Explanation:
    """Replay what ``alerts`` do with ``trace`` (its id or its key), without writing anything.

    ``at`` keeps what is near one commit, given as a revision or as a slot: candidates and steps within
    :data:`~knickpoint.watch.identity.REACH` measured commits of it, and those whose suspect range holds it.

    Raises:
        InputError: there is no such trace, or an alert cannot be used.
        HistoryError: there is no such commit.
    """
    repository, found = find_trace_in(store, trace)
    lines = Lines(store, repository)
    commit = _commit(store, repository, at)
    points = tuple(store.findings.change_points(found.id, gone=True))
    frame = store.frames.read(lines.default, [found.id])
    measured = np.flatnonzero(~np.isnan(frame.values[0]))
    slot = commit.slot if commit else None
    subject = _Subject(store, lines, found, points, slot)
    explained = tuple(subject.explain(alert) for alert in sorted(alerts, key=lambda alert: alert.name))
    position = None if slot is None else lines.default.positions.get(slot, -1)
    near = tuple(
        point
        for point in points
        if position is None
        or ((within := lines.interval(point.suspect_range)) and _near(measured, position, *astuple(within)))
    )
    quarantines = _quarantines(store, lines, found, measured, position)
    bisections = _bisections(store, repository, near)
    changes = _changes(store, repository, near)
    return Explanation(
        found, repository.name, int(measured.size), commit, explained, near, quarantines, bisections, changes
    )


def _bisections(store: Store, repository: Repository, points: Sequence[ChangePoint]) -> tuple[ExplainedBisection, ...]:
    """Return the newest bisection of each change of ``points``, by change."""
    changes = {point.change_id for point in points if point.change_id}
    newest = store.bisections.of_changes(changes)
    return tuple(
        ExplainedBisection(key, bisection_text(store, repository, found)) for key, found in sorted(newest.items())
    )


def _changes(store: Store, repository: Repository, points: Sequence[ChangePoint]) -> tuple[ExplainedChange, ...]:
    """Return the changes of ``points`` as they are stated, by id."""
    stated = store.findings.statements.of_changes({point.change_id for point in points if point.change_id})
    named = sorted({slot for each in stated.values() for slot in each.named_slots})
    names = {each.slot: short_name(each.commit.hash) for each in store.commits.get(repository, named)}
    return tuple(
        ExplainedChange(key, each.headline, each.direction, each.condition, each.details(names), each.cause)
        for key, each in sorted(stated.items())
    )


def _quarantines(
    store: Store, lines: Lines, trace: Trace, measured: NDArray[np.int64], at: int | None
) -> tuple[ExplainedQuarantine, ...]:
    """Return the results of ``trace`` near ``at`` that take no part in its levels, in the order of the default line."""
    out = [state for state in QuarantineState if state.withholds]
    positions = lines.default.positions
    concerned = {
        position: stored.quarantine
        for stored in store.quarantines.stored(lines.repository, states=out)
        if trace.id in stored.trace_ids
        and (position := positions.get(stored.quarantine.slot)) is not None
        and _near(measured, at, position - 1, position)
    }
    slots = sorted({each.slot for each in concerned.values()})
    commits = {each.slot: each for each in store.commits.get(lines.repository, slots)}
    return tuple(ExplainedQuarantine(commits[each.slot], each) for _, each in sorted(concerned.items()))


def _commit(store: Store, repository: Repository, at: str | int | None) -> SlottedCommit | None:
    if at is None:
        return None
    found = (
        store.commits.find(repository, at)
        if isinstance(at, str)
        else next(iter(store.commits.get(repository, [at])), None)
    )
    if found is None:
        raise HistoryError(
            f"there is no commit {at!r}", where=repository.name, remedy="Give a full hash, its beginning, or a number."
        )
    return found
