"""A chain of announcements in which nothing can follow is not read, and leaving it out changes no announcement."""

from __future__ import annotations

import math
import random
from collections.abc import Collection
from dataclasses import astuple, replace
from itertools import groupby, product
from pathlib import Path

import pytest

from knickpoint.model.change_point import Status
from knickpoint.model.notification import Announcement, AnnouncementKind
from knickpoint.store.findings.announcements import AnnouncementLedger
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.triage.decisions import Targets, decide

from .conftest import World, copied, levels, make_world
from .test_announcements import ALERT, feed, kinds, ledger, run

_TRACES = ("parse", "render")
_COMMITS = 36
_PATHS = {"calm": (10.0, 10.0, 10.0, 12.0), "wild": (10.0, 12.0, 15.0, 9.0)}


def _announced(place: Path, seed: int, levels_of: str) -> list[tuple[object, ...]]:
    """Return what is announced of values and decisions that ``seed`` chooses, with clocks left out."""
    world, chance, level = make_world(place, _COMMITS), random.Random(seed), 0.0
    alert = replace(ALERT, method="default") if seed % 3 == 2 else ALERT
    for slot in range(_COMMITS - 1):
        level = chance.choice(_PATHS[levels_of]) if slot % 8 == 0 else level
        ramp = 1 + 0.004 * slot if seed % 4 == 3 else 1.0
        names = [name for name in _TRACES if chance.random() < 0.9]
        world.put(slot, {name: level * ramp * (1 + 0.005 * chance.random()) for name in names})
        if slot > 4 and chance.random() < 0.1:
            world.put(chance.randrange(slot), {name: level * chance.choice((1.0, 1.2)) for name in names})
        ids = [world.trace(name) for name in names] if chance.random() < 0.8 and slot > 9 else None
        run_alerts(world.store, [alert], as_work=True, traces=ids)
        if chance.random() < 0.1 and (points := [each for name in names if slot > 9 for each in world.points(name)]):
            status = chance.choice((Status.HIDDEN, Status.NEW, Status.ACKNOWLEDGED))
            decide(world.store, Targets(points=(chance.choice(points).id,)), who="ann", status=status)
    rows = world.store.findings.announcements.after(0, provisional=True)
    world.store.close()
    return [_comparable(row) for row in rows]


def _comparable(row: Announcement) -> tuple[object, ...]:
    values = astuple(replace(row, time=row.time.min))
    return tuple(None if isinstance(each, float) and math.isnan(each) else each for each in values)


def _check(directory: Path, seed: int, levels_of: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """Check that both announce the same, and return it."""
    left_out = _announced(directory / "left_out.db", seed, levels_of)

    def none(_table: AnnouncementLedger, _chains: Collection[int]) -> set[int]:
        return set()

    for name in ("steady", "ended"):
        monkeypatch.setattr(AnnouncementLedger, name, none)
    assert left_out == _announced(directory / "all.db", seed, levels_of)
    return left_out


@pytest.mark.long
@pytest.mark.parametrize(("seed", "levels_of"), [(13, "wild")])
def test_leaving_steady_chains_unread_changes_no_announcement(
    seed: int, levels_of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _check(tmp_path, seed, levels_of, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize(("seed", "levels_of"), list(product(range(3, 16), _PATHS)))
def test_leaving_steady_chains_unread_changes_no_announcement_of_many_histories(
    seed: int, levels_of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _check(tmp_path, seed, levels_of, monkeypatch)


def test_a_chain_whose_change_is_present_where_it_was_announced_is_steady(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (8, 12.0))}, first=20)
    (announced,) = ledger(world)
    assert world.store.findings.announcements.steady([announced.chain, announced.chain + 1]) == {announced.chain}


def test_an_improvement_is_steady_as_well(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (8, 8.0))}, first=20)
    (announced,) = ledger(world)
    assert announced.kind is AnnouncementKind.IMPROVED
    assert world.store.findings.announcements.steady([announced.chain]) == {announced.chain}


def test_a_chain_about_what_recovered_is_not_steady(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (8, 12.0), (8, 10.0))}, first=20)
    assert [kind for kind, _ in groupby(kinds(world))] == [AnnouncementKind.REGRESSED, AnnouncementKind.RECOVERED]
    chains = {each.chain for each in ledger(world)}
    assert world.store.findings.announcements.steady(chains) == set()


def test_a_chain_whose_only_finding_is_hidden_is_not_steady(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (8, 12.0))}, first=20)
    decide(world.store, Targets(points=(world.points("parse")[0].id,)), who="ann", status=Status.HIDDEN)
    run(world)
    assert world.store.findings.announcements.steady([each.chain for each in ledger(world)]) == set()


def _ended(world: World) -> set[int]:
    return world.store.findings.announcements.ended({each.chain for each in ledger(world)})


def test_a_chain_about_what_recovered_has_ended_until_the_change_is_present_again(world: World) -> None:
    before = levels((20, 10.0), (8, 12.0))
    for level, length, ended in ((12.0, 0, False), (10.0, 8, True), (12.0, 8, False), (12.0, 34, False)):
        world.measure({"parse": [*before, *levels((length, level))]})
        run(world)
        assert bool(_ended(world)) == ended
    assert kinds(world) == [AnnouncementKind.REGRESSED, AnnouncementKind.RECOVERED, AnnouncementKind.RETURNED]


def test_a_withdrawn_chain_has_ended_until_a_member_is_there_again(world: World) -> None:
    feed(world, {"parse": levels((20, 10.0), (6, 12.0))}, first=20)
    for length in (6, 28, 32):
        world.measure({"parse": levels((20, 10.0), (length, 12.0))})
        run_alerts(world.store, [replace(ALERT, minimum_effect=0.5)])
    assert kinds(world) == [AnnouncementKind.REGRESSED, AnnouncementKind.WITHDRAWN]
    assert _ended(world) == {each.chain for each in ledger(world)}
    run(world)
    assert kinds(world)[-1] is AnnouncementKind.RETURNED
    assert _ended(world) == set()


def test_what_joins_an_announced_change_reads_none_of_its_members(
    empty_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = copied(empty_world, tmp_path / "store.db")
    names = [f"b{number}" for number in range(6)]
    values = levels((20, 10.0), (12, 12.0))
    feed(world, {name: values[: 20 if name == names[-1] else 28] for name in names}, first=20)
    assert kinds(world) == [AnnouncementKind.REGRESSED]
    read: list[int] = []

    def counted(name: str) -> None:
        original = getattr(AnnouncementLedger, name)

        def reading(*arguments: object) -> object:
            points = original(*arguments)
            read.append(len(points))
            return points

        monkeypatch.setattr(AnnouncementLedger, name, reading)

    for name in ("beside_members", "of_changes"):
        counted(name)
    for slot in range(20, 32):
        world.put(slot, {names[-1]: values[slot]})
        run_alerts(world.store, [ALERT], as_work=True, traces=[world.trace(names[-1])])
    assert kinds(world) == [AnnouncementKind.REGRESSED]
    (point,) = world.points(names[-1])
    assert point.announced == ledger(world)[0].chain
    assert sum(read) == 0
    world.store.close()
