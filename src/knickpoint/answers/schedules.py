"""Schedules: which commits are measured, what waits, and the budget of filling."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer, ChangeId
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.instance import Instance
from knickpoint.instance.schedules import ScheduleStatus, describe_policy, schedule_status
from knickpoint.store.schedules import ScheduledProbe


class ScheduledProbeAnswer(Answer):
    """A probe of a schedule: a commit that is measured, or was."""

    schedule: str
    commit: str = Field(description="Hash of the commit.")
    purpose: str = Field(description="Why it was chosen: `new`, `fill` or `requested`.")
    change: ChangeId | None = Field(description="The change whose suspect range it narrows; null without one.")
    pins: dict[str, str] = Field(
        description="The commits of other repositories that it is measured with, by repository."
    )
    state: str = Field(description="`waiting`, `running`, `measured`, `skipped` or `failed`.")
    attempts: int = Field(description="How often a device began with it.")
    device: str
    seconds: float = Field(description="Time that it took of a device.")
    chosen: datetime
    reason: str = Field(description="Why it waits, or has no results; empty without a reason.")


class ScheduleAnswer(Answer):
    """A schedule as it stands now."""

    name: str
    repository: str
    branch: str
    policy: str = Field(description="Which commits it measures, in words.")
    new: int = Field(description="Commits newer than the last one that it measured.")
    due: datetime | None = Field(description="When the next commit is measured at the latest; null where none is new.")
    states: dict[str, int] = Field(description="Number of its probes by state.")
    fill_hours: float = Field(description="Device hours that filling suspect ranges may take in 24 hours.")
    fill_spent_hours: float = Field(description="Device hours that filling took in the last 24 hours.")
    problem: str = Field(description="Why it cannot be run, or that it falls behind; empty where all is well.")
    remedy: str
    last: ScheduledProbeAnswer | None = Field(description="Its probe that ended last; null before the first.")
    newest: list[ScheduledProbeAnswer] = Field(description="Its newest probes, at most 20.")


# Build the answer about schedules: what they measure, what waits, what filling may still take.


_MOST_PROBES: Final = 20


def list_schedules(instance: Instance, visible: VisibleRepositories) -> list[ScheduleAnswer]:
    """List the schedules of the configuration whose repository the caller may read, by name."""
    now = datetime.now(UTC)
    repositories = {each.name: each for each in visible.all()}
    answers = []
    for name, settings in sorted(instance.config.schedule.items()):
        status = schedule_status(instance, name, now)
        # A schedule that cannot be run has no line, and the repository that its recipe names.
        owner = status.repository or instance.config.bisect[settings.recipe].repository
        if owner in repositories or visible.is_everything:
            found = instance.store.schedules.of_schedule(repositories[owner], name) if owner in repositories else ()
            answers.append(_answer(instance, name, status, owner, found))
    return answers


def _answer(
    instance: Instance, name: str, status: ScheduleStatus, repository: str, probes: Iterable[ScheduledProbe]
) -> ScheduleAnswer:
    newest = sorted(probes, key=lambda probe: -probe.id)[:_MOST_PROBES]
    day = datetime.now(UTC) - timedelta(days=1)
    return ScheduleAnswer(
        name=name,
        repository=repository,
        branch=status.branch,
        policy=describe_policy(status.settings),
        new=len(status.new.commits),
        due=status.new.due,
        states={state.value: count for state, count in status.counts.items()},
        fill_hours=status.settings.fill_hours if status.settings.fill else 0.0,
        fill_spent_hours=instance.store.schedules.fill_seconds(name, day) / 3600.0,
        problem=status.problem,
        remedy=status.remedy,
        last=probe_answer(status.last) if status.last else None,
        newest=[probe_answer(probe) for probe in newest],
    )


def probe_answer(probe: ScheduledProbe) -> ScheduledProbeAnswer:
    """Return a probe of a schedule."""
    return ScheduledProbeAnswer.of(
        probe,
        commit=probe.choice.commit,
        purpose=probe.choice.purpose.value,
        change=probe.choice.change or None,
        pins=dict(probe.choice.pins),
        state=probe.state.value,
    )
