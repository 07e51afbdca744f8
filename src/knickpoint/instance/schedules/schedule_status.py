"""The standing of a schedule: what waits, what runs, whether it falls behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from knickpoint.bisect.schedule import Waiting, waiting_commits
from knickpoint.bisect.settings import ScheduleMode, ScheduleSettings
from knickpoint.instance.instance import Instance
from knickpoint.instance.schedules.planning import ScheduledLine, read_scheduled_line
from knickpoint.model.errors import KnickpointError
from knickpoint.store.schedules import ScheduledProbe, ScheduledProbeState

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
