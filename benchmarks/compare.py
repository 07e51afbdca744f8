"""Measure what ``knick compare`` gets wrong and what it finds, by rounds from a seed (``make bench-compare``).

Each comparison measures benchmarks in turns until every one is decided, on a machine whose speed drifts by 10 % from
round to round, with the default rules: 1 % of false positives, +5 % to be found, at most 20 rounds. Each is made twice:
with a head that is equal to the base, and with one whose first benchmark is 5 % slower. The rows are printed as they
come.

``python benchmarks/compare.py [--comparisons N]`` makes fewer comparisons, and leaves the file alone.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from accuracy_noise import FAMILIES
from knickpoint.bisect.comparison import ComparisonRules, MeasuredValue, RoundsJudge
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better
from table import Reach, Row, finish

_COMPARISONS: Final = 1_000
_FEWER: Final = 10
"""Comparisons of many benchmarks are a tenth."""

_NOISE: Final = 0.02
_CHANGE: Final = 0.05
_DRIFT: Final = 0.10
_CASES: Final = (("normal", 1), ("heavy-tailed", 1), ("bimodal", 1), ("normal", 100))
"""Kinds of noise, and benchmarks."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Whether any benchmark regressed, whether the changed one did, and how many rounds that took."""

    regressed: bool
    found: bool
    rounds: int


def _compare(kind: str, benchmarks: int, factor: float, seed: int) -> _Outcome:
    """Measure in turns until every benchmark is decided; the head of the first one is ``factor`` times the base."""
    rng = np.random.default_rng([seed, benchmarks, round(100 * factor)])
    judge = RoundsJudge(ComparisonRules(seed=seed))
    change = np.ones(benchmarks)
    change[0] = factor

    def side(speed: float, times: Array) -> dict[str, MeasuredValue]:
        values = speed * times * (1 + _NOISE * FAMILIES[kind](rng, benchmarks))
        return {
            f",benchmark=b{place},": MeasuredValue(value, "ms", Better.LOWER)
            for place, value in enumerate(values.tolist())
        }

    def measured() -> tuple[dict[str, MeasuredValue], dict[str, MeasuredValue]]:
        speed = 10 * float(np.exp(_DRIFT * rng.standard_normal()))
        return side(speed, np.ones(benchmarks)), side(speed, change)

    judge.warm_up(*measured())
    while not judge.finished and judge.rounds < judge.rules.most_rounds:
        judge.add(*measured())
    worse = [each.verdict is Verdict.REGRESSED for each in judge.benchmarks]
    return _Outcome(any(worse), worse[0], judge.rounds)


def _rows(pool: ProcessPoolExecutor, comparisons: int) -> Iterator[Row]:
    for kind, benchmarks in _CASES:
        count = comparisons if benchmarks == 1 else max(10, comparisons // _FEWER)
        label = f"{kind}, {benchmarks} benchmark{'s' if benchmarks > 1 else ''}"
        equal = list(pool.map(partial(_compare, kind, benchmarks, 1.0), range(count), chunksize=10))
        slower = list(pool.map(partial(_compare, kind, benchmarks, 1 + _CHANGE), range(count), chunksize=10))
        failed = 100 * float(np.mean([each.regressed for each in equal]))
        found = 100 * float(np.mean([each.found for each in slower]))
        yield Row(f"{label}: equal commits that fail", "%", failed, reach=Reach.AT_MOST, bound=1.0)
        yield Row(f"{label}: +5 % found", "%", found, reach=Reach.AT_LEAST, bound=95.0)
        for name, outcomes in (("equal", equal), ("slower", slower)):
            yield Row(f"{label}: rounds, {name}", "", float(np.mean([each.rounds for each in outcomes])))


def main() -> None:
    """Make the comparisons, print the rows as they come, and write the file of a whole run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--comparisons", type=int, default=_COMPARISONS)
    given = parser.parse_args()
    rows: list[Row] = []
    with ProcessPoolExecutor() as pool:
        for row in _rows(pool, given.comparisons):
            rows.append(row)
            print(f"{row.measure}: {row.ours:.1f} {row.unit}", flush=True)
    finish("compare", rows, only=[f"{given.comparisons} comparisons"] if given.comparisons != _COMPARISONS else [])


if __name__ == "__main__":
    main()
