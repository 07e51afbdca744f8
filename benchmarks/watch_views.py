"""What a cache of views saves a worker that judges traces with steps commit by commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any, Final

import numpy as np

from knickpoint.model.settlement import DEFAULT_RULE
from knickpoint.watch.detection.judged_rows import SettledSteps, Shard, detect_shard
from knickpoint.watch.detection.sightings import ViewCache
from table import Reach, Row

__all__ = ["view_rows"]

_TRACES: Final = 2000
_COMMITS: Final = 250
_BEFORE: Final = 24
"""Commits that a worker has judged before, since it started."""

_MEASURED: Final = 8


def view_rows() -> list[Row]:
    """Judge traces that all have a step, at each of some commits: with and without the cache."""
    random = np.random.default_rng(16)
    values = random.normal(100, 0.5, (_TRACES, _COMMITS + _BEFORE + _MEASURED))
    for row, place in zip(values, random.integers(30, _COMMITS - 30, _TRACES), strict=True):
        row[place:] *= 1.1
    cache, with_cache, without = ViewCache(), list[float](), list[float]()
    for end in range(_COMMITS, values.shape[1] + 1):
        shard = Shard(values[:, :end], "default", {}, None, DEFAULT_RULE)
        seconds, found = _timed(partial(detect_shard, shard, cache))
        if end > values.shape[1] - _MEASURED:
            again, expected = _timed(partial(detect_shard, shard))
            assert found == expected, "the cache changed a verdict"
            with_cache.append(seconds)
            without.append(again)
    name = f"{_TRACES:,} traces with a step × {_COMMITS}, a commit"
    return [
        Row(
            f"{name}: judged at each commit before",
            "s",
            median(with_cache),
            median(without),
            "no cache",
            Reach.TIMES_LESS,
            3,
        ),
        Row(f"… cached series after {_BEFORE + _MEASURED} commits, for a trace", "", len(cache) / _TRACES),
    ]


def _timed(judge: Callable[[], Sequence[SettledSteps]]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = judge()
    return time.perf_counter() - start, found
