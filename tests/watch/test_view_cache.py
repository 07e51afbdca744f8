"""A cache of views changes no verdict on what is settled, and saves detecting in a series again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.detect import find_steps_many
from knickpoint.model.settlement import DEFAULT_RULE, SettleRule
from knickpoint.model.step import Step
from knickpoint.watch.detection.judged_rows import CachingRunner, Shard, detect_shard
from knickpoint.watch.detection.sightings import ViewCache, settle_steps
from knickpoint.watch.identity import StepLocation

Floats = NDArray[np.floating[Any]]


def _stepping(rows: int, seed: int) -> Floats:
    """Return noise that steps in half of the rows, at several sizes, with a fifth of the values missing."""
    random = np.random.default_rng(seed)
    values = random.normal(10, 0.2, (rows, 70))
    values[: rows // 2, 30:] += np.linspace(0.3, 1.5, rows // 2)[:, None]
    values[: rows // 4, 45:50] -= 1.0
    values[random.random(values.shape) < 0.2] = np.nan
    return values


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("method", ["default", "threshold"])
@pytest.mark.parametrize("apart", [1, 4])
def test_a_caching_runner_finds_what_one_without_a_cache_finds(method: str, apart: int, kind: type) -> None:
    values: Floats = _stepping(8, 5).astype(kind)
    runner = CachingRunner()
    for end in range(20, 71, apart):
        shard = Shard(values[:, :end], method, {}, 1, DEFAULT_RULE)
        assert list(runner.map(detect_shard, [shard])) == [detect_shard(shard)]


def test_a_corrected_value_of_the_past_is_seen() -> None:
    values = _stepping(8, 6)
    runner = CachingRunner()
    for end in range(60, 71):
        values[:, end - 15] += 2.0
        shard = Shard(values[:, :end].copy(), "default", {}, 1, DEFAULT_RULE)
        assert list(runner.map(detect_shard, [shard])) == [detect_shard(shard)]


def test_alerts_with_other_parameters_share_no_cached_view() -> None:
    values = _stepping(8, 7)
    runner = CachingRunner()
    for end in range(58, 71):
        for rate in (0.08, 20.0):
            shard = Shard(values[:, :end], "default", {"false_alarms": rate}, 1, DEFAULT_RULE)
            assert list(runner.map(detect_shard, [shard])) == [detect_shard(shard)]


def _counting(counts: list[int]) -> Callable[[Floats], Sequence[Sequence[Step]]]:
    def detect(views: Floats) -> Sequence[Sequence[Step]]:
        counts.append(len(views))
        return find_steps_many(views, threads=1)

    return detect


def test_where_each_commit_is_judged_no_view_is_detected_in_again() -> None:
    values, cache, counts = _stepping(8, 8), ViewCache(), list[int]()
    values[:, 30:] += 2.0
    for end in range(45, 71):
        counts.clear()
        series = values[:, :end]
        settle_steps(
            series, find_steps_many(series, threads=1), _counting(counts), DEFAULT_RULE, cache.of("default", {})
        )
    assert not counts


def test_without_a_cache_a_long_settled_step_is_viewed_as_often_each_time() -> None:
    values, counts = _stepping(8, 8), list[int]()
    values[:, 30:] += 2.0
    settle_steps(values, find_steps_many(values, threads=1), _counting(counts), DEFAULT_RULE)
    assert counts[0] >= 4 * len(values)


def test_a_cache_keeps_the_newest_half_of_what_it_may_hold_at_least() -> None:
    cache = ViewCache(most=10)
    seen = cache.of("default", {})
    series = [np.array([float(number)]) for number in range(100)]
    for each in series:
        seen.put(each, [StepLocation(1, 2, 2, -1, 3)])
        assert len(cache) <= 10
    assert [seen.get(each) for each in series[-5:]] == [(StepLocation(1, 2, 2, -1, 3),)] * 5
    assert seen.get(series[0]) is None


def test_a_rule_that_needs_no_view_caches_what_was_found() -> None:
    cache = ViewCache()
    values = _stepping(4, 9)
    values[:, 30:] += 2.0
    settle_steps(values, find_steps_many(values), find_steps_many, SettleRule(0, 1, 1), cache.of("default", {}))
    assert len(cache) == 4
