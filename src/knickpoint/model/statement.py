"""A change, which is what people triage, and its statement: what it is, decided once and read everywhere.

The rule of its headline: each side (worse, better, no known direction) weighs the sum of its members, each by the share
that is certain to have changed. The worse side counts twice. The heaviest side leads, and the others are named after
it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final

from knickpoint.model.alert import AlertSeverity
from knickpoint.model.change_point import ChangePoint, Condition, Direction, Status, SuspectRange, severity_of
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import change_text, movement_words, percent_text
from knickpoint.model.settlement import Certainty, FindingKind
from knickpoint.model.suspects import Suspect


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


_WORSE_COUNTS: Final = 2.0
"""How often the worse side counts: a regression costs more attention than an improvement of its size."""

_LEAST_LIKELY: Final = 0.25
"""Least probability of a first suspect that is named as the likely commit."""

_STANDS_OUT: Final = 2.0
"""By how much the first suspect must be likelier than the second to be named."""

_WORDS: Final = {Direction.REGRESSION: "worse", Direction.IMPROVEMENT: "better", Direction.UNKNOWN: "changed"}


class ChangeDirection(Enum):
    """Whether a change is worse, better, both, or of no known direction."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    MIXED = "mixed"
    UNKNOWN = "unknown"


class ChangeCondition(Enum):
    """Whether the data of today show a change; ``FIXED`` is recovered after a person confirmed it."""

    PRESENT = "present"
    RECOVERED = "recovered"
    FIXED = "fixed"
    GONE = "gone"


class Basis(Enum):
    """Why a commit is the likely one: it was measured, no other is in the range, or it stands out as a suspect."""

    BISECTED = "bisected"
    ONLY = "only"
    SUSPECT = "suspect"


@dataclass(frozen=True, slots=True)
class LikelyCommit:
    """The commit (a slot) that most likely made the change, why, and its probability."""

    slot: int
    basis: Basis
    probability: float

    @property
    def why(self) -> str:
        """Why it is named: "found by bisection", "only commit", or how likely it is, as in "37 %"."""
        named = {Basis.BISECTED: "found by bisection", Basis.ONLY: "only commit"}
        return named.get(self.basis) or percent_text(self.probability)


@dataclass(frozen=True, slots=True)
class StatedMember:
    """What a statement needs of a change point."""

    id: int
    key: str
    unit: str
    direction: Direction
    condition: Condition
    kind: FindingKind
    certainty: Certainty
    status: Status
    work: bool
    size: float
    relative_size: float
    certain_share: float
    before_level: float
    recovered_at: int = -1
    held: str = ""
    ticket: str = ""

    @property
    def text(self) -> str:
        """The size in words: "12 % slower"."""
        noise = self.kind is FindingKind.NOISE
        return change_text(self.size, self.relative_size, self.unit, noise=noise, before=self.before_level)

    @property
    def weight(self) -> float:
        """The share that changed for certain, as a number below 1 that grows with it; 0 within the noise."""
        share = abs(self.certain_share)
        return 1.0 if math.isinf(share) else share / (1.0 + share)

    @property
    def severity(self) -> float:
        """The number that ranks it, see :func:`knickpoint.model.change_point.severity_of`."""
        return severity_of(self.direction, self.relative_size, self.certain_share)


@dataclass(frozen=True, slots=True)
class Statement:
    """What a change is.

    ``headline`` says it in words: the ``side`` that weighs most, then the others, and whether the machine probably made
    it, which ``machine`` describes. ``lead`` is the id of the change
    point that stands for that side, and ``size`` its size in words. ``worse``, ``better`` and ``undirected`` count the
    members that count: the live ones that are work, else the live ones, else all. ``undone_at`` is the commit (a slot)
    that brought the earlier level back, -1 for none. ``likely`` is None where only the suspect range is known.
    ``severity`` orders lists. ``decision`` is NEW while a member that counts is open, else that of the lead; ``ticket``
    is that of the lead, else the first of the others, "" without one. ``cause`` is what the profiles before and after
    it say, in a sentence, "" without any.
    """

    direction: ChangeDirection
    side: Direction
    kind: FindingKind
    headline: str
    lead: int
    size: str
    worse: int
    better: int
    undirected: int
    certainty: Certainty
    condition: ChangeCondition
    severity: float
    undone_at: int = -1
    likely: LikelyCommit | None = None
    machine: str = ""
    held: str = ""
    decision: Status = Status.NEW
    ticket: str = ""
    cause: str = ""

    @property
    def traces(self) -> int:
        """How many members count."""
        return self.worse + self.better + self.undirected

    @property
    def named_slots(self) -> tuple[int, ...]:
        """The commits that it names: the likely one, and the one that brought the earlier level back."""
        named = (self.likely.slot if self.likely else -1, self.undone_at)
        return tuple(slot for slot in named if slot >= 0)

    @property
    def counts(self) -> str:
        """How many traces changed, by direction: "7 traces: 1 worse, 6 better"."""
        sides = ((self.worse, "worse"), (self.better, "better"), (self.undirected, "changed"))
        return f"{counted(self.traces, 'trace')}: {', '.join(f'{number:,} {word}' for number, word in sides if number)}"

    def standing(self, names: Mapping[int, str]) -> str:
        """Return the condition and the commit that undid the change, as in "fixed, undone at 1a2b3c4"; "" if present.

        ``names`` has slot → name of a commit.
        """
        if self.condition is ChangeCondition.PRESENT:
            return ""
        undone = names.get(self.undone_at)
        return f"{self.condition.value}, undone at {undone}" if undone else str(self.condition.value)

    def details(self, names: Mapping[int, str]) -> str:
        """Return the details beside the headline, as in "7 traces: 1 worse, 6 better; likely 1a2b3c4 (only commit)"."""
        name = names.get(self.likely.slot) if self.likely else None
        likely = f"likely {name} ({self.likely.why})" if self.likely and name else ""
        return "; ".join(filter(None, (self.counts, likely, self.standing(names))))


def state_change(
    members: Sequence[StatedMember],
    *,
    likely: LikelyCommit | None = None,
    machine: str = "",
    probably_machine: bool = False,
) -> Statement | None:
    """State a change by its members, the likely commit and what changed about the machine; None without members.

    If it is ``probably_machine`` and no bisection found a commit, the headline says so, and no commit is named.

    The lead is open (without a decision) where any member is, so that the statement is about what is left to decide.
    """
    counted = _first_nonempty(
        [each for each in members if each.condition is not Condition.GONE and each.work],
        [each for each in members if each.condition is not Condition.GONE],
        members,
    )
    if not counted:
        return None
    open_ones = [each for each in counted if each.status is Status.NEW] or counted
    sides = {side: [each for each in open_ones if each.direction is side] for side in _WORDS}
    speaking = max(sides, key=lambda side: (_weight(sides[side], side), len(sides[side])))
    ranked = {side: _ranked(found) for side, found in sides.items()}
    lead = ranked[speaking][0]
    direction = _direction(counted, speaking)
    rest = [side for side in _WORDS if side is not speaking and sides[side]]
    parts = [_side_text(ranked[side], side, alone=not rest) for side in (speaking, *rest)]
    if probably_machine and not (likely and likely.basis is Basis.BISECTED):
        likely, parts = None, [*parts, "probably the machine"]
    return Statement(
        direction=direction,
        side=speaking,
        kind=lead.kind,
        headline="; ".join(parts),
        lead=lead.id,
        size=lead.text,
        worse=_count(counted, Direction.REGRESSION),
        better=_count(counted, Direction.IMPROVEMENT),
        undirected=_count(counted, Direction.UNKNOWN),
        certainty=_certainty(counted),
        condition=_condition(members, ranked[speaking]),
        severity=_severity(lead, direction),
        undone_at=max((each.recovered_at for each in ranked[speaking]), default=-1),
        likely=likely,
        machine=machine,
        held=min(each.held for each in counted) if all(each.held for each in counted) else "",
        decision=lead.status,
        ticket=lead.ticket or next((each.ticket for each in _ranked(counted) if each.ticket), ""),
    )


def likely_commit(culprits: Sequence[int], probability: float, suspects: Sequence[Suspect]) -> LikelyCommit | None:
    """Name the likely commit: the one that a bisection measured, else the only one, else a suspect that stands out.

    A suspect stands out with at least 25 %, where the next one is at most half as likely.
    """
    if len(culprits) == 1:
        return LikelyCommit(culprits[0], Basis.BISECTED, probability)
    if culprits or not suspects:
        return None
    first, *others = suspects
    if not others:
        return LikelyCommit(first.slot, Basis.ONLY, first.probability)
    if first.probability >= _LEAST_LIKELY and first.probability >= _STANDS_OUT * others[0].probability:
        return LikelyCommit(first.slot, Basis.SUSPECT, first.probability)
    return None


def _first_nonempty(*several: Sequence[StatedMember]) -> Sequence[StatedMember]:
    return next((each for each in several if each), ())


def _ranked(members: Collection[StatedMember]) -> list[StatedMember]:
    return sorted(members, key=lambda each: (-each.severity, each.key, each.id))


def _weight(side: Collection[StatedMember], direction: Direction) -> float:
    factor = _WORSE_COUNTS if direction is Direction.REGRESSION else 1.0
    return factor * math.fsum(each.weight for each in side)


def _count(members: Collection[StatedMember], direction: Direction) -> int:
    return sum(each.direction is direction for each in members)


def _direction(members: Collection[StatedMember], speaking: Direction) -> ChangeDirection:
    """Mixed where both sides hold a settled member whose size is certain to be more than nothing."""
    certain = {each.direction for each in members if each.certainty is Certainty.SETTLED and each.certain_share}
    if {Direction.REGRESSION, Direction.IMPROVEMENT} <= certain:
        return ChangeDirection.MIXED
    return ChangeDirection(speaking.value)


def _severity(lead: StatedMember, direction: ChangeDirection) -> float:
    """Rank a mixed change that is mostly better above improvements: somebody should look at what got worse."""
    if direction is ChangeDirection.MIXED and lead.direction is Direction.IMPROVEMENT:
        return severity_of(Direction.UNKNOWN, lead.relative_size, lead.certain_share)
    return lead.severity


def _certainty(members: Collection[StatedMember]) -> Certainty:
    settled = any(each.certainty is Certainty.SETTLED for each in members)
    return Certainty.SETTLED if settled else Certainty.PROVISIONAL


def _condition(members: Collection[StatedMember], speaking: Collection[StatedMember]) -> ChangeCondition:
    if all(each.condition is Condition.GONE for each in members):
        return ChangeCondition.GONE
    if not all(each.condition is Condition.RECOVERED for each in speaking):
        return ChangeCondition.PRESENT
    confirmed = any(each.status in {Status.ACKNOWLEDGED, Status.TICKET} for each in members)
    return ChangeCondition.FIXED if confirmed else ChangeCondition.RECOVERED


def _side_text(side: Sequence[StatedMember], direction: Direction, *, alone: bool) -> str:
    """Count the changes of one side with the largest size, as in "24 faster by up to 46 %"; of one, "12 % slower"."""
    first = side[0]
    if alone and len(side) == 1:
        return first.text
    nouns = {_movement(each) for each in side}
    word = nouns.pop() if len(nouns) == 1 else _WORDS[direction]
    largest = abs(first.relative_size)
    if not math.isfinite(largest):
        return f"{len(side):,} {word}, from 0"
    if "×" in first.text:
        return f"{len(side):,} {word}, {'up to ' if len(side) > 1 else ''}{first.text}"
    reach = "by" if len(side) == 1 else "by up to"
    return f"{len(side):,} {word} {reach} {percent_text(largest)}"


def _movement(member: StatedMember) -> str:
    if member.kind is FindingKind.NOISE:
        return "noisier" if member.size > 0 else "less noisy"
    words = movement_words(member.unit)
    return words.rise if member.size > 0 else words.fall
