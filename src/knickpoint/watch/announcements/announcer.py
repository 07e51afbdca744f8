"""Write the announcement ledger at the end of a run: read what the run touched, decide, and append what is new.

This is the last stage of a run, in its transaction: a run that is killed announces nothing, and the next one announces it
then. New chains begin before the others go on, so what brings a regression back is known when its recovery is announced.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from knickpoint.model.announcement import Announcement, AnnouncementKind, AnnouncementRule
from knickpoint.model.commit import Repository
from knickpoint.model.regression import ChangePoint, Condition, Status, SuspectRange
from knickpoint.store import Store
from knickpoint.store.events.payloads import MOST_LISTED, Announced
from knickpoint.store.findings.announcements import BASELINE
from knickpoint.watch.announcements.decisions import (
    ChainState,
    Joining,
    Side,
    decide_opening,
    follow_up,
    side_of,
)
from knickpoint.watch.lines import Lines

__all__ = ["announce"]


def announce(
    store: Store,
    repository: Repository,
    touched: Collection[int],
    rule: AnnouncementRule,
    *,
    complete: bool = False,
    now: datetime | None = None,
) -> list[Announcement]:
    """Announce what settled, moved, recovered or vanished in ``repository``, and return it.

    ``touched`` are the ids of the change points that the run wrote; after a ``complete`` run all chains may go on, also
    those that a run touched which was killed. Findings that were history are marked, and stay silent for ever. One
    :class:`~knickpoint.store.events.payloads.Announced` event names the rows that senders are to hear of.
    """
    ledger = store.findings.announcements
    time = now or datetime.now(UTC)
    with store.transaction():
        ledger.keep_history_silent(repository)
        announcer = _Announcer(store, repository, time)
        waiting = [point for point in ledger.waiting(repository) if _is_due(point, announcer.lines, rule, time)]
        announcer.read(touched, waiting, ledger.unended(repository, gone=not complete))
        announcer.open_chains(waiting)
        announcer.follow_chains()
        ledger.append(announcer.written)
        ledger.mark(announcer.joined)
        heard = [each for each in announcer.written if rule.improvements or each.kind is not AnnouncementKind.IMPROVED]
        if heard:
            ids = [each.id for each in heard]
            store.outbox.publish(Announced(repository.name, ids[:MOST_LISTED], len(ids) > MOST_LISTED))
    return announcer.written


def _is_due(point: ChangePoint, lines: Lines, rule: AnnouncementRule, now: datetime) -> bool:
    """Return whether a settled finding is to be announced now.

    It is not when a person hid it, or when results of commits inside its suspect range may still arrive.
    """
    if point.effective_status is Status.HIDDEN:
        return False
    positions = lines.line(point.suspect_range.line).positions
    previous, position = positions.get(point.suspect_range.previous), positions.get(point.suspect_range.slot)
    if previous is None or position is None or position - previous <= 1 or point.found is None:
        return True
    return now >= point.found + timedelta(minutes=rule.late_minutes)


def _side_of_chain(opening: AnnouncementKind) -> Side:
    return Side.BETTER if opening is AnnouncementKind.IMPROVED else Side.WORSE


@dataclass
class _Announcer:
    """The chains and change points that one run is about, and what it announces.

    ``chains`` has the announcements of each chain, ``sides`` its side, ``members`` its change points; ``traces`` has all
    change points of each trace, and ``regressions`` the regression of each of them. ``joined`` is what is to be marked:
    change point to chain.
    """

    store: Store
    repository: Repository
    time: datetime
    lines: Lines = field(init=False)
    chains: dict[int, list[Announcement]] = field(default_factory=dict)
    members: dict[int, list[ChangePoint]] = field(default_factory=lambda: defaultdict(list))
    traces: dict[int, list[ChangePoint]] = field(default_factory=lambda: defaultdict(list))
    sides: dict[int, Side] = field(default_factory=dict)
    written: list[Announcement] = field(default_factory=list)
    joined: dict[int, int] = field(default_factory=dict)
    regressions: dict[int, int] = field(default_factory=dict)
    _following: int = field(init=False)
    _ranges: Mapping[int, SuspectRange] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = Lines(self.store, self.repository)
        self._following = self.store.findings.announcements.next_id()
        self._ranges = {}

    def read(self, touched: Collection[int], waiting: Sequence[ChangePoint], further_chains: Collection[int]) -> None:
        """Read the chains that the run may continue, and the change points of all traces that take part."""
        ledger = self.store.findings.announcements
        traces = {point.trace_id for point in self.store.findings.points(touched)}
        traces |= {point.trace_id for point in waiting}
        near = ledger.of_traces(traces)
        beside = ledger.of_regressions({point.regression_id for point in waiting})
        keys = {point.announced for point in (*near, *beside) if point.announced > 0}
        keys.update(further_chains)
        self.chains = ledger.chains(keys)
        self.sides = {chain: _side_of_chain(rows[0].kind) for chain, rows in self.chains.items()}
        members = ledger.members(keys)
        for point in members:
            self.members[point.announced].append(point)
        further = {point.trace_id for point in members} - traces
        for point in (*near, *ledger.of_traces(further)):
            self.traces[point.trace_id].append(point)
            self.regressions[point.id] = point.regression_id
        self._ranges = self.store.findings.groups.suspect_ranges(self.repository) if keys or waiting else {}

    # New chains

    def open_chains(self, waiting: Sequence[ChangePoint]) -> None:
        """Let the points that wait join chains or open new ones, regression by regression in the order of the line."""
        ready = {point.id for point in waiting}
        by_regression: dict[int, list[ChangePoint]] = defaultdict(list)
        for point in self.store.findings.announcements.of_regressions({each.regression_id for each in waiting}):
            by_regression[point.regression_id].append(point)
        for key in sorted(by_regression, key=lambda key: (self._position(by_regression[key][0]), key)):
            opened = 0
            for decision in decide_opening(
                by_regression[key], ready=ready, sides=self.sides, brought_back=self._brought_back
            ):
                if not isinstance(decision, Joining):
                    self.joined |= {point.id: BASELINE for point in decision.points}
                    continue
                chain = decision.chain or opened
                if not chain:
                    chain = opened = self._open(decision.side.opening, key, decision.points)
                self._join(chain, decision.points)

    def _join(self, chain: int, points: Iterable[ChangePoint]) -> None:
        for point in points:
            self.joined[point.id] = chain
            self.members[chain].append(point)

    def _open(self, kind: AnnouncementKind, regression: int, points: Sequence[ChangePoint]) -> int:
        over = self._over(points)
        settled_over = all(point.id in over for point in points)
        condition = Condition.RECOVERED if settled_over and kind is AnnouncementKind.REGRESSED else Condition.PRESENT
        written = self._write(0, kind, regression, points, condition)
        return written.chain

    def _brought_back(self, point: ChangePoint) -> int:
        """Return the worse chain whose change in the same trace ``point`` brings back, 0 for none."""
        for other in self.traces[point.trace_id]:
            chain = self.joined.get(other.id, other.announced)
            if chain > 0 and side_of(other) is Side.WORSE and self._recovery_of(other) == point.id:
                return chain
        return 0

    # Chains that go on

    def follow_chains(self) -> None:
        """Announce what follows in each chain, once."""
        absent = self._absent([point for members in self.members.values() for point in members])
        opened = {each.chain for each in self.written}
        for chain in sorted(self.chains.keys() - opened):
            side = self.sides[chain]
            members = [point for point in self.members[chain] if side_of(point) is side]
            last = self.chains[chain][-1]
            live = [point for point in members if point.condition is not Condition.GONE]
            state = ChainState(
                opening=self.chains[chain][0].kind,
                last=last,
                members=tuple(members),
                absent=absent,
                over=self._over(live),
                unsure=frozenset(point.id for point in live if self._recovery_vanished(point, absent)),
                moved=self._moved(live, last),
            )
            kind = follow_up(state)
            if kind is not None:
                self._follow(chain, kind, members)

    def _follow(self, chain: int, kind: AnnouncementKind, members: Sequence[ChangePoint]) -> None:
        live = [point for point in members if point.condition is not Condition.GONE]
        over = kind in {AnnouncementKind.RECOVERED, AnnouncementKind.FIXED}
        condition = (
            Condition.GONE if kind is AnnouncementKind.WITHDRAWN else Condition.RECOVERED if over else Condition.PRESENT
        )
        # Where all members changed sides, what was announced is gone, and they are what is left of it.
        points = live or list(members) or self.members[chain]
        votes = Counter(point.regression_id for point in points)
        regression = min(votes, key=lambda key: (-votes[key], key))
        self._write(chain, kind, regression, points, condition)

    def _over(self, points: Iterable[ChangePoint]) -> frozenset[int]:
        return frozenset(point.id for point in points if self._recovery_of(point))

    def _recovery_of(self, point: ChangePoint) -> int:
        """Return the settled change that brought back the level before ``point``, 0 for none."""
        if point.condition is not Condition.RECOVERED:
            return 0
        later = [other for other in self._later(point) if other.condition is not Condition.GONE]
        return next((other.id for other in later if other.settlement.settled), 0)

    def _recovery_vanished(self, point: ChangePoint, absent: Mapping[int, int]) -> bool:
        """Return whether a change that may have brought the level back vanished so lately that it may return."""
        gone = [other for other in self._later(point) if other.condition is Condition.GONE]
        fresh = self._absent([other for other in gone if other.id not in absent])
        return any(
            (absent.get(other.id, 0) or fresh.get(other.id, 0)) < max(3, other.settlement.needed) for other in gone
        )

    def _later(self, point: ChangePoint) -> list[ChangePoint]:
        """Return the changes of the same trace behind ``point`` that go the other way, in the order of the line."""
        place = self._position(point)
        later = [
            other
            for other in self.traces[point.trace_id]
            if other.numbers.size * point.numbers.size < 0 and self._position(other) > place
        ]
        return sorted(later, key=self._position)

    # What both need

    def _position(self, point: ChangePoint) -> int:
        return self.lines.line(point.suspect_range.line).positions.get(point.suspect_range.slot, -1)

    def _moved(self, live: Sequence[ChangePoint], last: Announcement) -> bool:
        """Return whether all live members lie further from the announced suspect range than the announcement allows."""
        outside = [point for point in live if not self._overlaps(point.suspect_range, last.suspect_range)]
        return bool(live) and len(outside) == len(live) and all(self._beyond(point, last) for point in live)

    def _beyond(self, point: ChangePoint, last: Announcement) -> bool:
        """Return whether more values lie between ``point`` and the announced range than either interval of location."""
        line = self.lines.line(point.suspect_range.line)
        begin, end = self._bounds(last.suspect_range)
        position = line.positions.get(point.suspect_range.slot, end)
        first, behind = sorted((position, begin + 1 if position <= begin else end))
        values = self.store.frames.values(line, [point.trace_id])[0]
        between = int((~np.isnan(values[first + 1 : behind + 1])).sum())
        return between > max(point.interval, last.interval)

    def _bounds(self, suspect_range: SuspectRange) -> tuple[int, int]:
        """Return the positions of a suspect range on its line."""
        positions = self.lines.line(suspect_range.line).positions
        end = positions.get(suspect_range.slot, -1)
        return min(positions.get(suspect_range.previous, end - 1), end - 1), end

    def _overlaps(self, first: SuspectRange, second: SuspectRange) -> bool:
        """Return whether two suspect ranges share a commit."""
        (begin, end), (other_begin, other_end) = self._bounds(first), self._bounds(second)
        return max(begin, other_begin) < min(end, other_end)

    def _range_of(self, chain: int, regression: int, lead: ChangePoint, *, moved: bool) -> SuspectRange:
        """Return the range that an announcement names: the announced one, widened over the new place where it moved."""
        current = self._ranges.get(regression, lead.suspect_range)
        if chain not in self.chains:
            return current
        announced = self.chains[chain][-1].suspect_range
        if not moved or announced.line != current.line:
            return announced
        (begin, end), (new_begin, new_end) = self._bounds(announced), self._bounds(current)
        return SuspectRange(
            announced.line,
            announced.previous if begin <= new_begin else current.previous,
            announced.slot if end >= new_end else current.slot,
        )

    def _absent(self, points: Iterable[ChangePoint]) -> dict[int, int]:
        """Return how many values in a row lack each of the points that are gone."""
        gone = [point for point in points if point.condition is Condition.GONE]
        found: dict[int, int] = {}
        for name in sorted({point.suspect_range.line for point in gone}):
            line = self.lines.line(name)
            of_line = [point for point in gone if point.suspect_range.line == name]
            ids = np.array(sorted({point.trace_id for point in of_line}), dtype=np.int64)
            row_of = {key: row for row, key in enumerate(ids.tolist())}
            held = ~np.isnan(self.store.frames.values(line, ids))
            for point in of_line:
                since = line.positions.get(point.absent_since, -1)
                found[point.id] = 1 + int(held[row_of[point.trace_id], since + 1 :].sum())
        return found

    def _write(
        self,
        chain: int,
        kind: AnnouncementKind,
        regression: int,
        points: Sequence[ChangePoint],
        condition: Condition,
    ) -> Announcement:
        lead = min(points, key=lambda point: point.rank)
        last = self.chains[chain][-1] if chain in self.chains else None
        live = [point for point in points if point.condition is not Condition.GONE]
        key = self._following
        self._following += 1
        causes = [self._recovery_of(point) for point in points] if condition is Condition.RECOVERED else []
        cause = next((self.regressions[each] for each in causes if each), 0)
        written = Announcement(
            id=key,
            chain=chain or key,
            number=len(self.chains.get(chain, ())),
            repository_id=self.repository.id,
            regression_id=regression,
            kind=kind,
            time=self.time,
            suspect_range=self._range_of(
                chain, regression, lead, moved=self._moved(live, last) if live and last else False
            ),
            direction=lead.direction,
            finding_kind=lead.kind,
            condition=condition,
            traces=len({point.trace_id for point in points}),
            lead=lead.id,
            trace_key=lead.key,
            unit=lead.unit,
            before_level=lead.numbers.before_level,
            after_level=lead.numbers.after_level,
            size=lead.numbers.size,
            relative_size=lead.numbers.relative_size,
            interval=max(lead.interval, last.interval if last else 0),
            cause_id=cause,
        )
        self.written.append(written)
        self.chains.setdefault(written.chain, []).append(written)
        self.sides.setdefault(written.chain, _side_of_chain(kind))
        return written
