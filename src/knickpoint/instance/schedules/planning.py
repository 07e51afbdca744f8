"""Choose what a schedule measures next, new commits and missing ones in suspect ranges; and say how it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

import numpy as np

from knickpoint.bisect.schedule import FillRange, Waiting, due_commits, useful_commits, waiting_commits
from knickpoint.bisect.settings import RecipeSettings, ScheduleMode, ScheduleSettings
from knickpoint.instance.instance import Instance
from knickpoint.model.bisection import BisectionState
from knickpoint.model.commit import Commit, Line, Repository
from knickpoint.model.errors import ConfigError, KnickpointError
from knickpoint.model.query import parse_query
from knickpoint.model.statement import Change
from knickpoint.store import EventKind, Store
from knickpoint.store.events import MAIN
from knickpoint.store.schedules import ChosenCommit, ScheduledProbe, ScheduledProbeState, SchedulePurpose

# Read what a schedule decides about: the end of its line, which commits are measured, what it chose before.


_NEWEST: Final = 2_000
"""How far a schedule looks back on its line."""

_MOST_TRACES: Final = 256
"""Of so many traces of a recipe, spread over all of them, one with a value says that a commit is measured."""


@dataclass(frozen=True)
class ScheduledLine:
    """A schedule with its recipe, the line that it measures, and its probes, in the order in which it chose them.

    ``commits`` are the newest of the line, oldest first. ``measured`` has the hashes of those with results.
    """

    settings: ScheduleSettings
    recipe: RecipeSettings
    repository: Repository
    line: Line
    commits: tuple[Commit, ...]
    measured: frozenset[str]
    probes: tuple[ScheduledProbe, ...]

    @cached_property
    def chosen(self) -> dict[str, ScheduledProbe]:
        """Hash → probe of the commits that the schedule chose."""
        return {probe.choice.commit: probe for probe in self.probes}

    @cached_property
    def answered(self) -> frozenset[str]:
        """The commits that are measured, or were chosen before, whatever became of them."""
        return self.measured | self.chosen.keys()


def read_scheduled_line(instance: Instance, name: str) -> ScheduledLine:
    """Read what the schedule ``name`` decides about; the lines are as the last look at the repository left them.

    Raises:
        ConfigError: its repository is not clear, or has no line of its branch.
        StoreError: the store cannot be read.
    """
    settings = instance.config.schedule[name]
    recipe = instance.config.bisect[settings.recipe]
    store = instance.store
    repository = store.commits.add_repository(*_named(instance, repository_of(instance, recipe, name)))
    lines = store.commits.lines(repository)
    if settings.branch and settings.branch not in lines:
        raise ConfigError(
            f"there is no line of the branch {settings.branch!r}",
            where=f"[schedule.{name}]",
            remedy=f"Its lines are {', '.join(lines[:12]) or 'none'}; add the branch to branches of "
            f"[repositories.{repository.name}].",
        )
    line = store.commits.line(repository, settings.branch)
    first = max(0, len(line.slots) - _NEWEST)
    commits = tuple(each.commit for each in store.commits.get(repository, line.slots[first:]))
    measured = measured_positions(store, line, recipe, range(first, len(line.slots)))
    hashes = frozenset(commits[position - first].hash for position in measured)
    return ScheduledLine(
        settings, recipe, repository, line, commits, hashes, tuple(store.schedules.of_schedule(repository, name))
    )


def repository_of(instance: Instance, recipe: RecipeSettings, schedule: str) -> str:
    """Return the name of the repository that a schedule measures. Raises ``ConfigError`` where it is not clear."""
    names = [name for name, settings in instance.repositories.items() if settings.location]
    if recipe.repository in names:
        return recipe.repository
    if not recipe.repository and len(names) == 1:
        return names[0]
    what = f"{recipe.repository!r} is not a git repository" if recipe.repository else "no repository is named"
    raise ConfigError(
        what,
        where=f"[schedule.{schedule}], recipe {recipe.name!r}",
        remedy="Name in repository of the recipe a repository that has a location.",
    )


def measured_positions(store: Store, line: Line, recipe: RecipeSettings, positions: range) -> set[int]:
    """Return those of ``positions`` on ``line`` with a run that has values of the recipe's traces, if it names any."""
    with_runs = store.runs.slots(line.repository)
    found = {position for position in positions if line.slots[position] in with_runs}
    if not recipe.query or not found:
        return found
    ids = store.traces.select(line.repository, parse_query(recipe.query))
    spread = ids[:: max(1, len(ids) // _MOST_TRACES)]
    if not len(spread):
        return set()
    values = store.frames.values(line, spread, first=positions.start, last=positions.stop - 1)
    measured = np.flatnonzero((~np.isnan(values)).any(axis=0)) + positions.start
    return found & set(measured.tolist())


def _named(instance: Instance, name: str) -> tuple[str, str]:
    from knickpoint.model.plain_text import without_secrets

    return name, without_secrets(instance.repositories[name].location)


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

    ``at_once`` is how many of them are worth measuring at the same time: the devices that could. None are returned
    while alerts have not seen the results of earlier ones, for the range is about to shrink, nor beyond the budget of a
    day.

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
    """Return True if the filling of a day has used its device hours, with running jobs counted at the mean so far."""
    fills = [probe for probe in scheduled.probes if probe.choice.purpose is SchedulePurpose.FILL]
    spent = instance.store.schedules.fill_seconds(scheduled.settings.name, now - _BUDGET_PERIOD)
    return spent + _expected_seconds(fills) >= 3600.0 * scheduled.settings.fill_hours


def alerts_are_behind(instance: Instance) -> bool:
    """Return True if results wait for the alerts."""
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
    # A commit whose results the alerts ignore is not measured again, and one that cannot be built is not an answer.
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


# Choose the commits of the other repositories that take part in the probes of a schedule.


def pins_for(instance: Instance, recipe: RecipeSettings) -> tuple[tuple[str, str], ...]:
    """Return (repository, hash) for the other repositories of a recipe, sorted by repository.

    The hash is that of the newest commit that a schedule of that repository chose and that can be measured, so that the
    rule of that schedule says when it moves. Without such a schedule, it is the tip of the default line.

    Raises:
        ConfigError: one of the repositories has no commits.
    """
    return tuple((name, _pin(instance, name)) for name in sorted(recipe.also))


def _pin(instance: Instance, name: str) -> str:
    store = instance.store
    repository = next((each for each in store.commits.repositories() if each.name == name), None)
    line = store.commits.line(repository) if repository else None
    if repository is None or line is None or not line.slots:
        raise ConfigError(
            f"the repository {name!r} has no commits yet",
            where="also",
            remedy=f"Give [repositories.{name}] a location.",
        )
    chosen = [
        probe
        for schedule, settings in instance.config.schedule.items()
        if repository_of(instance, instance.config.bisect[settings.recipe], schedule) == name
        for probe in store.schedules.of_schedule(repository, schedule)
        if probe.state not in {ScheduledProbeState.SKIPPED, ScheduledProbeState.FAILED}
    ]
    hashes = {probe.choice.commit for probe in chosen}
    # The newest on the line counts, and not the one that was chosen last: filling a range goes back.
    for slot in reversed(line.slots if hashes else ()):
        commit = store.commits.get(repository, [slot])[0].commit.hash
        if commit in hashes:
            return commit
    return store.commits.get(repository, [line.slots[-1]])[0].commit.hash


_LATE: Final = timedelta(minutes=30)
"""How long after its time a commit may be chosen: a worker looks every few seconds."""


@dataclass(frozen=True, slots=True)
class ScheduleStatus:
    """A schedule as it stands now.

    ``new`` are the commits that are newer than the last measured one. ``counts`` has the number of its probes by state.
    ``problem`` says why it cannot be run, or that it falls behind, with what to do in ``remedy``; both "" where all is
    well.
    """

    settings: ScheduleSettings
    repository: str = ""
    branch: str = ""
    new: Waiting = field(default_factory=Waiting)
    counts: Mapping[ScheduledProbeState, int] = field(default_factory=dict)
    last: ScheduledProbe | None = None
    problem: str = ""
    remedy: str = ""


def describe_policy(settings: ScheduleSettings) -> str:
    """Return in words which commits a schedule measures."""
    if settings.mode is ScheduleMode.EVERY:
        return f"every {settings.commits} commits or {settings.minutes:g} min"
    return "each commit" if settings.mode is ScheduleMode.EACH else "what findings and requests ask for"


def schedule_status(instance: Instance, name: str, now: datetime) -> ScheduleStatus:
    """Return the standing of the schedule ``name``, as the last look at its repository left it."""
    settings = instance.config.schedule[name]
    try:
        scheduled = read_scheduled_line(instance, name)
    except KnickpointError as error:
        return ScheduleStatus(settings, branch=settings.branch, problem=error.message, remedy=error.remedy)
    new = waiting_commits(scheduled.commits, scheduled.answered, settings, now)
    problem, remedy = _problem(scheduled, new, now)
    return ScheduleStatus(
        settings,
        scheduled.repository.name,
        scheduled.line.name,
        new,
        Counter(probe.state for probe in scheduled.probes),
        max(
            (probe for probe in scheduled.probes if probe.ended),
            key=lambda probe: (probe.ended, probe.id),
            default=None,
        ),
        problem,
        remedy,
    )


def _problem(scheduled: ScheduledLine, new: Waiting, now: datetime) -> tuple[str, str]:
    """Return the reason for which a schedule falls behind, and the remedy."""
    open_probes = [probe for probe in scheduled.probes if not probe.state.ended]
    without_device = next((each for each in open_probes if each.reason and not each.attempts), None)
    if without_device is not None:
        remedy = f"Lend a device with knick agent, or correct params of the recipe {scheduled.recipe.name!r}."
        return without_device.reason, remedy
    patience = timedelta(minutes=max(60.0, 2 * scheduled.settings.minutes))
    late = [probe for probe in open_probes if now - probe.chosen > patience]
    if late:
        reason = late[0].reason or "no device is free"
        since = f"{late[0].chosen:%Y-%m-%d %H:%M} UTC"
        remedy = "Lend more devices with knick agent, or let the schedule measure fewer commits."
        return f"{late[0].choice.commit[:10]} waits since {since}: {reason}", remedy
    if new.due is not None and now - new.due > _LATE:
        due = f"{new.due:%Y-%m-%d %H:%M} UTC"
        return f"a measurement was due at {due}", "Keep knick worker running, or run knick schedule run --once."
    return "", ""
