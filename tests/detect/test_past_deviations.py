"""The medians of all beginnings, and the replay of the past that uses them, agree with what is computed one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.detect.family.levels import Levels
from knickpoint.detect.family.past_deviations import REFERENCE, agreeing, describe_prefixes, past_deviations
from knickpoint.detect.family.scale import Prior, Scales
from knickpoint.detect.family.serial import difference_variance, normal_score

VALUES = st.integers(-3, 3).map(float) | st.floats(-1e6, 1e6)


@given(st.lists(st.lists(VALUES, min_size=1, max_size=12), min_size=1, max_size=4))
def test_each_beginning_has_its_median_and_the_squares_around_it(series: list[list[float]]) -> None:
    found = describe_prefixes([np.array(each) for each in series])
    for row, each in enumerate(series):
        for count in range(1, len(each) + 1):
            part = np.array(each[:count])
            assert found.medians[row, count] == pytest.approx(np.median(part), rel=1e-12, abs=1e-12)
            squares = float(np.square(part - np.median(part)).sum())
            assert found.squares[row, count] == pytest.approx(squares, rel=1e-6, abs=1e-9 * np.square(each).sum())
        assert np.isnan(found.medians[row, len(each) + 1 :]).all()


def test_a_beginning_of_equal_values_has_no_noise() -> None:
    found = describe_prefixes([np.array([0.1] * 9 + [1e6] * 12)])
    assert found.squares[0, 9] == 0.0


def one_by_one(
    values: NDArray[np.float64], first: int, depth: int, scale: tuple[Prior, float], phi: float
) -> NDArray[np.float64]:
    """Return how far one block rises and falls, as the stages of its definition say."""
    prior, fallback = scale
    stop, length = first + depth, len(values)
    before, after = 0, length
    if first >= length - stop:
        after = first if first >= REFERENCE else after
    elif length - stop >= REFERENCE:
        before = stop
    reference = np.array([values[at] for at in range(before, after) if not first <= at < stop])
    level = float(np.median(reference))
    freedom = len(reference) - 1
    own = np.array([np.square(reference - level).sum() / freedom])
    variance = prior.moderate(own, float(freedom), np.array([level]))
    variance = np.where(variance > 0, variance, fallback)
    error = np.sqrt(variance * difference_variance(first, depth, before, after, phi))
    block = sorted(values[first:stop])
    nearest = block[1] if depth == 5 else block[0]
    furthest = block[-2] if depth == 5 else block[-1]
    distance = np.array([nearest - level, level - furthest])
    t = np.divide(distance, error, out=np.zeros(2), where=error > 0)
    return normal_score(t, freedom + prior.freedom)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.parametrize("phi", [0.0, 0.4])
def test_the_replay_gives_each_block_of_the_past_the_score_of_its_definition(depth: int, phi: float) -> None:
    random = np.random.default_rng(depth)
    lengths = ((30,), (5, 9), (17, 4, 8), (6,))
    priors = (Prior(0.02, 4.0), Prior())
    levels, scale = [], []
    for number, parts in enumerate(lengths):
        total = sum(parts)
        values = np.round(100 + random.normal(0, 2, total), 1)
        bounds = (0, *np.cumsum(parts).tolist())
        levels.append(Levels(values, np.arange(total), bounds))
        scale.append((priors[number % 2], 0.5))
    none = np.zeros(len(levels))
    scales = Scales(none, none.astype(np.intp), none + 0.5, none, tuple(prior for prior, _ in scale))
    found = past_deviations(levels, scales, 30, depth, phi)
    expected = np.full((2, len(levels), 30), np.nan)
    for row, history in enumerate(levels):
        for values, places in history.parts:
            if len(values) >= REFERENCE + depth:
                for first in range(len(values) - depth + 1):
                    expected[:, row, places[first]] = one_by_one(values, first, depth, scale[row], phi)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("count", "depth", "rank"), [(1, 1, 0), (2, 2, 0), (3, 3, 0), (5, 5, 1), (4, 3, 0), (10, 3, 1), (10, 5, 2)]
)
def test_most_samples_have_to_agree(count: int, depth: int, rank: int) -> None:
    assert agreeing(count, depth) == rank
