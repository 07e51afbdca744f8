"""Alert quality: findings as labels, changes that alerts missed, and proposals to change alerts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint, Condition, Direction, Status, SuspectRange
from knickpoint.model.settlement import FindingKind

# Findings as labels: what people decided about each, for measuring the alerts.


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

    ``methods`` has the method of each alert that found it. ``status`` counts a matching ticket. ``ticket`` is the
    linked ticket, else the matching one, else "". ``committed`` is the time of its commit, None where that is unknown,
    ``found`` is when the finding was made, ``decided`` when a person first decided about it, None while none did.
    ``score`` is that of the method that placed it, nan where it has none. ``label`` is what people say that it is: it
    follows from the status, and is asked for many times.
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


# Missed changes: what a person saw in a trace, and no alert found.


@dataclass(frozen=True, slots=True)
class MissedChange:
    """A change that a person marked in a trace.

    ``movement`` is +1 where the values went up, -1 where they went down. ``who`` marked it at ``time``. ``note`` is one
    line of text, which may be empty.
    """

    id: int
    repository_id: int
    trace_id: int
    trace_key: str
    suspect_range: SuspectRange
    movement: int
    note: str
    who: str
    time: datetime


@dataclass(frozen=True, slots=True)
class ListedMissedChange:
    """A missed change, its direction, and the live finding that it is by now, None while no alert finds it.

    The direction follows from the movement and from the better direction of the trace. The finding is computed from the
    data each time, by the rule of identity of change points.
    """

    change: MissedChange
    direction: Direction
    point: ChangePoint | None


# Proposals to change alerts: their kinds, and what people decided about them.


class ProposalKind(Enum):
    """What a proposal does with an alert.

    RAISE the least effect, CALIBRATE the rate of false alarms, MUTE traces, or SPLIT traces that jump between levels
    off to an alert for modes.
    """

    RAISE = "raise"
    CALIBRATE = "calibrate"
    MUTE = "mute"
    SPLIT = "split"


@dataclass(frozen=True, slots=True)
class ProposalDecision:
    """A proposal for ``alert`` that a person accepted or rejected.

    ``change`` says in words what it does, and ``hidden`` how many hidden findings it would have left out. An accepted
    one has the alerts of the store ``before``, None for one that was not there, and ``after``, both by name.
    """

    id: int
    alert: str
    kind: ProposalKind
    accepted: bool
    change: str
    hidden: int
    before: Mapping[str, Alert | None]
    after: Mapping[str, Alert]
    who: str
    time: datetime

    @property
    def name(self) -> str:
        """The name of the proposal, as in ``all:raise``."""
        return f"{self.alert}:{self.kind.value}"
