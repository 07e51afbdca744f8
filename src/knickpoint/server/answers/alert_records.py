"""Build the record of an alert: its runs, what it found, and what people decided about it."""

from __future__ import annotations

from collections import Counter
from typing import Final

from knickpoint.instance import Instance
from knickpoint.server.answers.alerts import visible_alerts
from knickpoint.server.answers.changes import Listing, Ordering, list_changes
from knickpoint.server.errors import UnknownError
from knickpoint.server.schemas.alert_records import AlertRecordAnswer, AlertRunAnswer, FindingCountAnswer
from knickpoint.server.schemas.filters import ListFilter
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store.findings.change_list import PointState

__all__ = ["read_alert_record"]

_RUNS: Final = 20
_SEARCHED_RUNS: Final = 200
"""Runs among which those of visible repositories are looked for."""
_LARGEST: Final = 5


def read_alert_record(instance: Instance, visible: VisibleRepositories, name: str) -> AlertRecordAnswer:
    """Return what the alert ``name`` did in the repositories that the caller may read.

    Raises:
        UnknownError: there is no such alert.
    """
    if name not in {alert.name for alert in visible_alerts(instance, visible)}:
        raise UnknownError(f"there is no alert {name!r}", where=name, remedy="GET /api/v1/alerts lists them.")
    findings = instance.store.findings
    repositories = {each.id: each for each in visible.all()}
    counted: Counter[PointState] = Counter()
    for each in repositories.values():
        counted.update(findings.count_states(each, name))
    shown = [
        run
        for run in findings.alert_runs.runs(name, last=_SEARCHED_RUNS)
        if run.repository_id in repositories or visible.is_everything
    ]
    wanted = Listing(ListFilter(alert=name), Ordering.CHANGE, descending=True, page=1, size=_LARGEST, members=1)
    return AlertRecordAnswer(
        name=name,
        runs=[
            AlertRunAnswer.of(
                run, repository=repositories[run.repository_id].name if run.repository_id in repositories else ""
            )
            for run in shown[:_RUNS]
        ],
        counts=[
            FindingCountAnswer(condition=state.condition, status=state.status, findings=number)
            for state, number in sorted(counted.items(), key=lambda item: -item[1])
        ],
        largest=list_changes(visible, wanted).changes,
    )
