"""Change points and regressions: what people triage, and what they decided."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final

from knickpoint.model.step import StableRegion
from knickpoint.model.unit import Better

__all__ = [
    "Action",
    "ChangePoint",
    "Condition",
    "Decision",
    "Direction",
    "KnownPoint",
    "PointUpdate",
    "Regression",
    "Sighting",
    "Status",
    "StepNumbers",
    "SuspectRange",
    "Transition",
    "direction_of",
    "severity_of",
]


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
    """Say whether a change is bad or good news, or that it is unknown which is better."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    UNKNOWN = "unknown"


class Action(Enum):
    """What an entry of the triage log did."""

    DECIDE = "decide"
    SPLIT = "split"
    MERGE = "merge"
    UNDO = "undo"


def direction_of(size: float, better: Better) -> Direction:
    """Say what a change by ``size`` means for a trace of which ``better`` is known; no change means neither."""
    if better is Better.UNKNOWN or not size:
        return Direction.UNKNOWN
    good = size > 0 if better is Better.HIGHER else size < 0
    return Direction.IMPROVEMENT if good else Direction.REGRESSION


_CLASSES: Final[Mapping[Direction, int]] = {Direction.REGRESSION: 2, Direction.UNKNOWN: 1, Direction.IMPROVEMENT: 0}


def severity_of(direction: Direction, relative_size: float) -> float:
    """Return the number that changes are ranked by, larger is worse: first the direction, then |relative size|.

    Regressions lie in (4, 5], changes of unknown direction in (2, 3], improvements in (0, 1], each by rising
    |relative_size|, which may be infinite. What changed nothing is 0.
    """
    if not relative_size:
        return 0.0
    magnitude = abs(relative_size)
    return 2.0 * _CLASSES[direction] + (1.0 if math.isinf(magnitude) else magnitude / (1.0 + magnitude))


@dataclass(frozen=True, slots=True)
class SuspectRange:
    """A suspect range on a line: the change lies in (previous, slot].

    ``slot`` is the first measured commit at the new level, ``previous`` the last measured one before it.
    Both are slots; their order is the line's.
    """

    line: str
    previous: int
    slot: int


@dataclass(frozen=True, slots=True)
class StepNumbers:
    """What a method and the values next to a step say about it.

    ``before`` and ``after`` are the stable regions on both sides; their ``first`` and ``last`` are slots, not
    indices. ``before_level`` and ``after_level`` are the local levels, medians of the values next to the step;
    ``size`` is their difference and ``relative_size`` that over |before_level|, ``inf`` or ``-inf`` where it is 0.
    ``deviation`` is a robust standard deviation of the single values around the local levels. ``hazard``, ``score``,
    ``p_value``, ``order`` and ``method`` are those of the :class:`~knickpoint.model.step.Step`.
    """

    before: StableRegion
    after: StableRegion
    before_level: float
    after_level: float
    deviation: float
    size: float
    relative_size: float
    hazard: float
    score: float
    p_value: float | None
    order: int
    method: str


@dataclass(frozen=True, slots=True)
class Sighting:
    """A step of one trace as one alert found it, placed on its line.

    ``movement`` is +1 or -1, the way in which the means of the whole regions differ: part of the identity, never
    shown. ``direction`` follows from the sign of ``numbers.size`` and from which way is better. ``interval`` is the
    half width of the detector's interval of location, in measured commits. ``condition`` is PRESENT or RECOVERED, as
    the later steps of the same detection show.
    """

    alert: str
    trace_id: int
    suspect_range: SuspectRange
    movement: int
    direction: Direction
    interval: int
    numbers: StepNumbers
    condition: Condition = Condition.PRESENT


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A step of one trace as the instance knows it, with what was decided about it.

    ``id`` never changes while the point lives on under the identity rule (trace, direction, place).
    ``alerts`` are the names of those that found it, sorted. ``numbers`` are those of the :class:`Sighting` of one of
    them, chosen by the rule of :mod:`knickpoint.watch.identity.reconciliation`. ``matched_ticket`` is a ticket that
    covers this trace and suspect range without a decision of a person. ``history`` says that its regression lies at
    or before the history boundary of its repository.
    """

    id: int
    trace_id: int
    key: str
    unit: str
    suspect_range: SuspectRange
    movement: int
    direction: Direction
    numbers: StepNumbers
    alerts: tuple[str, ...]
    condition: Condition
    status: Status = Status.NEW
    note: str = ""
    ticket: str = ""
    assignee: str = ""
    regression_id: int = 0
    interval: int = 0
    matched_ticket: str = ""
    found: datetime | None = None
    history: bool = False

    @property
    def processed(self) -> bool:
        """Whether a status or a matching ticket has taken it off the unprocessed list."""
        return self.effective_status is not Status.NEW

    @property
    def effective_status(self) -> Status:
        """What was decided, or TICKET where nothing was and a matching ticket takes care of it."""
        return Status.TICKET if self.status is Status.NEW and self.matched_ticket else self.status

    @property
    def severity(self) -> float:
        """The number that findings are ranked by, as :func:`severity_of` has it."""
        return severity_of(self.direction, self.numbers.relative_size)

    @property
    def rank(self) -> tuple[bool, bool, float, str, int]:
        """Sort the finding that speaks for several first: live, unprocessed, the most severe, by trace key."""
        return self.condition is Condition.GONE, self.processed, -self.severity, self.key, self.id


class Transition(Enum):
    """What a new look at the data did to a change point."""

    NEW = "new"
    MOVED = "moved"
    UNCHANGED = "unchanged"
    GONE = "gone"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class KnownPoint:
    """What the identity rule needs to know of a change point.

    ``anchor`` is where the point was when a person last decided about its trace, None before that; a
    decision holds for the step at that place, however the point moved in between.
    """

    id: int
    trace_id: int
    suspect_range: SuspectRange
    movement: int
    interval: int
    condition: Condition
    anchor: SuspectRange | None = None


@dataclass(frozen=True, slots=True)
class PointUpdate:
    """What became of one change point, and what is to be kept of it.

    ``id`` is 0 for a new one. The first of ``sightings`` gives the numbers; there are none for one that is
    gone. ``carried`` says that the decision moves along to the new place, because its own
    place is out of reach.
    """

    transition: Transition
    id: int
    trace_id: int
    sightings: tuple[Sighting, ...]
    carried: bool = False
    recovered: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """One entry of the triage log; the log only grows, undo is an entry too.

    The entry holds the whole state after it, and ``place`` is where the point was when it was made.
    ``undoes`` is the id of the entry that an UNDO takes back. ``regression_id`` is the regression that the point
    was in before the entry, 0 where that is not known; for an UNDO it is the one that the point goes back to.
    """

    id: int
    change_point_id: int
    status: Status
    who: str
    time: datetime
    note: str = ""
    ticket: str = ""
    assignee: str = ""
    action: Action = Action.DECIDE
    undoes: int = 0
    suspect_range: SuspectRange | None = None
    regression_id: int = 0


@dataclass(frozen=True, slots=True)
class Regression:
    """What people triage: one place and the traces that stepped there, regressions and improvements alike.

    ``members`` are those that were asked for, by :attr:`ChangePoint.rank`, while ``counts`` (by effective status),
    ``conditions`` and ``unprocessed`` are of the whole. ``matching`` counts, by direction, the members that the
    list was asked for, those included that were not returned; ``extreme`` is the hazard level of largest magnitude
    among them. ``gone`` counts by status those that later data no longer show. ``found`` is when the first member
    was found. ``history`` says that the place lies at or before the history boundary of the repository: it is
    no work.
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

    @property
    def hazard(self) -> float:
        """The hazard level of largest magnitude among the members, with its sign; 0 where none has one."""
        if self.extreme is not None:
            return self.extreme
        hazards = [member.numbers.hazard for member in self.members]
        return max((hazard for hazard in hazards if not math.isnan(hazard)), key=abs, default=0.0)

    @property
    def traces(self) -> int:
        """Number of traces that stepped here, those that were not asked for included."""
        return sum(self.counts.values())

    @property
    def lead(self) -> ChangePoint | None:
        """The member that speaks for all: of those that are live and unprocessed, the one that got worse most.

        Where none got worse, the largest change of unknown direction leads, else the largest improvement.
        """
        return min(self.members, key=lambda member: member.rank, default=None)

    @property
    def direction(self) -> Direction:
        """The direction of the lead."""
        return self.lead.direction if self.lead else Direction.UNKNOWN

    @property
    def severity(self) -> float:
        """The severity of the lead, by which regressions are ranked."""
        return self.lead.severity if self.lead else 0.0

    @staticmethod
    def count(members: Iterable[ChangePoint]) -> Mapping[Status, int]:
        """Count members by effective status."""
        return Counter(member.effective_status for member in members)
