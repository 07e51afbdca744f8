"""The values around a change, few enough for a small drawing."""

from __future__ import annotations

from dataclasses import replace

from tests.server.story import SLOWER

from knickpoint.answers.members import sparklines
from knickpoint.instance import Instance


def test_the_levels_of_a_lone_change_reach_to_both_ends(instance: Instance) -> None:
    repository = instance.store.commits.repositories()[0]
    line = instance.store.commits.line(repository)
    point = next(
        each for each in instance.store.findings.change_points(0) if each.suspect_range.slot == line.slots[SLOWER]
    )
    drawn = sparklines(instance.store, line, [point])[point.id]
    assert (drawn.begin, drawn.split, drawn.end) == (0, 24, 48)


def test_a_level_ends_where_the_next_change_begins(instance: Instance) -> None:
    repository = instance.store.commits.repositories()[0]
    line = instance.store.commits.line(repository)
    point = next(
        each for each in instance.store.findings.change_points(0) if each.suspect_range.slot == line.slots[SLOWER]
    )
    numbers = replace(
        point.numbers,
        before=replace(point.numbers.before, first=line.slots[SLOWER - 10]),
        after=replace(point.numbers.after, last=line.slots[SLOWER + 3]),
    )
    short = replace(point, numbers=numbers)
    drawn = sparklines(instance.store, line, [short])[point.id]
    assert len(drawn.values) == 48
    assert (drawn.begin, drawn.split, drawn.end) == (14, 24, 28)
