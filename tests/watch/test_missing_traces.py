from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.model.commit import Line
from knickpoint.watch.missing_traces import KnownHabits, StoppedJob, absences, silences

from .conftest import World, levels, make_world


def held(*rows: str) -> NDArray[np.bool_]:
    return np.array([[mark == "x" for mark in row] for row in rows])


@pytest.mark.parametrize(
    ("row", "missed"),
    [
        ("xxxxxxxxxx", False),
        ("xxxxxxxx..", False),
        ("xxxxxxx...", True),
        ("x..x..x..x..x......", False),
        ("x..x..x..x..x.......", True),
        ("xxxx......", False),
        ("..........", False),
        ("x" * 10 + "." * 200, True),
        ("x" * 10 + "." * 201, False),
        ("x" + "." * 20 + "x" * 25 + "." * 10, True),
        ("x" + "." * 20 + "x" * 20 + "." * 10, False),
    ],
)
def test_a_trace_is_missed_when_its_silence_is_unusual(row: str, *, missed: bool) -> None:
    always = "x" * len(row)
    assert [found[0] for found in silences(held(always, row))] == ([1] if missed else [])


def test_what_is_missed_does_not_depend_on_how_much_is_read_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.measure({f"parse_{n}": levels((40 - n % 7, 10.0)) for n in range(1500)})
    at_once = absences(world.store, world.repository).traces
    monkeypatch.setattr("knickpoint.watch.missing_traces._BLOCK_CHUNKS", 1)
    assert absences(world.store, world.repository).traces == at_once
    assert at_once


def test_what_is_known_of_chunks_gives_what_reading_them_gives(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Habits are kept while new values arrive, commits join the line before others, and a trace continues another."""
    monkeypatch.setattr("knickpoint.watch.missing_traces._MOSTLY", 0.0)
    known = KnownHabits()

    def compare() -> int:
        fresh = absences(world.store, world.repository)
        found = absences(world.store, world.repository, known=known)
        assert found.traces == fresh.traces
        for name in ("ids", "first", "last", "active"):
            np.testing.assert_array_equal(getattr(found.measured, name), getattr(fresh.measured, name))
        return len(fresh.traces)

    assert compare() == 0
    world.measure({f"parse_{n}": levels((40 - 4 * (n % 3), 10.0)) for n in range(1200)})
    assert compare() == compare() > 0
    world.measure({"parse_1": levels((44, 10.0)), "late": levels((45, 3.0))})
    assert compare() == compare() > 0
    old, new = world.trace("parse_2"), world.trace("late")
    world.store.traces.renames.add(world.repository, old, new, who="ada")
    assert compare() == compare() > 0


def test_known_chunks_are_not_read_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knickpoint.watch.missing_traces._MOSTLY", 0.0)
    world.measure({f"parse_{n}": levels((40 - 4 * (n % 3), 10.0)) for n in range(1200)})
    known, read = KnownHabits(), world.store.frames.values
    absences(world.store, world.repository, known=known)
    blocks: list[int] = []

    def count(line: Line, ids: NDArray[np.int64]) -> NDArray[np.floating]:
        blocks.append(len(ids))
        return read(line, ids)

    monkeypatch.setattr(world.store.frames, "values", count)
    assert absences(world.store, world.repository, known=known).traces
    assert blocks == []


def test_commits_that_nobody_measured_count_for_nothing() -> None:
    assert silences(held("xxxxxxx..........")) == []


def test_missing_traces_are_told_with_their_last_commit(world: World) -> None:
    world.measure({"parse": levels((40, 10.0)), "read": levels((20, 5.0)), "pack": levels((30, 5.0))})
    found = absences(world.store, world.repository).traces
    assert [(missing.trace.id, missing.last_slot, missing.silent, missing.usual) for missing in found] == [
        (world.trace("read"), 19, 20, 1),
        (world.trace("pack"), 29, 10, 1),
    ]
    assert absences(world.store, world.repository, "benchmark=parse").traces == ()


def stopped(world: World, *, newer: Sequence[datetime] = ()) -> StoppedJob | None:
    return absences(world.store, world.repository, newer=newer).job


def measured_until(world: World, commits: int, *, every: int = 1) -> World:
    for slot in range(0, commits, every):
        world.put(slot, {"parse": 20.0, "read": 5.0})
    return world


def ends_at(world: World, commits: int) -> None:
    world.store.commits.set_line(world.repository, "main", range(commits))


@pytest.mark.parametrize(
    ("measured", "line", "every", "found"),
    [
        (30, 30, 1, None),
        (30, 32, 1, None),
        (30, 33, 1, (29, 3, 1)),
        (30, 80, 1, (29, 50, 1)),
        (31, 35, 2, None),
        (31, 36, 2, (30, 5, 2)),
        (4, 80, 1, None),
    ],
)
def test_a_job_has_stopped_when_unusually_many_commits_follow_the_last_one_with_results(
    world: World, measured: int, line: int, every: int, found: tuple[int, int, int] | None
) -> None:
    measured_until(world, measured, every=every)
    ends_at(world, line)
    job = stopped(world)
    assert (job and (job.last_slot, job.silent, job.usual)) == found
    assert absences(world.store, world.repository).traces == ()


def test_commits_that_only_git_knows_count_as_well(world: World) -> None:
    ends_at(measured_until(world, 30), 30)
    last = datetime(2026, 1, 2, 5, tzinfo=UTC)
    assert stopped(world, newer=[last + timedelta(hours=k) for k in (1, 2)]) is None
    assert stopped(world, newer=[last + timedelta(hours=k) for k in (1, 2, 3)]) is not None


def test_a_few_commits_pushed_at_once_may_wait_for_their_results(world: World) -> None:
    ends_at(measured_until(world, 30), 30)
    last = datetime(2026, 1, 2, 5, tzinfo=UTC)
    assert stopped(world, newer=[last + timedelta(minutes=k) for k in range(9)]) is None
    assert stopped(world, newer=[last + timedelta(minutes=k) for k in range(10)]) is not None


def test_a_history_that_ended_long_ago_has_not_stopped(world: World) -> None:
    ends_at(measured_until(world, 30), 30)
    assert stopped(world) is None


def test_a_job_that_is_silent_for_very_long_was_taken_away(tmp_path: Path) -> None:
    world = make_world(tmp_path / "store.db", commits=240)
    with world.store:
        measured_until(world, 30)
        assert stopped(world) is None
        ends_at(world, 230)
        assert stopped(world) is not None


def plainly(rows: list[list[bool]]) -> list[tuple[int, int, int]]:
    """Find the silences by the rule as it is written, trace by trace."""
    measured = [position for position, column in enumerate(zip(*rows, strict=True)) if any(column)]
    found = []
    for number, row in enumerate(rows):
        ranks = [rank for rank, position in enumerate(measured) if row[position]]
        if len(ranks) < 5:
            continue
        newest = ranks[-21:]
        usual = max(after - before for before, after in pairwise(newest))
        silent = len(measured) - 1 - newest[-1]
        if 3 <= silent <= 200 and silent > 2 * usual:
            found.append((number, silent, usual))
    return found


@given(
    st.integers(0, 40).flatmap(
        lambda width: st.lists(st.lists(st.booleans(), min_size=width, max_size=width), max_size=6)
    )
)
@example([[True] * 30, [True] * 20 + [False] * 10])
def test_silences_of_many_traces_follow_the_rule_for_each(rows: list[list[bool]]) -> None:
    held = np.array(rows, dtype=np.bool_).reshape(len(rows), len(rows[0]) if rows else 0)
    assert [tuple(silence) for silence in silences(held)] == plainly(rows)
