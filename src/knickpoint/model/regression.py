"""Change points and regressions: what people triage, and what they decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from knickpoint.model.step import StableRegion

__all__ = ["ChangePoint", "Condition", "Decision", "Direction", "Place", "Regression", "Status"]


class Status(Enum):
    """What a person decided about one member of a regression."""

    NEW = "new"
    ACKNOWLEDGED = "acknowledged"
    HIDDEN = "hidden"
    TICKET = "ticket"


class Condition(Enum):
    """What the data say about a finding today; computed, never set by hand."""

    PRESENT = "present"
    RECOVERED = "recovered"
    GONE = "gone"


class Direction(Enum):
    """Say whether a change is bad or good news, or that nobody told which is better."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Place:
    """A suspect range on a line: the change lies in (previous, slot].

    ``slot`` is the first measured commit at the new level, ``previous`` the last measured one before it.
    Both are slots; their order is the line's.
    """

    line: str
    previous: int
    slot: int


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A step of one trace as the instance knows it, with what was decided about it.

    ``id`` never changes while the point lives on under the identity rule (trace, direction, place).
    ``movement`` is +1 or -1. ``interval`` is the half width of the detector's interval of location in
    measured commits. ``alerts`` are the names of those that found it.
    """

    id: int
    trace_id: int
    key: str
    unit: str
    place: Place
    movement: int
    direction: Direction
    before: StableRegion
    after: StableRegion
    size: float
    relative_size: float
    hazard: float
    score: float
    p_value: float | None
    order: int
    method: str
    alerts: tuple[str, ...]
    condition: Condition
    status: Status = Status.NEW
    note: str = ""
    ticket: str = ""
    assignee: str = ""
    regression_id: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """One entry of the triage log; the log only grows, undo is an entry too."""

    id: int
    change_point_id: int
    status: Status
    who: str
    time: datetime
    note: str = ""
    ticket: str = ""
    assignee: str = ""


@dataclass(frozen=True, slots=True)
class Regression:
    """What people triage: one place and the traces that stepped there, regressions and improvements alike."""

    id: int
    repository: str
    place: Place
    members: tuple[ChangePoint, ...]
    counts: Mapping[Status, int] = field(default_factory=dict)

    @property
    def hazard(self) -> float:
        """The hazard level of largest magnitude among the members, with its sign; 0 where none has one."""
        known = [member.hazard for member in self.members if member.hazard == member.hazard]
        return max(known, key=abs, default=0.0)

    @staticmethod
    def count(members: tuple[ChangePoint, ...]) -> Mapping[Status, int]:
        """Count members by status."""
        return Counter(member.status for member in members)
