"""Triage: what a decision is about, and what it changed on the list that it was made on."""

from __future__ import annotations

from pydantic import Field

from knickpoint.model.change_point import Status
from knickpoint.server.schemas.base import Answer, ChangeId, ChangePointId, Id, Text
from knickpoint.server.schemas.changes import ChangeAnswer
from knickpoint.server.schemas.filters import ListFilter

__all__ = [
    "Entries",
    "LastEntryAnswer",
    "RegroupRequest",
    "TargetsRequest",
    "TriageAnswer",
    "TriageRequest",
    "UndoRequest",
]


class TargetsRequest(Answer):
    """What a decision is about: single findings, and those of whole changes that are on a list."""

    ids: list[ChangePointId] = Field(default_factory=list, max_length=100_000, description="Ids of change points.")
    changes: list[ChangeId] = Field(
        default_factory=list,
        max_length=10_000,
        description="Ids of changes: all their members that are on the list.",
    )
    without: list[ChangePointId] = Field(
        default_factory=list, max_length=100_000, description="Ids of members of these changes to leave out."
    )
    filter: ListFilter = Field(
        default_factory=ListFilter, description="The list that the decision is made on, and that the answer is about."
    )


class TriageRequest(TargetsRequest):
    """A decision about one or many findings."""

    status: Status | None = Field(
        default=None, description="`new` makes them unprocessed again; null keeps the status of each."
    )
    note: Text | None = Field(default=None, max_length=10_000, description="null keeps the note there is.")
    ticket: Text | None = Field(
        default=None, max_length=500, description="Required with status `ticket`, unless `create` makes one."
    )
    create: Text = Field(
        default="", max_length=200, description="Name of a tracker in which to make the ticket; see `/api/v1/trackers`."
    )
    assignee: Text | None = Field(default=None, max_length=200)


class RegroupRequest(TargetsRequest):
    """Findings to split from their change, or changes to merge; a merge takes whole changes."""

    note: Text | None = Field(default=None, max_length=10_000, description="null keeps the note there is.")


class Entries(Answer):
    """Consecutive entries of the triage log, as one decision makes them."""

    first: Id
    last: Id


class UndoRequest(Answer):
    """Undo the last decision about each of some findings, or one decision as a whole."""

    ids: list[ChangePointId] = Field(default_factory=list, max_length=100_000, description="Ids of change points.")
    entries: Entries | None = Field(
        default=None,
        description="The decision to undo, as its answer names it. Findings with a later decision keep that.",
    )
    filter: ListFilter = Field(default_factory=ListFilter, description="The list that the answer is about.")


class TriageAnswer(Answer):
    """A list of changes after a decision, as far as the decision concerns it."""

    changed: int = Field(description="Number of findings that the decision changed.")
    entries: Entries | None = Field(description="The entries to undo; null where nothing changed.")
    changes: list[ChangeAnswer] = Field(description="Changes that the decision concerns and that are on the list.")
    left: list[ChangeId] = Field(description="Ids of changes that the decision concerns and that are not on the list.")
    unprocessed: int = Field(
        description="Number of changes with unprocessed findings that match the filter, without history."
    )
    history: int = Field(description="Number of changes in history with unprocessed findings that match the filter.")
    processed: int = Field(description="Number of changes with processed findings that match the filter.")
    all: int = Field(description="Number of changes that match the filter, but those that are gone.")
    gone: int = Field(description="Number of changes with findings that later data no longer show.")


class LastEntryAnswer(Answer):
    """How far the triage log goes: a page that remembers the number sees when somebody decided."""

    entry: int = Field(description="Number of the newest entry; 0 for an empty log.")
