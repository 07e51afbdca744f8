"""The filter of a list of changes, and what the store selects for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time
from enum import Enum
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer, Text
from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import Condition, Status
from knickpoint.model.errors import InputError
from knickpoint.model.settlement import Certainty, FindingKind
from knickpoint.model.statement import ChangeCondition, ChangeDirection
from knickpoint.store.findings.selection import Selection

# The filter of a list of changes.


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
        description="Only change points of alerts of this kind. Default: `work`, and `any` where the filter names an "
        "alert.",
    )
    assignee: Text = Field(default="", description="Only change points assigned to this person.")
    ticket: Text = Field(default="", description="Only change points that belong to this ticket.")
    minimum_hazard: float = Field(default=0.0, ge=0, description="Only hazard levels of at least this magnitude.")
    minimum_effect: float = Field(default=0.0, ge=0, description="Only relative sizes of at least this; 0.02 is 2 %.")
    minimum_sigma: float = Field(
        default=0.0, ge=0, description="Only sizes of at least this many standard deviations of single values."
    )


# Translate the filter of a list of changes into what the store selects.


_MOST_WORDS: Final = 20
"""Words of a filter; each is searched in four texts of every member."""


class Tab(Enum):
    """One of the lists that the members of each change are divided among; ALL has those of all but GONE."""

    UNPROCESSED = "unprocessed"
    HISTORY = "history"
    PROCESSED = "processed"
    ALL = "all"
    GONE = "gone"


def tab_of(wanted: ListFilter) -> Tab:
    """Return the list that a filter means: ``gone`` goes before ``all``, then ``history``, then ``processed``."""
    if wanted.gone:
        return Tab.GONE
    if wanted.all:
        return Tab.ALL
    if wanted.history:
        return Tab.HISTORY
    return Tab.PROCESSED if wanted.processed else Tab.UNPROCESSED


def matching_members(wanted: ListFilter) -> Selection:
    """Return the members that match ``wanted``, whichever of the lists they are on.

    Raises:
        InputError: the filter has too many words.
    """
    words = len(wanted.filter.split())
    if words > _MOST_WORDS:
        raise InputError(f"the filter has {words} words", where="filter", remedy=f"Use at most {_MOST_WORDS}.")
    return Selection(
        text=wanted.filter,
        directions=frozenset({wanted.direction} if wanted.direction else ()),
        stated_conditions=frozenset({wanted.condition} if wanted.condition else ()),
        statuses=frozenset({wanted.status} if wanted.status else ()),
        certainty=wanted.certainty,
        kinds=frozenset({wanted.kind} if wanted.kind else ()),
        alert=wanted.alert,
        alert_kinds=_alert_kinds(wanted),
        assignee=wanted.assignee,
        ticket=wanted.ticket,
        minimum_hazard=wanted.minimum_hazard,
        minimum_effect=wanted.minimum_effect,
        minimum_sigma=wanted.minimum_sigma,
        since=datetime.combine(wanted.since, time.min, UTC) if wanted.since else None,
        before=datetime.combine(wanted.until, time.max, UTC) if wanted.until else None,
    )


def _alert_kinds(wanted: ListFilter) -> frozenset[AlertKind] | None:
    """Return the kinds of alerts whose findings are listed, None for all."""
    chosen = wanted.alert_kind or (AlertKindFilter.ANY if wanted.alert else AlertKindFilter.WORK)
    return None if chosen is AlertKindFilter.ANY else frozenset({AlertKind(chosen.value)})


def members_on_list(wanted: ListFilter) -> Selection:
    """Return the members that match ``wanted`` and are on its list.

    Members that later data no longer show are listed whatever their status is.
    """
    tab = tab_of(wanted)
    if tab is Tab.GONE:
        return replace(matching_members(wanted), conditions=frozenset({Condition.GONE}))
    if tab is Tab.ALL:
        return matching_members(wanted)
    if tab is Tab.PROCESSED:
        return replace(matching_members(wanted), processed=True)
    return replace(matching_members(wanted), processed=False, history=tab is Tab.HISTORY)
