"""Changes that are put into generated histories: found once, announced once, still triaged, whatever way they arrive.

The same values arrive commit by commit, all at once, in another order, and with runs that break off between their
stages. The end state is the same: findings with their places and decisions, always; the ledger, where the order is the
same.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from knickpoint.model.change_point import Status
from knickpoint.model.errors import StoreError
from knickpoint.store.findings.announcements import AnnouncementLedger
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.triage.decisions import Targets, decide

from .conftest import QUICK, World, copied

ALERT: Final = replace(QUICK, settle_share=0, settle_least=3, settle_most=3)
_COMMITS: Final = 40
_FIRST: Final = 12
"""Commits before the first run."""

_TRACES: Final = ("parse", "render", "write")
_STAGES: Final = ("append", "mark", "keep_history_silent", "waiting")
"""Steps of a run, early and late, at which it may break off."""


@dataclass(frozen=True, slots=True)
class _History:
    """The values of each trace, and the commits at which a change was put into some of them."""

    values: dict[str, list[float]]
    changes: dict[int, tuple[str, ...]]


def _history(seed: int) -> _History:
    """Return noise of 0.5 % with two changes of 20 to 50 %: one in two traces, and a later one in the third."""
    noise = random.Random(seed)
    first, second = noise.randrange(16, 20), noise.randrange(27, 32)
    moved = tuple(sorted(noise.sample(_TRACES, 2)))
    (other,) = set(_TRACES) - set(moved)
    changes = {first: moved, second: (other,)}
    sizes = {commit: noise.uniform(0.2, 0.5) for commit in changes}
    place = {name: commit for commit, names in changes.items() for name in names}
    values = {
        name: [
            10.0 * (1 + sizes[place[name]] * (slot >= place[name])) * (1 + 0.005 * noise.uniform(-1, 1))
            for slot in range(_COMMITS)
        ]
        for name in _TRACES
    }
    return _History(values, changes)


def _put(world: World, history: _History, slot: int, names: Sequence[str] = _TRACES) -> None:
    world.put(slot, {name: history.values[name][slot] for name in names})


def _run(world: World) -> None:
    run_alerts(world.store, [ALERT], as_work=True)


def _acknowledge(world: World, history: _History) -> None:
    """Decide about the first change, in all of its traces."""
    names = history.changes[min(history.changes)]
    points = tuple(point.id for name in names for point in world.points(name))
    decide(world.store, Targets(points=points), who="ann", status=Status.ACKNOWLEDGED)


def _feed(world: World, history: _History) -> None:
    """Feed commit by commit, and acknowledge the first change before the second one begins."""
    for slot in range(_COMMITS):
        _put(world, history, slot)
        if slot >= _FIRST:
            _run(world)
        if slot == 24:
            _acknowledge(world, history)


def _findings(world: World) -> list[tuple[Any, ...]]:
    """Return what is found, without ids."""
    points = [point for name in _TRACES for point in world.points(name)]
    return sorted(
        (point.key, point.suspect_range.slot, point.suspect_range.previous, point.condition, point.settlement.certainty)
        for point in points
    )


def _decisions(world: World) -> list[tuple[str, int, Status]]:
    points = [point for name in _TRACES for point in world.points(name)]
    return sorted((point.key, point.suspect_range.slot, point.status) for point in points)


def _announced(world: World) -> list[tuple[Any, ...]]:
    rows = world.store.findings.announcements.after(0, provisional=True)
    return [(row.id, row.chain, row.number, row.kind, row.suspect_range, row.traces) for row in rows]


def _places(world: World) -> list[tuple[str, int]]:
    """Return the kinds and places of what was announced as settled, in the order of the line."""
    rows = world.store.findings.announcements.after(0)
    return sorted((row.kind.value, row.suspect_range.slot) for row in rows)


@pytest.fixture
def fresh(empty_world: Path, tmp_path: Path) -> Any:
    """Return a function that opens a new instance without results; all are closed at the end."""
    opened: list[World] = []

    def one() -> World:
        opened.append(copied(empty_world, tmp_path / f"{len(opened)}.db"))
        return opened[-1]

    yield one
    for world in opened:
        world.store.close()


def _check_found_once(fresh: Any, seed: int) -> None:
    history, world = _history(seed), fresh()
    _feed(world, history)
    for commit, names in history.changes.items():
        assert [world.places(name) for name in names] == [[commit]] * len(names)
    assert _places(world) == [("regressed", commit) for commit in sorted(history.changes)]
    acknowledged = history.changes[min(history.changes)]
    for name in _TRACES:
        (point,) = world.points(name)
        assert (point.status is Status.ACKNOWLEDGED) == (name in acknowledged)


def _check_at_once(fresh: Any, seed: int) -> None:
    history, world, whole = _history(seed), fresh(), fresh()
    _feed(world, history)
    for slot in range(_COMMITS):
        _put(whole, history, slot)
    _run(whole)
    _acknowledge(whole, history)
    _run(whole)
    assert _findings(whole) == _findings(world)
    assert _decisions(whole) == _decisions(world)
    assert _places(whole) == _places(world)


def _check_other_order(fresh: Any, seed: int) -> None:
    history, world, shuffled = _history(seed), fresh(), fresh()
    _feed(world, history)
    arrivals = [(slot, name) for slot in range(_FIRST, _COMMITS) for name in _TRACES]
    random.Random(seed).shuffle(arrivals)
    for slot in range(_FIRST):
        _put(shuffled, history, slot)
    for number, (slot, name) in enumerate(arrivals):
        _put(shuffled, history, slot, (name,))
        if number % 10 == 0:
            _run(shuffled)
    _run(shuffled)
    _acknowledge(shuffled, history)
    _run(shuffled)
    assert _findings(shuffled) == _findings(world)
    assert _decisions(shuffled) == _decisions(world)


def _broken_run(world: World, stage: str) -> None:
    """Run, and break off before or after a stage of the ledger."""
    before, stage_of = _announced(world), getattr(AnnouncementLedger, stage)
    with pytest.MonkeyPatch.context() as patch:

        def broken(*arguments: Any) -> None:
            stage_of(*arguments)
            raise StoreError("the process was killed")

        patch.setattr(AnnouncementLedger, stage, broken)
        with pytest.raises(StoreError, match="the process was killed"):
            _run(world)
    assert _announced(world) == before


def _check_crashes(fresh: Any, seed: int, *, every: int) -> None:
    history, world, broken = _history(seed), fresh(), fresh()
    _feed(world, history)
    for slot in range(_COMMITS):
        _put(broken, history, slot)
        if slot >= _FIRST:
            if slot % every == 0 or any(commit < slot <= commit + 3 for commit in history.changes):
                _broken_run(broken, _STAGES[slot % len(_STAGES)])
            _run(broken)
        if slot == 24:
            _acknowledge(broken, history)
    assert _announced(broken) == _announced(world)
    assert _findings(broken) == _findings(world)
    assert _decisions(broken) == _decisions(world)


@pytest.mark.long
def test_an_injected_change_is_found_and_announced_once_on_its_commit_and_stays_triaged(fresh: Any) -> None:
    _check_found_once(fresh, 1)


@pytest.mark.long
def test_an_injected_change_is_the_same_when_all_results_arrive_at_once(fresh: Any) -> None:
    _check_at_once(fresh, 2)


@pytest.mark.long
def test_an_injected_change_is_the_same_in_another_order_of_arrival(fresh: Any) -> None:
    _check_other_order(fresh, 3)


@pytest.mark.long
def test_an_injected_change_is_the_same_when_runs_break_off(fresh: Any) -> None:
    _check_crashes(fresh, 4, every=12)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 18))
def test_more_injected_changes_come_to_the_same_end(fresh: Any, seed: int) -> None:
    _check_found_once(fresh, seed)
    _check_at_once(fresh, seed)
    _check_other_order(fresh, seed)
    _check_crashes(fresh, seed, every=2)
