"""Several samples of a commit: one value each, noise at three levels, and evidence."""

from __future__ import annotations

import numpy as np
import pytest

from knickpoint.detect import METHODS, MethodKind, explain, find_steps
from knickpoint.detect.samples import combine_samples
from knickpoint.model.errors import SeriesError


def _samples(count: int, commits: int = 60, step: float = 0.0, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(100 + step * (commit >= commits - 12), 1, count) for commit in range(commits)]


def test_a_step_that_one_sample_hides_is_found_in_five() -> None:
    samples = _samples(5, step=1.2, seed=1)
    assert not find_steps([each[0] for each in samples])
    (step,) = find_steps(None, samples=samples)
    assert abs(step.index - 48) <= 3


def test_one_sample_a_commit_is_the_series_itself() -> None:
    samples = _samples(1, step=6.0)
    values = [float(each[0]) for each in samples]
    assert [step.index for step in find_steps(values)] == [step.index for step in find_steps(values, samples=samples)]


def test_a_commit_without_samples_has_its_value() -> None:
    found = combine_samples([[1.0, 3.0], [], []], [9.0, 5.0, np.nan])
    assert found.values[:2].tolist() == [2.0, 5.0]
    assert np.isnan(found.values[2])


def test_many_samples_of_a_run_are_one_measurement_beside_another_run() -> None:
    found = combine_samples([[[10.0] * 9, [20.0]]])
    assert found.values.tolist() == [15.0]


def test_an_outlier_among_the_samples_changes_the_value_little() -> None:
    (value,) = combine_samples([[10.0, 10.1, 9.9, 10.0, 50.0]]).values
    assert value == pytest.approx(10.05, abs=0.1)


def test_the_noise_of_the_three_levels_is_estimated() -> None:
    rng = np.random.default_rng(0)
    samples = [[rng.normal(commit + rng.normal(0, 2), 0.5, 5) for _ in range(3)] for commit in rng.normal(100, 4, 300)]
    facts = explain(None, samples=samples).facts
    assert facts["noise within runs (standard deviation)"] == pytest.approx(0.5, rel=0.1)
    assert facts["noise between runs (standard deviation)"] == pytest.approx(2, rel=0.2)
    assert facts["noise between commits (standard deviation)"] == pytest.approx(4, rel=0.2)


def test_commits_with_few_samples_are_set_aside_among_commits_with_many() -> None:
    rng = np.random.default_rng(0)
    found = combine_samples([rng.normal(100, 1, 1 if commit % 2 else 20) for commit in range(60)])
    assert found.aside >= 20
    assert np.isnan(found.values[1:50:2]).all()


def test_the_newest_commit_is_never_set_aside() -> None:
    found = combine_samples([*_samples(20), [100.0]])
    assert not np.isnan(found.values[-1])


def test_commits_that_differ_more_than_their_samples_all_count() -> None:
    rng = np.random.default_rng(0)
    found = combine_samples([rng.normal(100, 5) + rng.normal(0, 0.5, 1 if commit % 2 else 20) for commit in range(60)])
    assert found.aside == 0


def test_a_step_names_the_samples_that_it_rests_on() -> None:
    (step,) = find_steps(None, samples=_samples(5, step=5.0))
    numbers = {check.name: check.value for check in step.evidence}
    assert numbers["samples of the level before"] == 240
    assert numbers["samples of the level after"] == 60
    assert 0 < numbers["standard error of the size by the samples"] < 0.3


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].kind is MethodKind.SERIES])
def test_every_method_takes_samples(method: str) -> None:
    explain(None, method=method, samples=_samples(3, step=9.0))


def test_samples_of_another_number_of_commits_are_refused() -> None:
    with pytest.raises(SeriesError, match="3 values and samples of 2 commits"):
        find_steps([1, 2, 3], samples=[[1], [2]])


def test_an_infinite_sample_is_refused_with_its_commit() -> None:
    with pytest.raises(SeriesError, match="commit 1, index 0"):
        find_steps(None, samples=[[1.0], [np.inf]])


def test_neither_values_nor_samples_are_refused() -> None:
    with pytest.raises(SeriesError, match="neither values nor samples"):
        find_steps(None)


def test_huge_samples_do_not_overflow() -> None:
    found = combine_samples([[1e308, 1.1e308], [1e308, 1.2e308]])
    assert np.isfinite(found.values).all()
