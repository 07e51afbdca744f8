"""Build the answer about schedules: what they measure, what waits, what filling may still take."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from knickpoint.instance import Instance
from knickpoint.instance.schedules import ScheduleStatus, describe_policy, schedule_status
from knickpoint.model.commit import Repository
from knickpoint.server.schemas.schedules import ScheduleAnswer, ScheduledProbeAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store.schedules import ScheduledProbe

__all__ = ["list_schedules"]

_MOST_PROBES: Final = 20


def list_schedules(instance: Instance, visible: VisibleRepositories) -> list[ScheduleAnswer]:
    """List the schedules of the configuration whose repository the caller may read, by name."""
    now = datetime.now(UTC)
    repositories = {each.name: each for each in visible.all()}
    answers = []
    for name, settings in sorted(instance.config.schedule.items()):
        status = schedule_status(instance, name, now)
        # A schedule that cannot be run has no line, and the repository that its recipe names.
        repository = repositories.get(status.repository or instance.config.bisect[settings.recipe].repository)
        if repository is not None:
            answers.append(_answer(instance, name, status, repository, now))
    return answers


def _answer(
    instance: Instance, name: str, status: ScheduleStatus, repository: Repository, now: datetime
) -> ScheduleAnswer:
    schedules = instance.store.schedules
    probes = sorted(schedules.of_schedule(repository, name), key=lambda probe: -probe.id)[:_MOST_PROBES]
    return ScheduleAnswer(
        name=name,
        repository=repository.name,
        branch=status.branch,
        policy=describe_policy(status.settings),
        new=len(status.new.commits),
        due=status.new.due,
        states={state.value: count for state, count in status.counts.items()},
        fill_hours=status.settings.fill_hours if status.settings.fill else 0.0,
        fill_spent_hours=schedules.fill_seconds(name, now - timedelta(days=1)) / 3600.0,
        problem=status.problem,
        remedy=status.remedy,
        newest=[_probe(probe) for probe in probes],
    )


def _probe(probe: ScheduledProbe) -> ScheduledProbeAnswer:
    return ScheduledProbeAnswer(
        commit=probe.choice.commit,
        purpose=probe.choice.purpose.value,
        change=probe.choice.change or None,
        state=probe.state.value,
        device=probe.device,
        seconds=probe.seconds,
        chosen=probe.chosen,
        reason=probe.reason,
    )
