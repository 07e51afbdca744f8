"""The default method finds obvious changes, whatever its trees say."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.examples import in_the_long_run

from knickpoint.detect import explain, find_steps
from knickpoint.native.segmentation import BARS, CERTAIN

Array = NDArray[np.float64]

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "example" / "textmill.csv"


def quiet(rng: np.random.Generator, n: int, outliers: float) -> Array:
    """Normal noise of deviation 1, a share of it outliers of 5 to 20 deviations, three of four upwards."""
    values = rng.standard_normal(n)
    odd = rng.random(n) < outliers
    values[odd] += rng.uniform(5, 20, odd.sum()) * np.where(rng.random(odd.sum()) < 0.75, 1, -1)
    return values


def found(values: Array, places: tuple[int, ...]) -> bool:
    reported = [step.index for step in find_steps(1000 + values)]
    return all(any(abs(one - place) <= 1 for one in reported) for place in places)


@pytest.mark.parametrize("size", [20.0, *in_the_long_run(10.0, 60.0)])
@pytest.mark.parametrize(("outliers", "shortest"), [(0.05, 5), pytest.param(0.01, 4, marks=pytest.mark.long)])
def test_a_short_excursion_is_found_at_both_ends(size: float, outliers: float, shortest: int) -> None:
    """Of up to 8 commits, in 40 to 800 points; 99 of 100 wanted, and two deviations of 100 draws allowed.

    The two values beside each end are not outliers: one there looks like the excursion.
    """
    rng = np.random.default_rng(31)
    hits = 0
    for _ in range(100):
        n, width = int(rng.choice([40, 70, 150, 400, 800])), int(rng.integers(shortest, 9))
        place = int(rng.integers(8, n - width - 7))
        values = quiet(rng, n, outliers)
        values[place - 2 : place + width + 2] = rng.standard_normal(width + 4)
        values[place : place + width] += size * rng.choice([-1.0, 1.0])
        hits += found(values, (place, place + width))
    assert hits >= 97


@pytest.mark.parametrize(
    ("size", "outliers", "least"),
    [(60.0, 0.05, 98), *(pytest.param(*each, marks=pytest.mark.long) for each in ((10.0, 0.0, 99), (60.0, 0.01, 98)))],
)
def test_three_commits_are_enough_where_no_outlier_is_as_large(size: float, outliers: float, least: int) -> None:
    rng = np.random.default_rng(32)
    hits = 0
    for _ in range(100):
        n = int(rng.choice([70, 150, 400, 800]))
        place = int(rng.integers(8, n - 10))
        values = quiet(rng, n, outliers)
        values[place : place + 3] = rng.standard_normal(3) + size
        hits += found(values, (place, place + 3))
    assert hits >= least


@pytest.mark.parametrize("at_the_beginning", [False, True])
@pytest.mark.parametrize("size", [10.0, *in_the_long_run(20.0, 60.0)])
def test_a_step_next_to_an_end_is_found_within_a_commit(size: float, at_the_beginning: bool) -> None:  # noqa: FBT001
    rng = np.random.default_rng(33)
    hits = 0
    for _ in range(300):
        n, count = int(rng.choice([40, 70, 150, 400, 800])), int(rng.integers(3, 11))
        values = quiet(rng, n, 0.01)
        values[-count:] = rng.standard_normal(count) + size
        hits += found(values[::-1] if at_the_beginning else values, (count if at_the_beginning else n - count,))
    assert hits >= 294


def test_a_regression_of_four_commits_and_most_of_its_size_is_certain() -> None:
    with EXAMPLE.open(newline="") as file:
        values = [float(row["value"]) for row in csv.DictReader(file) if row["benchmark"] == "render_letter"]
    steps = find_steps(values, false_alarms=0.01)
    assert [step.index for step in steps] == [31, 35]
    assert all(step.score > CERTAIN for step in steps)


def test_three_equal_outliers_in_a_row_are_not_certain_where_there_are_others_like_them() -> None:
    rng = np.random.default_rng(34)
    values = rng.standard_normal(100)
    values[rng.choice(80, 12, replace=False)] += 10
    values[90:93] = 10 + rng.standard_normal(3)
    detection = explain(values)
    assert all(check.value == 0 for one in detection.candidates for check in one.checks if "certain by" in check.name)


@pytest.mark.parametrize("values", [np.repeat([1.0, 9.0], 30), np.repeat([5.0, 1.0, 5.0], [40, 4, 40])])
def test_certainty_says_what_it_rests_on(values: Array) -> None:
    noisy = values + np.random.default_rng(35).normal(0, 0.1, values.size)
    for step in find_steps(noisy):
        checks = {check.name: check for check in step.evidence}
        jump, chance = (
            checks["jump of the medians / noise around it"],
            checks["runs like it by chance per 1,000 values"],
        )
        assert checks["certain by these: adds to the log-odds"].value == CERTAIN
        assert (jump.bound, chance.bound) in BARS
        assert jump.passed
        assert chance.passed


def test_what_the_trees_alone_accept_fails_no_check() -> None:
    values = np.repeat([10.0, 12.0], 60) + np.random.default_rng(36).standard_normal(120)
    (accepted,) = (candidate for candidate in explain(values).candidates if candidate.accepted)
    certain = {check.name: check.value for check in accepted.checks}["certain by these: adds to the log-odds"]
    assert certain == 0
    assert all(check.passed for check in accepted.checks)


def test_a_sharp_step_has_a_narrow_interval_of_location_and_a_faint_one_a_wide_one() -> None:
    widths = []
    for size in (1.5, 3.0, 10.0):
        rng = np.random.default_rng(36)
        intervals = []
        for _ in range(40):
            values = rng.standard_normal(120)
            values[60:] += size
            steps = find_steps(values, false_alarms=5)
            intervals += [
                check.value for step in steps for check in step.evidence if check.name == "interval of location"
            ]
        widths.append(float(np.mean(intervals)))
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] < 0.5


def test_the_interval_of_location_mostly_holds_the_true_place() -> None:
    rng = np.random.default_rng(37)
    held = seen = 0
    for _ in range(200):
        values = rng.standard_normal(120)
        place = int(rng.integers(20, 100))
        values[place:] += rng.uniform(1.5, 4)
        for step in find_steps(values):
            (interval,) = [check.value for check in step.evidence if check.name == "interval of location"]
            seen += 1
            held += abs(step.index - place) <= interval
    assert held >= 0.95 * seen
