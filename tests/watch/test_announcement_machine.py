"""No sequence of results, corrections, runs, failures and decisions repeats an announcement or loses a decision."""

from __future__ import annotations

import math
import random
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.examples import in_the_long_run

from knickpoint.model.change_point import ChangePoint, Status
from knickpoint.model.errors import StoreError
from knickpoint.model.notification import Announcement, AnnouncementKind
from knickpoint.model.settlement import FindingKind
from knickpoint.store.findings.announcements import AnnouncementLedger
from knickpoint.store.tables.findings import STATEMENTS_OF_CHANGES
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.announcements.transitions import NEW, RECENT
from knickpoint.watch.triage.decisions import Targets, decide, merge, split, undo_last

from .conftest import World, copied, make_world
from .test_announcements import ALERT, feed, ledger, whole_ledger

_TRACES: Final = ("parse", "render")
_COMMITS: Final = 100
_CORRECTIONS: Final = {AnnouncementKind.MOVED, AnnouncementKind.WITHDRAWN, AnnouncementKind.RETURNED}
_OVER: Final = {AnnouncementKind.RECOVERED, AnnouncementKind.FIXED, AnnouncementKind.WITHDRAWN}


@cache
def _template() -> tuple[tempfile.TemporaryDirectory[str], Path]:
    """Return the file of an instance without results; the directory lives as long as the process."""
    directory = tempfile.TemporaryDirectory()
    place = Path(directory.name) / "store.db"
    make_world(place, _COMMITS).store.close()
    return directory, place


def _run(world: World) -> None:
    """Run the alert, and check that nobody is told of what is old."""
    table = world.store.findings.announcements
    before = table.next_id() - 1
    run_alerts(world.store, [ALERT], as_work=True)
    for row in table.after(before, provisional=True):
        (lead,) = world.store.findings.points([row.lead])
        line = world.store.commits.line(world.repository)
        values = world.store.frames.values(line, [lead.trace_id])[0]
        begin = lead.numbers.after.last if lead.kind is FindingKind.DRIFT else lead.suspect_range.slot
        age = int((~np.isnan(values[line.positions[begin] :])).sum())
        first = row.kind.opens or row.kind is AnnouncementKind.PROVISIONAL
        assert age <= (NEW if first else RECENT) or not (first or row.kind in _CORRECTIONS)


class _Values(World):
    """A world that remembers the values that it was given."""

    values: dict[str, dict[int, float]]


def _state(world: _Values) -> list[tuple[object, ...]]:
    """Return the live findings, without ids."""
    points = [point for name in _TRACES if world.values[name] for point in world.points(name)]
    return [(each.key, each.suspect_range, each.condition, each.settlement, each.movement) for each in points]


def _world(place: Path) -> _Values:
    made = copied(_template()[1], place)
    world = _Values(made.store, made.repository)
    world.values = {name: {} for name in _TRACES}
    return world


class Ledger(RuleBasedStateMachine):
    """An instance that gets results in any order, and is run, interrupted and triaged in between."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.world = _world(Path(self.directory.name) / "store.db")
        self.next = 0
        self.noise = random.Random(0)
        self.seen: list[Announcement] = []
        self.chains: dict[int, int] = {}
        self.decided: dict[int, Status] = {}

    def _put(self, slot: int, level: float, names: tuple[str, ...]) -> None:
        for name in names:
            value = level * (1 + 0.005 * self.noise.random())
            self.world.values[name][slot] = value
            self.world.put(slot, {name: value})

    @rule(level=st.sampled_from([10.0, 12.0, 15.0]), count=st.integers(1, 6), both=st.booleans())
    @precondition(lambda self: self.next < _COMMITS - 6)
    def results_arrive(self, level: float, count: int, both: bool) -> None:  # noqa: FBT001
        for slot in range(self.next, self.next + count):
            self._put(slot, level, _TRACES if both else _TRACES[:1])
            _run(self.world)
        self.next += count

    @rule(level=st.sampled_from([10.0, 12.0]), count=st.integers(2, 6))
    @precondition(lambda self: self.next < _COMMITS - 8)
    def results_arrive_together_and_leave_a_gap(self, level: float, count: int) -> None:
        for slot in range(self.next + 1, self.next + count):
            self._put(slot, level, _TRACES)
        self.next += count
        _run(self.world)

    @rule(slot=st.integers(0, _COMMITS - 1), level=st.sampled_from([10.0, 12.0]))
    @precondition(lambda self: self.next > 3)
    def a_result_arrives_late_or_is_corrected(self, slot: int, level: float) -> None:
        self._put(slot % self.next, level, _TRACES)
        _run(self.world)

    @rule(first=st.integers(0, _COMMITS - 1), level=st.sampled_from([10.0, 12.0]))
    @precondition(lambda self: self.next > 3)
    def all_results_since_a_commit_are_corrected(self, first: int, level: float) -> None:
        for slot in range(first % self.next, self.next):
            self._put(slot, level, _TRACES)
        _run(self.world)

    @rule(level=st.sampled_from([10.0, 12.0]), count=st.integers(20, 30))
    @precondition(lambda self: self.next < _COMMITS - 38)
    def many_results_arrive_at_once(self, level: float, count: int) -> None:
        for slot in range(self.next, self.next + count):
            self._put(slot, level, _TRACES)
        self.next += count
        _run(self.world)

    @rule(level=st.sampled_from([10.0, 15.0]), written=st.booleans())
    @precondition(lambda self: self.next < _COMMITS - 1)
    def a_run_is_interrupted(self, level: float, written: bool) -> None:  # noqa: FBT001
        self._put(self.next, level, _TRACES)
        self.next += 1
        before, append = ledger(self.world), AnnouncementLedger.append
        with pytest.MonkeyPatch.context() as patch:

            def broken(table: AnnouncementLedger, rows: list[Announcement]) -> None:
                if written:
                    append(table, rows)
                raise StoreError("the process was killed")

            patch.setattr(AnnouncementLedger, "append", broken)
            try:
                _run(self.world)
            except StoreError:
                assert ledger(self.world) == before

    @rule(data=st.data(), status=st.sampled_from([Status.ACKNOWLEDGED, Status.HIDDEN]))
    @precondition(lambda self: self._points())
    def a_person_decides(self, data: st.DataObject, status: Status) -> None:
        point = data.draw(st.sampled_from(self._points()))
        decide(self.world.store, Targets(points=(point.id,)), who="ann", status=status)
        self.decided[point.id] = status
        _run(self.world)

    @rule(data=st.data())
    @precondition(lambda self: self._points())
    def a_person_splits_a_change(self, data: st.DataObject) -> None:
        point = data.draw(st.sampled_from(self._points()))
        split(self.world.store, Targets(points=(point.id,)), who="bob")
        self.chains = {}

    @rule(data=st.data())
    @precondition(lambda self: len(self._changes()) > 1)
    def a_person_merges_changes(self, data: st.DataObject) -> None:
        keys = data.draw(st.lists(st.sampled_from(self._changes()), min_size=2, max_size=3, unique=True))
        before = ledger(self.world)
        merge(self.world.store, Targets(changes=tuple(keys)), who="bob")
        assert ledger(self.world) == before
        self.chains = {}

    @rule()
    @precondition(lambda self: self._points())
    def a_person_takes_a_decision_back(self) -> None:
        undo_last(self.world.store, who="bob")
        self.decided = {point.id: point.status for point in self.world.store.findings.points(self.decided)}
        self.chains = {}

    def _changes(self) -> list[int]:
        return sorted({point.change_id for point in self._points()} - {0})

    def _points(self) -> list[ChangePoint]:
        return [point for name in _TRACES if self.world.values[name] for point in self.world.points(name)]

    @invariant()
    def running_again_announces_nothing(self) -> None:
        _run(self.world)
        before = whole_ledger(self.world)
        _run(self.world)
        assert whole_ledger(self.world) == before

    @invariant()
    def announcements_are_added_and_never_changed(self) -> None:
        now = whole_ledger(self.world)
        assert now[: len(self.seen)] == self.seen
        self.seen = now

    @invariant()
    def a_chain_says_each_thing_once_in_an_order_that_makes_sense(self) -> None:
        chains: dict[int, list[Announcement]] = defaultdict(list)
        for each in self.world.store.findings.announcements.after(0, provisional=True, unsent=True):
            chains[each.chain].append(each)
        for chain, rows in chains.items():
            assert rows[0].id == chain
            assert [row.number for row in rows] == list(range(len(rows)))
            settled = [row for row in rows if not row.provisional]
            assert rows == sorted(rows, key=lambda row: not row.provisional)
            assert [row.kind.opens for row in settled] == [True] * bool(settled) + [False] * (len(settled) - 1)
            for before, after in pairwise(rows):
                assert before.kind is not after.kind or after.kind is AnnouncementKind.MOVED
                if after.kind is AnnouncementKind.RETURNED:
                    assert before.kind in _OVER or before.condition.value == "recovered"

    @invariant()
    def a_finding_stays_in_its_chain_until_that_is_withdrawn_or_it_is_announced_by_itself(self) -> None:
        points = {point.id: point.announced for point in self.world.store.findings.points(range(1, 200))}
        rows = whole_ledger(self.world)
        withdrawn = {row.chain for row in rows if row.kind is AnnouncementKind.WITHDRAWN}
        named = {row.lead for row in rows if row.kind.opens}
        for key, chain in self.chains.items():
            assert points[key] == chain or chain in withdrawn or key in named
        self.chains = {key: chain for key, chain in points.items() if chain}

    @invariant()
    def each_change_is_stored_as_what_it_is(self) -> None:
        statements = self.world.store.findings.statements
        known = statements.of_changes(range(1, 200))
        live = {point.change_id for point in self.world.store.findings.points(range(1, 200))} - {0}
        assert live <= known.keys()
        with self.world.store.transaction():
            self.world.store.database.later(STATEMENTS_OF_CHANGES, known)
        assert statements.of_changes(range(1, 200)) == known

    @invariant()
    def decisions_stay(self) -> None:
        points = {point.id: point.status for point in self.world.store.findings.points(self.decided)}
        assert points == self.decided

    def teardown(self) -> None:
        """Compare with an instance that gets the same values in another order, and one that gets them at once."""
        _run(self.world)
        expected = _state(self.world)
        other = _world(Path(self.directory.name) / "other.db")
        slots = [(slot, name) for name in _TRACES for slot in self.world.values[name]]
        random.Random(1).shuffle(slots)
        for number, (slot, name) in enumerate(slots):
            other.values[name][slot] = self.world.values[name][slot]
            other.put(slot, {name: other.values[name][slot]})
            if number % 11 == 0:
                _run(other)
        _run(other)
        try:
            assert _state(other) == expected
        finally:
            other.store.close()
            self.world.store.close()
            self.directory.cleanup()


_PHASES: Final = [Phase.explicit, Phase.generate]
"""Without shrinking: each step runs the pipeline several times."""

_QUIET: Final = [HealthCheck.too_slow, HealthCheck.filter_too_much]


@pytest.mark.long
def test_no_sequence_repeats_an_announcement_or_loses_a_decision() -> None:
    run_state_machine_as_test(
        Ledger,
        settings=settings(
            max_examples=3, stateful_step_count=6, deadline=None, suppress_health_check=_QUIET, phases=_PHASES
        ),
    )


@pytest.mark.long
def test_no_long_sequence_repeats_an_announcement_or_loses_a_decision() -> None:
    run_state_machine_as_test(
        Ledger,
        settings=settings(
            max_examples=20, stateful_step_count=25, deadline=None, suppress_health_check=_QUIET, phases=_PHASES
        ),
    )


_NAMES: Final = ("pack", "parse", "read", "write")
_EVENTS: Final = (16, 34, 52)
_LONG: Final = 68


def _history(random: random.Random) -> tuple[dict[int, set[str]], dict[str, Sequence[float]]]:
    """Draw which traces each event slows, and the values: the next event fixes them and costs elsewhere.

    Some are seldom measured.
    """
    slowed: dict[int, set[str]] = {}
    fixed: set[str] = set()
    for event in _EVENTS:
        fixed = set(random.sample(sorted(set(_NAMES) - fixed), random.randint(1, 2)))
        slowed[event] = fixed
    values: dict[str, Sequence[float]] = {}
    for name in _NAMES:
        seldom, first = random.choice([1, 1, 2, 3]), random.randint(0, 2)
        levels = [10.0] * _LONG
        for event, names in slowed.items():
            if name in names:
                levels[event : event + 18] = [13.0] * len(levels[event : event + 18])
        values[name] = [
            level * (1 + 0.003 * random.random()) if (slot - first) % seldom == 0 else math.nan
            for slot, level in enumerate(levels)
        ]
    return slowed, values


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 129, *in_the_long_run(*range(1, 24), 25, 29, 45, 57, 77, 104, 107, 126, 132)])
def test_each_change_of_a_random_history_is_announced_once_under_its_own_name(empty_world: Path, seed: int) -> None:
    drawn = random.Random(seed)
    slowed, values = _history(drawn)
    with tempfile.TemporaryDirectory() as place:
        world = copied(empty_world, Path(place) / "store.db")
        feed(world, values, first=14)
        rows = ledger(world)
        opened = [row for row in rows if row.kind is AnnouncementKind.REGRESSED]
        traces = {world.trace(name): name for name in _NAMES}
        leads = {point.id: traces[point.trace_id] for point in world.store.findings.points([row.lead for row in rows])}
        found = [
            next(event for event in _EVENTS if row.suspect_range.previous < event <= row.suspect_range.slot)
            for row in opened
        ]
        assert sorted(found) == list(_EVENTS)
        assert all(leads[row.lead] in slowed[event] for row, event in zip(opened, found, strict=True))
        assert all(row.size > 0 for row in rows)
        over = [row.chain for row in rows if row.kind is AnnouncementKind.RECOVERED]
        assert over == [row.chain for row, event in zip(opened, found, strict=True) if event < _EVENTS[-1]]
        assert len(rows) == len(opened) + len(over)

        # A second run says nothing, and a split says what it sets apart once.
        _run(world)
        assert ledger(world) == rows
        last = [world.points(name)[-1] for name in sorted(slowed[_EVENTS[-1]])]
        split(world.store, Targets(points=(drawn.choice(last).id,)), who="ann")
        assert len(ledger(world)) == len(rows) + (len(last) > 1)
        said = ledger(world)
        _run(world)
        assert ledger(world) == said
        assert {row.lead for row in said if row.kind is AnnouncementKind.REGRESSED} >= {point.id for point in last}

        # After an undo one chain speaks for the event again, and nothing is said.
        undo_last(world.store, who="ann")
        _run(world)
        assert ledger(world) == said
        assert len({world.points(name)[-1].announced for name in slowed[_EVENTS[-1]]}) == 1

        # A merge and its undo say nothing.
        first, second = drawn.sample(sorted({row.change_id for row in opened}), 2)
        merge(world.store, Targets(changes=(first, second)), who="ann")
        for _ in range(2):
            _run(world)
            _run(world)
            assert ledger(world) == said
            undo_last(world.store, who="ann")
        world.store.close()
