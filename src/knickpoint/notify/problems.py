"""Find the alerts that fail, and those that work again, and plan one message for each problem and one for its end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from knickpoint.model.alert import Alert
from knickpoint.model.notification import NotificationKind, PlannedDelivery, Problem, Purpose
from knickpoint.notify.recipients import Audience, Schedule
from knickpoint.store import Store
from knickpoint.store.findings.alert_runs import AlertRun

_RUNS_READ: Final = 200
"""Runs of an alert, over all repositories, in which the last two over each repository are looked for."""


@dataclass
class ProblemPlanner:
    """Plans the messages about alerts that fail in two runs in a row over a repository, until they work again.

    Attributes:
        store: where runs, problems and deliveries are.
        audience: the people and channels.
        schedule: when messages go out; problems wait for the end of quiet hours, not for a digest.
        alerts: the alerts that run.
    """

    store: Store
    audience: Audience
    schedule: Schedule
    alerts: Sequence[Alert]
    _seen: int = field(default=0, init=False)

    def plan(self, now: datetime) -> int:
        """Open and close problems, with their deliveries; return how many deliveries there are."""
        last = self.store.findings.alert_runs.last()
        alerts = {each.name: each for each in self.alerts}
        count = 0
        for name, reason, standing in self._changes(alerts):
            alert = alerts.get(name)
            if standing is not None:
                count += self.store.problems.close(standing, now, partial(self._end, alert=alert, now=now))
            elif alert is not None:
                opening = partial(self._opening, alert=alert, now=now)
                count += self.store.problems.raise_one(name, reason, now, opening)
        self._seen = last
        return count

    def preview(self, now: datetime) -> list[PlannedDelivery]:
        """Return the deliveries that :meth:`plan` would write."""
        alerts = {each.name: each for each in self.alerts}
        found: list[PlannedDelivery] = []
        for name, reason, standing in self._changes(alerts):
            alert = alerts.get(name)
            if standing is not None:
                found += self._end(standing, alert, now)
            elif alert is not None:
                found += self._opening(Problem(0, name, reason, now), alert, now)
        return found

    def _changes(self, alerts: Mapping[str, Alert]) -> Iterator[tuple[str, str, Problem | None]]:
        """Yield the alerts that fail now, with the reason, and those that fail no longer, with their problem."""
        standing = self.store.problems.open()
        failed = self.store.findings.alert_runs.failed_since(self._seen) & alerts.keys()
        for name in sorted(failed | standing.keys()):
            problem = standing.get(name)
            if name not in alerts:
                yield name, "", problem
                continue
            runs = self.store.findings.alert_runs.runs(name, last=_RUNS_READ)
            if problem is None and (reason := newest_failure(runs, in_a_row=2)):
                yield name, reason, None
            elif problem is not None and not newest_failure(runs, in_a_row=1):
                yield name, "", problem

    def _opening(self, problem: Problem, alert: Alert, now: datetime) -> list[PlannedDelivery]:
        return self._deliveries(NotificationKind.PROBLEM, problem, alert, now)

    def _end(self, problem: Problem, alert: Alert | None, now: datetime) -> list[PlannedDelivery]:
        """Return the messages that a problem is over; none about an alert that was removed."""
        return self._deliveries(NotificationKind.SOLVED, problem, alert, now) if alert is not None else []

    def _deliveries(
        self, kind: NotificationKind, problem: Problem, alert: Alert, now: datetime
    ) -> list[PlannedDelivery]:
        due = self.schedule.after_quiet(now)
        return [
            PlannedDelivery(_key(kind, problem, to.receiver), kind, Purpose.PROBLEM, to, (), problem.thread, due)
            for to in self.audience.of_problem(alert)
        ]


def newest_failure(runs: Sequence[AlertRun], *, in_a_row: int) -> str:
    """Return the reason of the newest of the last ``in_a_row`` runs over a repository, if all of them failed; else "".

    ``runs`` are those of one alert over any repositories, the newest first.
    """
    by_repository: dict[int, list[AlertRun]] = {}
    named = any(run.repository_id for run in runs)  # runs of older versions do not name theirs
    for run in (each for each in runs if each.repository_id or not named):
        by_repository.setdefault(run.repository_id, []).append(run)
    for here in by_repository.values():
        newest = here[:in_a_row]
        if len(newest) == in_a_row and all(run.failure for run in newest):
            return newest[0].failure
    return ""


def _key(kind: NotificationKind, problem: Problem, receiver: str) -> str:
    text = f"{kind.value}\n{problem.thread}\n{problem.alert}\n{problem.opened.isoformat()}\n{receiver}"
    return hashlib.sha256(text.encode()).hexdigest()[:40]
