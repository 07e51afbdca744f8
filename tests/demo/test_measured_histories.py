"""Histories that this project measured, with the commits that really changed the speed: what detection finds in them.

``measured/`` has the values (µs) of three runs of the demonstration, with twelve, three and five processes a commit, on
a virtual machine of two cores that other programs used as well: the load was about 5, 6 and 8.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from knickpoint.demo.history import CHANGES, Found, compare
from knickpoint.detect import estimate_sizes, find_steps

_MEASURED = Path(__file__).parent / "measured"


@pytest.mark.parametrize(
    ("name", "missed"),
    [("12-rounds", []), ("3-rounds", []), ("5-rounds-busy", ["Let Counter do the counting"])],
)
def test_known_changes_of_a_measured_history_are_found_and_nothing_else(name: str, missed: list[str]) -> None:
    with (_MEASURED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    benchmarked = [int(row["position"]) for row in rows]
    points: list[Found] = []
    for benchmark in rows[0].keys() - {"position"}:
        values = [float(row[benchmark]) for row in rows]
        steps = find_steps(values)
        for step, size in zip(steps, estimate_sizes(values, steps), strict=True):
            change = size.after / size.before - 1
            points.append(Found(benchmark, benchmarked[step.previous], benchmarked[step.index], change))
    outcome = compare(points, benchmarked)
    assert [judged.change.subject for judged in outcome.changes if not judged.found] == missed
    assert outcome.false == ()
    assert len(outcome.changes) == len(CHANGES)
