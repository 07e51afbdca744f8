"""The tools that record what a person decided about changes, and take a decision back."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from knickpoint.agents.changes import EVERY_CHANGE
from knickpoint.agents.reply import Page, Reply, Said, call
from knickpoint.agents.tool import Request, Session, tool
from knickpoint.answers.base import ChangeId, Id, Text
from knickpoint.answers.triage import Entries, TriageAnswer, TriageRequest, UndoRequest
from knickpoint.answers.triage import decide as decide_about
from knickpoint.answers.triage import undo as undo_entries
from knickpoint.model.access import Permission
from knickpoint.model.change_point import Status


class DecideRequest(Request):
    """What is decided, and about what."""

    changes: list[ChangeId] = Field(min_length=1, max_length=50, description='Ids of changes, as `["R12"]`.')
    status: Status = Field(
        description="`acknowledged`: it is real and known; `hidden`: it is noise; `ticket`: a ticket is about it, which "
        "needs `ticket`; `new`: nobody has decided yet."
    )
    note: Annotated[Text, Field(max_length=2_000)] = Field(
        default="", description="Why, for the people who read it later. Empty keeps the note there is."
    )
    ticket: Annotated[Text, Field(max_length=500)] = Field(default="", description="Key or address of the ticket.")


@tool(Permission.DECIDE)
def decide(session: Session, asked: DecideRequest) -> Reply:
    """Record a decision about changes under the name of the caller. Only do this when a person asked for it.

    Nothing is deleted; `undo_decision` takes the decision back as a whole.
    """
    request = TriageRequest(
        changes=asked.changes,
        status=asked.status,
        note=asked.note or None,
        ticket=asked.ticket or None,
        filter=EVERY_CHANGE,
    )
    return _decided(decide_about(session.visible, request))


class UndoDecisionRequest(Request):
    """Which decision."""

    first_entry: Id | None = Field(default=None, description="`first_entry` of the reply of `decide`.")
    last_entry: Id | None = Field(default=None, description="`last_entry` of the reply of `decide`.")
    changes: list[ChangeId] = Field(
        default=[], max_length=50, description="Instead: changes about each of which the last decision is taken back."
    )


@tool(Permission.DECIDE)
def undo_decision(session: Session, asked: UndoDecisionRequest) -> Reply:
    """Take a decision back as a whole. Changes about which somebody decided later keep the later decision.

    Without the reply of `decide`, name the changes; `list_changes(which='processed')` lists what was decided.
    """
    entries = None
    if asked.first_entry is not None and asked.last_entry is not None:
        entries = Entries(first=asked.first_entry, last=asked.last_entry)
    ids: list[int] = []
    for change in asked.changes:
        session.visible.of_change(change)
        ids += [each.id for each in session.visible.store.findings.live_members(change)]
    return _decided(undo_entries(session.visible, UndoRequest(ids=ids, entries=entries, filter=EVERY_CHANGE)))


def _decided(done: TriageAnswer) -> Reply:
    """Describe the effect of a decision."""
    entries = done.entries
    facts = {
        "changed_steps": done.changed,
        "first_entry": entries and entries.first,
        "last_entry": entries and entries.last,
    }
    items: list[dict[str, object]] = [
        {
            "change": Said(f"R{each.id}"),
            "decision": each.statement and each.statement.decision,
            "says": each.statement and each.statement.headline,
        }
        for each in done.changes
    ]
    undo = [call("undo_decision", first_entry=entries.first, last_entry=entries.last)] if entries else []
    return Reply(facts, Page("changes", items, 0, len(items)), [*undo, call("list_changes")])
