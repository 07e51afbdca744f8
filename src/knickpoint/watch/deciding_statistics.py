"""Which statistic of a benchmark decides about a commit: its main value, and no other one; and whose noise is alike.

A median, a mean, a maximum and a 99th percentile of the same samples are one piece of evidence, and the extreme ones are the
noisiest. The main value decides; the other statistics have verdicts of their own that decide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from knickpoint.model.params import decode_key
from knickpoint.model.unit import read_unit

__all__ = ["deciding_keys", "noise_kind"]

_STATISTIC: Final = "stat"

_MAIN: Final = ("", "value", "median", "p50", "typical", "mean", "avg", "average", "geomean", "trimmed_mean", "min")
"""Statistics that say where the values lie, the best one first; "" is the value without a statistic."""

_SPREAD: Final = frozenset(
    {"stddev", "std", "sd", "stdev", "variance", "var", "mad", "iqr", "range", "error", "cv", "sem"}
)
"""Statistics of the spread: they say how noisy a benchmark is, never how fast."""

_PERCENTILE: Final = re.compile(r"p(?P<percent>\d+(?:\.\d+)?)")

_LAST: Final = 1_000.0


def deciding_keys(keys: Iterable[str]) -> frozenset[str]:
    """Return those of ``keys`` that decide: for each benchmark and configuration, the key of its main statistic.

    Where a benchmark has no plain value, the best location decides, then the lowest percentile, then the maximum. A spread
    never does.
    """
    best: dict[frozenset[tuple[str, str]], tuple[float, str]] = {}
    for key in keys:
        params = dict(decode_key(key))
        statistic = params.pop(_STATISTIC, "")
        if statistic.lower() in _SPREAD:
            continue
        ranked = (_rank(statistic.lower()), key)
        subject = frozenset(params.items())
        best[subject] = min(best.get(subject, ranked), ranked)
    return frozenset(key for _, key in best.values())


def noise_kind(key: str, unit: str) -> tuple[str, str, str]:
    """Return what the noise of a trace is like: that of one dimension, metric and statistic is comparable."""
    params = decode_key(key)
    return read_unit(unit).dimension, params.get("metric", ""), params.get(_STATISTIC, "")


def _rank(statistic: str) -> float:
    """Return how far a statistic is from the main one."""
    if statistic in _MAIN:
        return _MAIN.index(statistic)
    percentile = _PERCENTILE.fullmatch(statistic)
    return len(_MAIN) + (float(percentile["percent"]) if percentile else _LAST)
