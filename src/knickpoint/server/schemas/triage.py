"""Give triage its shapes: which list is meant, what a decision is about, and what it did to the list."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.regression import Action, Direction, Status
from knickpoint.server.schemas.base import Answer, Id
from knickpoint.server.schemas.regressions import GroupAnswer, MemberAnswer

__all__ = [
    "DecisionAnswer",
    "Entries",
    "ListFilter",
    "MembersAnswer",
    "RegroupRequest",
    "Targets",
    "TriageAnswer",
    "TriageRequest",
    "UndoRequest",
]


class ListFilter(Answer):
    """Which list of findings, and what of it: the words of the address of a list, for requests with a body."""

    repository: str = Field(default="", description="Name of the repository; all of them without it.")
    processed: bool = Field(default=False, description="Those that were dealt with, or those that were not.")
    history: bool = Field(default=False, description="Instead, the unprocessed ones that are history.")
    gone: bool = Field(default=False, description="Instead, those that later data no longer show.")
    filter: str = Field(
        default="", max_length=1000, description="Words that all occur in trace key, commit hash, author or subject."
    )
    direction: Direction | None = Field(default=None, description="Only this direction.")
    status: Status | None = Field(default=None, description="Only this status.")
    alert: str = Field(default="", description="Only what this alert found.")
    assignee: str = Field(default="", description="Only what this person has.")
    ticket: str = Field(default="", description="Only what belongs to this ticket.")
    minimum_hazard: float = Field(default=0.0, ge=0, description="Only hazard levels at least that far from 0.")
    minimum_effect: float = Field(default=0.0, ge=0, description="Only relative sizes of at least that; 0.02 is 2 %.")


class MembersAnswer(Answer):
    """One page of the members of a regression: the worst first, equal ones by trace key."""

    regression: int
    members: list[MemberAnswer]
    after: int | None = Field(description="What to give as `after` for the next page; null after the last one.")


class Targets(Answer):
    """What a decision is about: single findings, and those of whole groups that are on a list."""

    ids: list[Id] = Field(default_factory=list, max_length=100_000, description="Ids of change points.")
    regressions: list[Id] = Field(
        default_factory=list, max_length=10_000, description="Ids of groups: all their members that are on the list."
    )
    without: list[Id] = Field(
        default_factory=list, max_length=100_000, description="Ids of members of these groups that are left out."
    )
    filter: ListFilter = Field(
        default_factory=ListFilter, description="The list that the decision is made on, and that the answer is about."
    )
    who: str = Field(default="dashboard", max_length=200, description="Who decided.")


class TriageRequest(Targets):
    """Decide about one or many findings."""

    status: Status | None = Field(
        default=None, description="`new` puts them back to the unprocessed; null keeps the status of each."
    )
    note: str | None = Field(default=None, max_length=10_000, description="null keeps the note there is.")
    ticket: str | None = Field(default=None, max_length=500, description="Required with status `ticket`.")
    assignee: str | None = Field(default=None, max_length=200)


class RegroupRequest(Targets):
    """Set findings apart from their group, or make one group of several; a merge takes its groups whole."""

    note: str | None = Field(default=None, max_length=10_000, description="null keeps the note there is.")


class Entries(Answer):
    """Consecutive entries of the triage log, as one decision makes them."""

    first: Id
    last: Id


class UndoRequest(Answer):
    """Take back the last decision about each of some findings, or one decision as a whole."""

    ids: list[Id] = Field(default_factory=list, max_length=100_000, description="Ids of change points.")
    entries: Entries | None = Field(
        default=None,
        description="The decision to take back, as its answer names it. Findings decided about since are left alone.",
    )
    filter: ListFilter = Field(default_factory=ListFilter, description="The list that the answer is about.")
    who: str = Field(default="dashboard", max_length=200)


class TriageAnswer(Answer):
    """A list of findings after a decision, as far as the decision concerns it."""

    changed: int = Field(description="How many findings the decision changed.")
    entries: Entries | None = Field(description="What to give to undo; null where nothing was changed.")
    groups: list[GroupAnswer] = Field(description="Groups that the decision concerns and that are on the list.")
    left: list[int] = Field(description="Ids of groups that the decision concerns and that are not on the list.")
    unprocessed: int = Field(
        description="Number of groups with unprocessed findings that match the filter, those that are history apart."
    )
    history: int = Field(description="Number of groups with unprocessed findings of history that match the filter.")
    processed: int = Field(description="Number of groups with processed findings that match the filter.")
    gone: int = Field(description="Number of groups with findings that later data no longer show.")


class DecisionAnswer(Answer):
    """One entry of the triage log: the whole state after it."""

    id: int
    finding: int
    action: Action
    status: Status
    who: str
    time: datetime
    note: str
    ticket: str
    assignee: str
