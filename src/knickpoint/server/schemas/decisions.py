"""Entries of the triage log."""

from __future__ import annotations

from datetime import datetime

from knickpoint.model.change_point import Action, Status
from knickpoint.server.schemas.base import Answer, ChangePointId

__all__ = ["DecisionAnswer"]


class DecisionAnswer(Answer):
    """One entry of the triage log: the whole state after it."""

    id: int
    finding: ChangePointId
    action: Action
    status: Status
    who: str
    time: datetime
    note: str
    ticket: str
    assignee: str
