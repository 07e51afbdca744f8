"""A change: what people triage, with its members and its statement."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from knickpoint.model.alert import AlertSeverity
from knickpoint.model.change_point import ChangePoint, Condition, Direction, Status, SuspectRange
from knickpoint.model.settlement import Certainty
from knickpoint.model.statement import Statement


@dataclass(frozen=True, slots=True)
class Change:
    """The change points of several traces with a common suspect range; people triage them together.

    ``statement`` says what it is, None before the store has written it.

    A query returns part of the members: ``members``, sorted by :attr:`ChangePoint.rank`. ``matching`` counts all
    members that match the query by direction, ``extreme`` is the hazard level of largest magnitude among them, and
    ``alert_severity`` the highest severity of their alerts. ``counts`` (by effective status), ``conditions`` and
    ``unprocessed`` are about all members. ``gone`` counts the members that later data no longer show, by status.
    ``found`` is when the first member was found. ``history`` is true if the suspect range lies at or before the history
    boundary of the repository.
    """

    id: int
    repository: str
    suspect_range: SuspectRange
    members: tuple[ChangePoint, ...]
    counts: Mapping[Status, int] = field(default_factory=dict)
    conditions: Mapping[Condition, int] = field(default_factory=dict)
    unprocessed: int = 0
    found: datetime | None = None
    history: bool = False
    matching: Mapping[Direction, int] = field(default_factory=dict)
    gone: Mapping[Status, int] = field(default_factory=dict)
    extreme: float | None = None
    alert_severity: AlertSeverity = AlertSeverity.NORMAL
    statement: Statement | None = None

    @property
    def certainty(self) -> Certainty:
        """Whether later values may still take all of it away, as its statement says."""
        return self.statement.certainty if self.statement else Certainty.SETTLED

    @property
    def held(self) -> str:
        """Why it is held back, as its statement says; "" where it is not."""
        return self.statement.held if self.statement else ""

    @property
    def hazard(self) -> float:
        """The hazard level of largest magnitude among the members, with its sign; 0 if none has a hazard level."""
        if self.extreme is not None:
            return self.extreme
        hazards = [member.numbers.hazard for member in self.members]
        return max((hazard for hazard in hazards if not math.isnan(hazard)), key=abs, default=0.0)

    @property
    def traces(self) -> int:
        """Number of all traces, including those that do not match the query."""
        return sum(self.counts.values())

    @property
    def lead(self) -> ChangePoint | None:
        """The member that its statement is about.

        Where the query left that out, the first by :attr:`ChangePoint.rank`.
        """
        stated = self.statement.lead if self.statement else 0
        found = next((member for member in self.members if member.id == stated), None)
        return found or min(self.members, key=lambda member: member.rank, default=None)

    @property
    def direction(self) -> Direction:
        """The direction of the lead."""
        return self.lead.direction if self.lead else Direction.UNKNOWN

    @property
    def severity(self) -> float:
        """The number by which changes are ranked: that of the statement, or of the lead where it is another."""
        if self.lead is None:
            return 0.0
        return self.statement.severity if self.statement and self.statement.lead == self.lead.id else self.lead.severity

    @staticmethod
    def count(members: Iterable[ChangePoint]) -> Mapping[Status, int]:
        """Count members by effective status."""
        return Counter(member.effective_status for member in members)
