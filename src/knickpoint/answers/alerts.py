"""Alerts: their record, and how a caller makes, changes and removes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer, FiniteOrNull, Text
from knickpoint.answers.changes import ChangeAnswer, Listing, Ordering, list_changes
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.filters import ListFilter
from knickpoint.answers.traces import TraceAnswer, trace_answer
from knickpoint.answers.visible_repositories import UnknownError, VisibleRepositories, require, require_everywhere
from knickpoint.instance import Instance
from knickpoint.instance.alert_definition import (
    check_settable,
    preview_change,
    read_alert,
    remove_alert,
    set_alert,
    with_default,
)
from knickpoint.model.access import Caller, Permission
from knickpoint.model.alert import SINCE_START, Alert, AlertDirection, AlertKind, AlertSeverity
from knickpoint.model.change_point import Condition, Sighting, Status
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.store import Store
from knickpoint.store.findings.change_list import PointState

# Choose the alerts that a caller may know of.


def visible_alerts(instance: Instance, visible: VisibleRepositories) -> list[Alert]:
    """Return the alerts that run, but those of repositories that the caller may not read."""
    return [alert for alert in instance.alerts if not alert.repository or visible.shows(alert.repository)]


# Alerts that people make and change: requests, and what a change does with the findings.


_MOST_NAMES = 100
_LONGEST = 1000


class AlertRequest(Answer):
    """The settings of an alert, as in `[alerts.NAME]` of knickpoint.toml.

    Those that are missing have their defaults.
    """

    query: Text = Field(default="", max_length=10_000)
    repository: Text = Field(default="", max_length=_LONGEST)
    line: Text = Field(default="", max_length=_LONGEST)
    group_by: list[Text] = Field(default=[], max_length=_MOST_NAMES)
    method: Text = Field(default="default", max_length=_LONGEST)
    parameters: dict[Text, bool | int | float | Text] = Field(default={}, max_length=_MOST_NAMES)
    direction: AlertDirection = AlertDirection.BOTH
    minimum_effect: float = 0.0
    minimum_change: float = 0.0
    since: Text = Field(
        default=SINCE_START,
        max_length=_LONGEST,
        description="What a drift is compared with: `start`, `best` for the best level before it, a date such as "
        "`2026-05-31`, or a release, by the name of its tag.",
    )
    samples: bool = Field(
        default=False,
        description="Whether a commit is judged by all samples of its runs, where several are kept.",
    )
    summary: Text = Field(
        default="",
        max_length=_LONGEST,
        description="Which summary of the samples of a run is judged instead of their level: `min`, `median`, `max`, or a "
        "percentile such as `p99`.",
    )
    minimum_traces: int = Field(default=1, le=2**31 - 1)
    window: int = Field(default=0, le=2**31 - 1)
    settle_share: float | None = Field(default=None, description="Default: that of the program.")
    settle_least: int | None = Field(default=None, le=2**31 - 1, description="Default: that of the program.")
    settle_most: int | None = Field(default=None, le=2**31 - 1, description="Default: that of the program.")
    kind: AlertKind = AlertKind.WORK
    severity: AlertSeverity = AlertSeverity.NORMAL
    owners: list[Text] = Field(default=[], max_length=_MOST_NAMES)
    notify: list[Text] = Field(default=[], max_length=_MOST_NAMES)
    every_minutes: float = 0.0

    def table(self) -> dict[str, object]:
        """Return the settings that the request has, as a table of TOML."""
        own = AlertRequest.model_fields
        values = self.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        return {name: value for name, value in values.items() if name in own}


class NewAlertRequest(AlertRequest):
    """An alert to make."""

    name: Text = Field(min_length=1, max_length=200, description="A name that no alert has, without '/'.")
    keep_default: bool = Field(
        default=True,
        description="Whether the default alert, if it would end with this first alert, is kept in the store beside it.",
    )


class AlertPreviewRequest(NewAlertRequest):
    """A change of an alert that is only counted."""

    removed: bool = Field(default=False, description="Whether the alert would be removed; its settings do not count.")
    seconds: float = Field(default=10.0, ge=0, le=60, description="How long to judge traces.")


class PreviewExampleAnswer(Answer):
    """A finding that a change of an alert would add."""

    trace: TraceAnswer
    commit: CommitAnswer
    relative_size: FiniteOrNull
    size: float


class PreviewAnswer(Answer):
    """What becomes of the findings of one alert."""

    name: str
    added: int = Field(description="Findings that are not there yet.")
    history: int = Field(description="Those of them at or before the history boundary.")
    gone: int = Field(description="Live findings that go.")
    decided: int = Field(description="Those of them that have a status or a ticket.")
    staying: int = Field(
        description="Findings that the alert no longer finds and that stay, as another alert finds them."
    )
    off_list: int = Field(description="Live findings that leave the work list, as the kind of the alert changes.")
    on_list: int = Field(description="Live findings that join the work list, as the kind of the alert changes.")
    left_out: dict[str, int] = Field(
        description="Steps that the alert finds and does not report, by the setting that leaves them out; `level` where "
        "the level stayed."
    )
    judged: int = Field(description="Number of traces that were judged.")
    traces: int = Field(description="Number of traces to judge.")
    complete: bool = Field(description="Whether all were judged. If not, the numbers are 'at least'.")
    examples: list[PreviewExampleAnswer] = Field(description="The largest of the added findings, at most 5.")


class AlertEffectAnswer(Answer):
    """What a change of alerts does, counted over all alerts at once, and to the findings of each."""

    unwatched: int = Field(description="Changes that no alert would watch any more.")
    off_list: int = Field(description="Changes that would leave the work list, as the kind of an alert changes.")
    members: int = Field(description="Change points that would leave changes which stay.")
    decided: int = Field(description="Changes of all these with a decision or a ticket about what leaves.")
    added: int = Field(description="Change points that are not there yet.")
    complete: bool = Field(description="Whether all traces were judged. If not, the numbers are 'at least'.")
    takes_changes: bool = Field(
        description="Whether changes would go, or may, as the time was up: ask before it is done."
    )
    text: str = Field(description="What it does, in words.")
    ends_default: bool = Field(description="Whether the default alert would end with this one unless it is kept.")
    alerts: list[PreviewAnswer] = Field(description="What becomes of the findings of each alert that is concerned.")


class AlertChangeAnswer(Answer):
    """An alert that was set or removed."""

    name: str
    change: str = Field(description="`set` or `removed`.")


class AlertFileAnswer(Answer):
    """The file of alerts of one repository."""

    repository: str
    path: str
    commit: str = Field(description="The commit whose alerts are in force; empty before the first.")
    alerts: list[str] = Field(description="Names of the alerts in force.")
    failure: str = Field(description="Why the newest file cannot be used; empty where it can.")
    failed_at: str = Field(description="The commit that broke it; empty for none.")


# Make, change and remove alerts, within what the caller administers, and count beforehand what that does.


def create_alert(instance: Instance, caller: Caller, request: NewAlertRequest) -> AlertChangeAnswer:
    """Make an alert.

    Raises:
        ForbiddenError: the caller is not an admin of all that it watches, or of everything where it ends the default.
        InputError: there is one of this name.
        InputError: a setting cannot be used.
    """
    if request.name in {alert.name for alert in instance.alerts}:
        raise InputError(
            f"the alert {request.name!r} already exists", where="name", remedy="PUT changes it, if the store has it."
        )
    return _set(instance, caller, request.name, request, ends_default=not request.keep_default)


def change_alert(instance: Instance, caller: Caller, name: str, request: AlertRequest) -> AlertChangeAnswer:
    """Give the alert ``name`` of the store the settings of a request, and no others.

    Raises:
        ForbiddenError: the caller is not an admin of all that it watches.
        UnknownError: the store has no such alert.
        InputError: a setting cannot be used.
    """
    _stored(instance, caller, name)
    return _set(instance, caller, name, request)


def _set(
    instance: Instance, caller: Caller, name: str, request: AlertRequest, *, ends_default: bool | None = None
) -> AlertChangeAnswer:
    _require(caller, request.repository)
    with _as_input(), instance.store.transaction():
        alert = read_alert(instance, name, request.table(), where=f"alert {name!r}")
        changed = with_default(instance, alert) if ends_default is not None else [alert]
        if ends_default and len(changed) > 1:
            require_everywhere(caller, Permission.ADMIN)
            changed = [alert]
        for each in changed:
            set_alert(instance, each, who=caller.name)
    return AlertChangeAnswer(name=name, change="set")


def delete_alert(instance: Instance, caller: Caller, name: str) -> AlertChangeAnswer:
    """Remove the alert ``name`` from the store; what it alone found is gone.

    Raises:
        ForbiddenError: the caller is not an admin of all that it watches.
        UnknownError: the store has no such alert.
    """
    _stored(instance, caller, name)
    remove_alert(instance, name, who=caller.name)
    return AlertChangeAnswer(name=name, change="removed")


def preview_alert(instance: Instance, caller: Caller, request: AlertPreviewRequest) -> AlertEffectAnswer:
    """Count what comes and goes with a change of the store, over all alerts and for each that it concerns.

    Raises:
        ForbiddenError: the caller is not an admin of all that the alert watches.
        UnknownError: an alert to be removed is not in the store.
        InputError: a setting cannot be used.
    """
    changed: list[Alert] = []
    ending = False
    if request.removed:
        _stored(instance, caller, request.name)
    else:
        _require(caller, request.repository)
        with _as_input():
            check_settable(instance, request.name)
            alert = read_alert(instance, request.name, request.table(), where=f"alert {request.name!r}")
            changed = with_default(instance, alert)
            ending = len(changed) > 1
            if not request.keep_default:
                changed = [alert]
    removed = {request.name} if request.removed else set()
    effect = preview_change(instance, changed, removed, seconds=request.seconds)
    return AlertEffectAnswer.of(
        effect,
        ends_default=ending,
        alerts=[
            PreviewAnswer.of(
                preview,
                name=name,
                left_out={each.value: count for each, count in preview.left_out.items()},
                examples=_examples(instance.store, caller, preview.examples),
            )
            for name, preview in effect.previews.items()
        ],
    )


def _examples(store: Store, caller: Caller, sightings: Sequence[Sighting]) -> list[PreviewExampleAnswer]:
    """Return the answers for sightings in repositories that the caller may read."""
    owners = VisibleRepositories(store, caller).owners([each.trace_id for each in sightings])
    traces = {trace.id: trace for trace in store.traces.get(list(owners))}
    answers = []
    for each in sightings:
        repository = owners.get(each.trace_id)
        commits = store.commits.get(repository, [each.suspect_range.slot]) if repository else []
        if repository is None or not commits:
            continue
        position = store.commits.line(repository, each.suspect_range.line).positions.get(each.suspect_range.slot)
        answers.append(
            PreviewExampleAnswer(
                trace=trace_answer(traces[each.trace_id], repository.name),
                commit=commit_answer(commits[0].commit, position),
                relative_size=each.numbers.relative_size,
                size=each.numbers.size,
            )
        )
    return answers


def list_alert_files(instance: Instance, visible: VisibleRepositories) -> list[AlertFileAnswer]:
    """List the files of alerts of the repositories that the caller may read."""
    files = instance.store.findings.alert_definitions.files().values()
    return [AlertFileAnswer.of(file, alerts=sorted(file.alerts)) for file in files if visible.shows(file.repository)]


@contextmanager
def _as_input() -> Iterator[None]:
    """Let what a request asks for be the fault of the request, where the configuration would be at fault."""
    try:
        yield
    except ConfigError as error:
        raise InputError(error.message, where=error.where, remedy=error.remedy) from error


def _stored(instance: Instance, caller: Caller, name: str) -> None:
    """Check that the store has the alert ``name``, and that ``caller`` administers what it watches."""
    stored = instance.store.findings.alert_definitions.stored().get(name)
    if stored is None:
        require(caller, Permission.ADMIN)
        raise UnknownError(
            f"the store has no alert {name!r}", where="name", remedy="GET /api/v1/alerts lists them with their sources."
        )
    _require(caller, stored.alert.repository)


def _require(caller: Caller, repository: str) -> None:
    if repository:
        require(caller, Permission.ADMIN, repository=repository)
    else:
        require_everywhere(caller, Permission.ADMIN)


# What an alert did: its runs, what it found, and what people decided about it.


class AlertRunAnswer(Answer):
    """One run of an alert over one repository."""

    repository: str = Field(description="Empty in runs of older versions.")
    started: datetime
    seconds: float
    complete: bool = Field(
        description="Whether it ran over all of its traces, and not over those of new results alone."
    )
    traces: int
    added: int = Field(description="Number of steps that it saw for the first time.")
    kept: int
    lost: int = Field(description="Number of steps that it saw before and saw no more.")
    failure: str


class FindingCountAnswer(Answer):
    """How many findings of an alert are in a state."""

    condition: Condition
    status: Status
    findings: int


class AlertRecordAnswer(Answer):
    """What an alert did in the repositories that the caller may read."""

    name: str
    runs: list[AlertRunAnswer] = Field(description="The newest 20 runs.")
    counts: list[FindingCountAnswer] = Field(description="Its findings by what the data show and what people decided.")
    largest: list[ChangeAnswer] = Field(description="The largest 5 of its unprocessed changes, each with its lead.")


# Build the record of an alert: its runs, what it found, and what people decided about it.


_RUNS: Final = 20
_SEARCHED_RUNS: Final = 200
"""Runs among which those of visible repositories are looked for."""
_LARGEST: Final = 5


def read_alert_record(instance: Instance, visible: VisibleRepositories, name: str) -> AlertRecordAnswer:
    """Read the record of the alert ``name`` in the repositories that the caller may read.

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
