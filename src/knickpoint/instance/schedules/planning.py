"""Choose what a schedule measures next: new commits by its policy, and missing ones inside the ranges of new findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from knickpoint.bisect.schedule import FillRange, due_commits, useful_commits
from knickpoint.instance.instance import Instance
from knickpoint.instance.schedules.scheduled_line import ScheduledLine, measured_positions
from knickpoint.model.bisection import BisectionState
from knickpoint.model.change import Change
from knickpoint.model.query import parse_query
from knickpoint.store import EventKind
from knickpoint.store.events.outbox import MAIN
from knickpoint.store.schedules import ChosenCommit, ScheduledProbe, ScheduledProbeState, SchedulePurpose

__all__ = ["alerts_are_behind", "budget_is_spent", "plan_fills", "plan_new"]

_FINDINGS_SINCE: Final = timedelta(days=14)
"""Findings that are older are not narrowed by themselves."""

_BISECTED: Final = frozenset({BisectionState.WAITING, BisectionState.RUNNING, BisectionState.CULPRIT})
"""A bisection in these states finds the commit itself, or has found it."""

_BUDGET_PERIOD: Final = timedelta(days=1)
_MOST_COMMITS: Final = 4_000
_GUESSED_SECONDS: Final = 300.0
"""What a probe takes, before one has ended."""


def plan_new(scheduled: ScheduledLine, now: datetime) -> list[ChosenCommit]:
    """Return the new commits that the policy of a schedule wants measured now."""
    return [
        ChosenCommit(each.hash) for each in due_commits(scheduled.commits, scheduled.answered, scheduled.settings, now)
    ]


def plan_fills(instance: Instance, scheduled: ScheduledLine, now: datetime, at_once: int) -> list[ChosenCommit]:
    """Return the missing commits to measure now inside the suspect ranges of new findings, the most useful first.

    ``at_once`` is how many of them are worth measuring at the same time: the devices that could. None are returned while
    alerts have not seen the results of earlier ones, for the range is about to shrink, nor beyond the budget of a day.

    Raises:
        StoreError: the store cannot be read.
    """
    under_way = [
        probe for probe in scheduled.probes if not probe.state.ended and probe.choice.purpose is SchedulePurpose.FILL
    ]
    free = at_once - len(under_way)
    if (
        not scheduled.settings.fill
        or free <= 0
        or budget_is_spent(instance, scheduled, now)
        or alerts_are_behind(instance)
    ):
        return []
    chosen: dict[str, ChosenCommit] = {}
    for finding in _new_findings(instance, scheduled, now):
        for commit in useful_commits(_range_of(instance, scheduled, finding), free - len(chosen)):
            chosen.setdefault(commit, ChosenCommit(commit, purpose=SchedulePurpose.FILL, change=finding.id))
        if len(chosen) >= free:
            break
    return list(chosen.values())


def budget_is_spent(instance: Instance, scheduled: ScheduledLine, now: datetime) -> bool:
    """Return whether the filling of a day has taken its device hours, with what is under way as long as the mean so far."""
    fills = [probe for probe in scheduled.probes if probe.choice.purpose is SchedulePurpose.FILL]
    spent = instance.store.schedules.fill_seconds(scheduled.settings.name, now - _BUDGET_PERIOD)
    return spent + _expected_seconds(fills) >= 3600.0 * scheduled.settings.fill_hours


def alerts_are_behind(instance: Instance) -> bool:
    """Return whether results wait for the alerts."""
    store = instance.store
    runs = [
        run for alert in instance.alerts for run in store.findings.alert_runs.runs(alert.name, last=1, complete=True)
    ]
    after = max((run.started for run in runs), default=None)
    return any(
        each.consumer == MAIN and each.kind is EventKind.TRACES_CHANGED for each in store.outbox.pending(after=after)
    )


def _expected_seconds(probes: Sequence[ScheduledProbe]) -> float:
    ended = [probe.seconds for probe in probes if probe.state.ended]
    mean = sum(ended) / len(ended) if ended else _GUESSED_SECONDS
    return mean * sum(not probe.state.ended for probe in probes)


def _new_findings(instance: Instance, scheduled: ScheduledLine, now: datetime) -> Iterator[Change]:
    """Yield the changes on the line whose ranges are worth filling, the most severe first; history is none of them."""
    query = scheduled.recipe.query
    wanted = (
        set(instance.store.traces.select(scheduled.repository, parse_query(query)).tolist()) if query else frozenset()
    )
    found = instance.store.findings.changes(scheduled.repository, processed=None)
    bisected = instance.store.bisections.of_changes([each.id for each in found])
    for finding in sorted(found, key=lambda each: (-each.severity, each.id)):
        if finding.id in bisected and bisected[finding.id].state in _BISECTED:
            continue
        of_line = finding.suspect_range.line == scheduled.line.name and not finding.history
        new = finding.found is not None and now - finding.found <= _FINDINGS_SINCE
        if of_line and new and (not query or any(member.trace_id in wanted for member in finding.members)):
            yield finding


def _range_of(instance: Instance, scheduled: ScheduledLine, finding: Change) -> FillRange:
    """Return the suspect range of a finding as far as it is open: empty where it cannot be filled."""
    store, interval = instance.store, finding.suspect_range.on(scheduled.line)
    if interval is None or not 1 < interval.commits <= _MOST_COMMITS:
        return FillRange(())
    low, high = interval.previous, interval.position
    slots = scheduled.line.slots[low + 1 : high + 1]
    commits = tuple(each.commit.hash for each in store.commits.get(scheduled.repository, slots))
    measured = {
        place - low - 1 for place in measured_positions(store, scheduled.line, scheduled.recipe, range(low + 1, high))
    }
    chosen = {place: scheduled.chosen[name] for place, name in enumerate(commits) if name in scheduled.chosen}
    # A commit whose results the alerts ignore is not measured again, and one that cannot be built is no answer.
    broken = {ScheduledProbeState.SKIPPED, ScheduledProbeState.FAILED}
    impossible = {place for place, probe in chosen.items() if probe.state in broken}
    ranked = store.findings.suspects.get(finding.id)
    likely = {each.slot: each.probability for each in ranked.suspects} if ranked else {}
    return FillRange(
        commits,
        frozenset(measured | (chosen.keys() - impossible)),
        frozenset(impossible),
        _floored([likely.get(slot, 0.0) for slot in slots]),
    )


def _floored(weights: Sequence[float]) -> tuple[float, ...]:
    """Mix the ranking with equal weights in halves: paths and names are a hint, and no commit is ruled out by them."""
    total = sum(weights)
    if total <= 0:
        return ()
    return tuple(0.5 * weight / total + 0.5 / len(weights) for weight in weights)
