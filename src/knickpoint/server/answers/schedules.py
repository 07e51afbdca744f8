"""Build the answer about schedules: what they measure, what waits, what filling may still take."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from knickpoint.instance import Instance
from knickpoint.instance.schedules import ScheduleStatus, describe_policy, schedule_status
from knickpoint.server.schemas.schedules import ScheduleAnswer, ScheduledProbeAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store.schedules import ScheduledProbe

__all__ = ["list_schedules", "probe_answer"]

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
