"""Alerts that people make and change: requests, and what a change does with the findings."""

from __future__ import annotations

from pydantic import Field

from knickpoint.model.alert import SINCE_START, AlertDirection, AlertKind, AlertSeverity
from knickpoint.server.schemas.base import Answer, FiniteOrNull, Text
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.traces import TraceAnswer

__all__ = [
    "AlertChangeAnswer",
    "AlertFileAnswer",
    "AlertPreviewRequest",
    "AlertRequest",
    "NewAlertRequest",
    "PreviewAnswer",
    "PreviewExampleAnswer",
]

_MOST_NAMES = 100
_LONGEST = 1000


class AlertRequest(Answer):
    """The settings of an alert, as in `[alerts.NAME]` of knickpoint.toml; those that are missing have their defaults."""

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
        description="Steps that the alert finds and does not report, by the setting that leaves them out; `level` where the level stayed."
    )
    judged: int = Field(description="Number of traces that were judged.")
    traces: int = Field(description="Number of traces to judge.")
    complete: bool = Field(description="Whether all were judged. If not, the numbers are 'at least'.")
    examples: list[PreviewExampleAnswer] = Field(description="The largest of the added findings, at most 5.")


class AlertChangeAnswer(Answer):
    """An alert that was set or removed."""

    name: str
    change: str = Field(description="`set` or `removed`.")


class AlertFileAnswer(Answer):
    """The file of alerts of one repository."""

    repository: str
    path: str
    commit: str = Field(description="The commit that wrote the alerts that stand; empty before the first.")
    alerts: list[str] = Field(description="Names of the alerts that stand.")
    failure: str = Field(description="Why the newest file cannot be used; empty where it can.")
    failed_at: str = Field(description="The commit that broke it; empty for none.")
