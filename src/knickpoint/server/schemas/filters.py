"""The filter of a list of changes."""

from __future__ import annotations

from datetime import date
from enum import Enum

from pydantic import Field

from knickpoint.model.change_point import Status
from knickpoint.model.settlement import Certainty, FindingKind
from knickpoint.model.statement import ChangeCondition, ChangeDirection
from knickpoint.server.schemas.base import Answer, Text

__all__ = ["AlertKindFilter", "ListFilter"]


class AlertKindFilter(Enum):
    """Findings of alerts of one kind, or of all."""

    WORK = "work"
    INFORMATIONAL = "informational"
    CANARY = "canary"
    ANY = "any"


class ListFilter(Answer):
    """Which list of changes, and which of its members: the parameters of a list, for requests with a body."""

    repository: Text = Field(default="", description="Name of the repository; all of them without it.")
    processed: bool = Field(default=False, description="The processed ones instead of the unprocessed.")
    history: bool = Field(default=False, description="The unprocessed ones that are history.")
    all: bool = Field(
        default=False, description="All that later data still show: unprocessed, history and processed ones."
    )
    gone: bool = Field(default=False, description="Those that later data no longer show.")
    filter: Text = Field(
        default="", max_length=1000, description="Words that all occur in trace key, commit hash, author or subject."
    )
    direction: ChangeDirection | None = Field(default=None, description="Only changes of this direction.")
    status: Status | None = Field(default=None, description="Only this status.")
    certainty: Certainty | None = Field(default=None, description="Only change points of this certainty.")
    kind: FindingKind | None = Field(default=None, description="Only change points of this kind.")
    condition: ChangeCondition | None = Field(
        default=None, description="Only changes in this condition, as `recovered`."
    )
    since: date | None = Field(default=None, description="Only change points at commits of this day or later, in UTC.")
    until: date | None = Field(
        default=None, description="Only change points at commits of this day or earlier, in UTC."
    )
    alert: Text = Field(default="", description="Only change points of this alert.")
    alert_kind: AlertKindFilter | None = Field(
        default=None,
        description="Only change points of alerts of this kind. Default: `work`, and `any` where the filter names an alert.",
    )
    assignee: Text = Field(default="", description="Only change points assigned to this person.")
    ticket: Text = Field(default="", description="Only change points that belong to this ticket.")
    minimum_hazard: float = Field(default=0.0, ge=0, description="Only hazard levels of at least this magnitude.")
    minimum_effect: float = Field(default=0.0, ge=0, description="Only relative sizes of at least this; 0.02 is 2 %.")
    minimum_sigma: float = Field(
        default=0.0, ge=0, description="Only sizes of at least this many standard deviations of single values."
    )
