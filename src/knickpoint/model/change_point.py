"""Change points, their places and numbers, and the decisions of people about them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Final

from knickpoint.model.alert import AlertKind, AlertSeverity
from knickpoint.model.quantity_text import change_text
from knickpoint.model.settlement import SETTLED, Certainty, FindingKind, Settlement
from knickpoint.model.step import StableRegion
from knickpoint.model.unit_names import Better

if TYPE_CHECKING:
    from knickpoint.model.commit import Line


class Status(Enum):
    """The decision of a person about one member of a change."""

    NEW = "new"
    ACKNOWLEDGED = "acknowledged"
    HIDDEN = "hidden"
    TICKET = "ticket"


class Condition(Enum):
    """The state of a finding in the data of today; computed, never set by hand."""

    PRESENT = "present"
    RECOVERED = "recovered"
    GONE = "gone"


class Direction(Enum):
    """Whether a change is bad or good; unknown where it is unknown which direction is better."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    UNKNOWN = "unknown"


class Action(Enum):
    """The kind of an entry of the triage log."""

    DECIDE = "decide"
    SPLIT = "split"
    MERGE = "merge"
    UNDO = "undo"


def direction_of(size: float, better: Better) -> Direction:
    """Return the direction of a change by ``size`` in a trace; no change has an unknown direction."""
    if better is Better.UNKNOWN or not size:
        return Direction.UNKNOWN
    good = size > 0 if better is Better.HIGHER else size < 0
    return Direction.IMPROVEMENT if good else Direction.REGRESSION


_CLASSES: Final[Mapping[Direction, int]] = {Direction.REGRESSION: 2, Direction.UNKNOWN: 1, Direction.IMPROVEMENT: 0}

_WITHIN_NOISE: Final = 6.0
"""By how much what lies within its own noise ranks lower: below everything that does not."""


def severity_of(direction: Direction, relative_size: float, certain_share: float | None = None) -> float:
    """Return the number that ranks changes, larger is worse: direction first, then the certain size of the change.

    ``certain_share`` is that part of |relative_size| which is certain: the end of the interval of the size that is
    nearer to no change, None where there is no interval. Regressions lie in (4, 5], changes of unknown direction in (2,
    3], improvements in (0, 1], each by rising |certain_share|, which may be infinite. No change is 0. What may be no
    change at all, because its interval holds 0, ranks below that: in the same order by |relative_size|, and 6 lower.
    """
    if not relative_size:
        return 0.0
    certain = relative_size if certain_share is None else certain_share
    if certain:
        return _rank_in(direction, certain)
    return _rank_in(direction, relative_size) - _WITHIN_NOISE


def certain_share(relative_size: float, low: float, high: float, before_level: float) -> float:
    """Return the end of the interval of a size that is nearer to no change, over |before_level|; 0 within the noise.

    Without an interval (``low`` or ``high`` is nan) it is the relative size.
    """
    if math.isnan(low) or math.isnan(high):
        return relative_size
    if low <= 0 <= high:
        return 0.0
    nearer = min(low, high, key=abs)
    base = abs(before_level)
    return nearer / base if base else math.copysign(math.inf, nearer)


def _rank_in(direction: Direction, share: float) -> float:
    magnitude = abs(share)
    return 2.0 * _CLASSES[direction] + (1.0 if math.isinf(magnitude) else magnitude / (1.0 + magnitude))


@dataclass(frozen=True, slots=True)
class SuspectRange:
    """The commits of a line that may have caused a change: (previous, slot].

    ``slot`` is the first measured commit at the new level, ``previous`` the last measured one before it.
    Both are slots; the line defines their order.
    """

    line: str
    previous: int
    slot: int

    def on(self, line: Line) -> LineInterval | None:
        """Return the positions of the range on ``line``, None where its commit ``slot`` has left the line.

        Where ``previous`` has left the line, or comes after ``slot`` by now, only the commit ``slot`` is left.
        """
        position = line.positions.get(self.slot)
        if position is None:
            return None
        return LineInterval(min(line.positions.get(self.previous, position - 1), position - 1), position)


@dataclass(frozen=True, slots=True, order=True)
class LineInterval:
    """The commits of a line at the positions (previous, position]."""

    previous: int
    position: int

    @property
    def commits(self) -> int:
        """How many commits it has."""
        return self.position - self.previous

    def __contains__(self, position: int) -> bool:
        """Return True if ``position`` lies in it."""
        return self.previous < position <= self.position

    def overlaps(self, other: LineInterval) -> bool:
        """Return True if the two share a commit."""
        return max(self.previous, other.previous) < min(self.position, other.position)


@dataclass(frozen=True, slots=True)
class UncertainRange:
    """A suspect range, and the interval of location around it, in which the method may be off.

    ``interval`` is the half width in measured commits; ``before`` and ``after`` are the commits of the line that it
    covers on either side of the suspect range.
    """

    suspect_range: SuspectRange
    interval: int
    before: int
    after: int

    @classmethod
    def of(cls, point: ChangePoint | KnownPoint | Sighting) -> UncertainRange:
        """Return that of ``point``."""
        return cls(point.suspect_range, point.interval, point.interval_before, point.interval_after)


@dataclass(frozen=True, slots=True)
class StepNumbers:
    """The numbers of a step, from its method and from the values next to it.

    ``before`` and ``after`` are the stable regions on both sides; their ``first`` and ``last`` are slots, not indices.
    ``before_level`` and ``after_level`` are the local levels, medians of the values next to the step; ``size`` is their
    difference and ``relative_size`` is size / |before_level|, ``inf`` or ``-inf`` where it is 0. The size lies between
    ``low`` and ``high`` with 95 %, and ``sign`` is the chance that it has the right sign; nan where that is unknown.
    ``over_reference`` is how far the end of a drift lies from the level at what its alert compares drifts with, the
    ``reference`` (`best`, a date or a release), as a share of that level, with its sign; "" and nan where its start is
    that. ``deviation`` is a robust standard deviation of the single values around the local levels. ``hazard``,
    ``score``, ``p_value``, ``order`` and ``method`` are those of the :class:`~knickpoint.model.step.Step`.
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
    low: float = math.nan
    high: float = math.nan
    sign: float = math.nan
    reference: str = ""
    over_reference: float = math.nan

    @property
    def certain_share(self) -> float:
        """The end of the interval that is nearer to no change, over |before_level|, with its sign; 0 within the noise.

        Without an interval it is the relative size.
        """
        return certain_share(self.relative_size, self.low, self.high, self.before_level)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A step of one trace as one alert found it, placed on its line.

    ``movement`` is +1 or -1, the sign of the difference between the means of the regions: part of the identity, never
    shown. ``direction`` follows from the sign of ``numbers.size`` and from the better direction of the trace.
    ``interval`` is the half width of the detector's interval of location, in measured commits; ``interval_before`` and
    ``interval_after`` are the commits of the line that it covers on either side of the suspect range. ``condition`` is
    PRESENT or RECOVERED, as the later steps of the same detection show, also those that the alert does not report;
    ``recovered_at`` is the commit (a slot) of the settled step that brought the level back, -1 without one.
    ``settlement`` is that of the data at the time.
    """

    alert: str
    trace_id: int
    suspect_range: SuspectRange
    movement: int
    direction: Direction
    interval: int
    numbers: StepNumbers
    condition: Condition = Condition.PRESENT
    kind: FindingKind = FindingKind.STEP
    settlement: Settlement = SETTLED
    interval_before: int = 0
    interval_after: int = 0
    recovered_at: int = -1

    @property
    def until(self) -> int | None:
        """The last commit (a slot) of a drift, None for what is none."""
        return self.numbers.after.last if self.kind is FindingKind.DRIFT else None


UNWATCHED: Final = -2
"""``absent_since`` of a point that is gone because no alert watches it any more."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A step of one trace that the instance remembers, with the decision about it.

    ``id`` stays as long as the identity rule (trace, movement, suspect range) matches the point with later sightings.
    ``alerts`` are the names of the alerts that found it, sorted. ``numbers``, and what is known of its place and
    recovery, are those of the :class:`Sighting` of one of them, chosen by the rule of :mod:`knickpoint.watch.identity`.
    ``matched_ticket`` is an imported ticket that covers this trace and suspect range. ``history`` is true if its change
    lies at or before the history boundary of its repository. ``settlement`` says whether it is provisional; it is
    settled where one alert's sighting is. ``announced`` is its chain of announcements, 0 for none, -1 where it never is
    announced. ``absent_since`` is the newest measured commit (a slot) when it was first found to be gone, -1 for
    unknown, :data:`UNWATCHED` where the alerts changed and not the data. ``held`` says why it is held back, because
    results at its place are quarantined; "" where it is not. A held point is never announced, gone ones included.
    ``alert_kind`` and ``alert_severity`` are those that it has from its alerts:
    :func:`knickpoint.model.alert.kind_of_finding`.
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
    change_id: int = 0
    interval: int = 0
    matched_ticket: str = ""
    found: datetime | None = None
    history: bool = False
    kind: FindingKind = FindingKind.STEP
    settlement: Settlement = SETTLED
    announced: int = 0
    absent_since: int = -1
    held: str = ""
    alert_kind: AlertKind = AlertKind.WORK
    alert_severity: AlertSeverity = AlertSeverity.NORMAL
    interval_before: int = 0
    interval_after: int = 0
    recovered_at: int = -1

    @property
    def until(self) -> int | None:
        """The last commit (a slot) of a drift, None for what is none."""
        return self.numbers.after.last if self.kind is FindingKind.DRIFT else None

    @property
    def size_text(self) -> str:
        """The size in words: "12 % slower"."""
        noise, numbers = self.kind is FindingKind.NOISE, self.numbers
        return change_text(numbers.size, numbers.relative_size, self.unit, noise=noise, before=numbers.before_level)

    @property
    def certainty(self) -> Certainty:
        """Whether later values may still change it: what is held is provisional."""
        return Certainty.PROVISIONAL if self.held else self.settlement.certainty

    @property
    def is_over(self) -> bool:
        """Whether a settled change, which an alert may or may not report, brought back the level before it."""
        return self.condition is Condition.RECOVERED and self.recovered_at >= 0

    @property
    def certainty_reason(self) -> str:
        """Why it is provisional, "" where it is settled."""
        return f"held: {self.held}" if self.held else self.settlement.reason

    @property
    def processed(self) -> bool:
        """Whether it has a status or a matching ticket, so that it is off the unprocessed list."""
        return self.effective_status is not Status.NEW

    @property
    def linked_ticket(self) -> str:
        """The ticket of the decision, else the one that matches, "" without either."""
        return self.ticket or self.matched_ticket

    @property
    def effective_status(self) -> Status:
        """The status, or TICKET for a new point with a matching ticket."""
        return Status.TICKET if self.status is Status.NEW and self.matched_ticket else self.status

    @property
    def severity(self) -> float:
        """The number that ranks findings, see :func:`severity_of`."""
        return severity_of(self.direction, self.numbers.relative_size, self.numbers.certain_share)

    @property
    def rank(self) -> tuple[bool, bool, float, str, int]:
        """The sort key of members, the lead first: live, unprocessed, most severe, then by trace key."""
        return self.condition is Condition.GONE, self.processed, -self.severity, self.key, self.id


class Transition(Enum):
    """The change of a change point in one run of the alerts."""

    NEW = "new"
    MOVED = "moved"
    UNCHANGED = "unchanged"
    GONE = "gone"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class KnownPoint:
    """The part of a change point that the identity rule needs.

    ``anchor`` is the suspect range at the last decision about the point, None without a decision. The decision holds
    for the step there, even if the point has moved since. ``expected`` is where the cluster of the point is found now,
    None where it is in none, or in one that did not drift. ``until`` is the last commit (a slot) of a drift, None for
    what is none.
    """

    id: int
    trace_id: int
    suspect_range: SuspectRange
    movement: int
    interval: int
    condition: Condition
    anchor: SuspectRange | None = None
    expected: SuspectRange | None = None
    until: int | None = None
    interval_before: int = 0
    interval_after: int = 0


@dataclass(frozen=True, slots=True)
class PointUpdate:
    """The update of one change point after a run of the alerts.

    ``id`` is 0 for a new point. The first of ``sightings`` gives the numbers; a point that is gone has none.
    ``carried`` is true if the decision moves along to the new suspect range, because the one that it was made for is
    out of reach. ``absent_since`` is the newest measured commit (a slot) of the trace, for a point that is gone;
    :data:`UNWATCHED` where its alerts no longer watch the trace.
    """

    transition: Transition
    id: int
    trace_id: int
    sightings: tuple[Sighting, ...]
    carried: bool = False
    recovered: bool = False
    absent_since: int = -1


@dataclass(frozen=True, slots=True)
class Decision:
    """One entry of the triage log; the log only grows, and an undo is an entry as well.

    The entry has the whole state after it. ``suspect_range`` is that of the point at the time of the entry. ``undoes``
    is the id of the entry that an UNDO takes back. ``change_id`` is the change of the point before the entry, 0 if
    unknown; for an UNDO it is the one that the point returns to.
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
    change_id: int = 0
