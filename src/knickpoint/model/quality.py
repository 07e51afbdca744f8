"""Findings as labels: what people decided about each, for measuring the alerts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from knickpoint.model.change_point import Condition, Direction, Status, SuspectRange
from knickpoint.model.settlement import FindingKind

__all__ = ["FindingRecord", "Label", "label_of"]


class Label(Enum):
    """What people say that a finding is: a REAL change, NOISE, or nothing yet."""

    REAL = "real"
    NOISE = "noise"
    UNDECIDED = "undecided"


def label_of(status: Status) -> Label:
    """Return the label that a status gives: acknowledged and ticket are real changes, hidden is noise."""
    if status is Status.HIDDEN:
        return Label.NOISE
    return Label.UNDECIDED if status is Status.NEW else Label.REAL


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """One finding that is work, with what measuring the alerts needs.

    ``methods`` has the method of each alert that found it. ``status`` counts a matching ticket. ``ticket`` is the linked
    ticket, else the matching one, else "". ``committed`` is the time of its
    commit, None where that is unknown, ``found`` is when the finding was made, ``decided`` when a person first decided
    about it, None while none did. ``score`` is that of the method that placed it, nan where it has none. ``label`` is what
    people say that it is: it follows from the status, and is asked for many times.
    """

    id: int
    trace_id: int
    trace_key: str
    unit: str
    suspect_range: SuspectRange
    movement: int
    interval: int
    direction: Direction
    kind: FindingKind
    condition: Condition
    methods: Mapping[str, str]
    before_level: float
    after_level: float
    deviation: float
    size: float
    relative_size: float
    score: float
    status: Status
    ticket: str
    change_id: int
    committed: datetime | None
    found: datetime
    decided: datetime | None
    label: Label = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", label_of(self.status))
