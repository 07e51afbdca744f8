"""Summaries of samples: percentiles, the least and the largest of a commit, and what needs more samples."""

from __future__ import annotations

import numpy as np
import pytest

from knickpoint.detect import find_steps, summarise
from knickpoint.model.errors import InputError, SeriesError
from knickpoint.model.summary import read_summary


def _latencies(commits: int = 60, count: int = 200, *, tail: float = 1.0, seed: int = 0) -> list[np.ndarray]:
    """Return samples whose slowest thirtieth takes ``tail`` times as long from the 40th commit on.

    Their median stays.
    """
    rng = np.random.default_rng([3, seed])
    found = []
    for commit in range(commits):
        samples = rng.normal(10, 0.3, count)
        samples[: count // 30] += rng.normal(10 if commit < 40 else 10 * tail, 0.3, count // 30)
        found.append(samples)
    return found


def test_a_percentile_moves_where_the_median_stays() -> None:
    samples = _latencies(tail=1.5)
    assert not find_steps(None, samples=samples)
    assert not find_steps(summarise(samples, "median"))
    (step,) = find_steps(summarise(samples, "p99"))
    assert step.index == 40
    assert step.relative_size == pytest.approx(0.25, abs=0.05)


def test_a_percentile_that_stays_has_no_step() -> None:
    assert not find_steps(summarise(_latencies(), "p99"))


@pytest.mark.parametrize(
    ("name", "value"), [("min", 1.0), ("max", 100.0), ("median", 50.5), ("p50", 50.5), ("p95", 95.05)]
)
def test_a_summary_is_a_quantile_of_the_samples(name: str, value: float) -> None:
    assert summarise([np.arange(1.0, 101.0)], name).tolist() == [pytest.approx(value)]


@pytest.mark.parametrize(("name", "fewest"), [("min", 1), ("median", 1), ("p90", 10), ("p95", 20), ("p99", 100), ("p1", 100), ("p99.9", 1000)])  # fmt: skip
def test_a_percentile_needs_a_sample_beyond_it(name: str, fewest: int) -> None:
    assert read_summary(name).fewest == fewest


def test_a_commit_with_too_few_samples_has_no_percentile() -> None:
    values = summarise([np.arange(100.0), np.arange(99.0)], "p99")
    assert np.isnan(values).tolist() == [False, True]


def test_a_percentile_of_too_few_samples_is_refused_with_the_numbers() -> None:
    with pytest.raises(SeriesError, match="p99 needs 100 samples of a run, and there are at most 20"):
        summarise([np.arange(20.0)] * 30, "p99")


def test_the_runs_of_a_commit_count_by_the_median_of_their_summaries() -> None:
    runs = [np.arange(5.0) + 10 * run for run in range(3)]
    assert summarise([runs], "min").tolist() == [10.0]


def test_a_run_with_too_few_samples_does_not_count() -> None:
    assert summarise([[np.arange(20.0), np.arange(1000.0, 1003.0)]], "p95").tolist() == [pytest.approx(18.05)]


def test_a_commit_without_samples_has_its_value_as_its_only_sample() -> None:
    assert summarise([[], [2.0, 3.0]], "min", [5.0, 9.0]).tolist() == [5.0, 2.0]


@pytest.mark.parametrize("text", ["p100", "p0", "p", "99", "mean", "P99", "p99.9999", ""])
def test_what_is_no_summary_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no summary"):
        read_summary(text)
