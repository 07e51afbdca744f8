"""Judge pull requests one after another on a moved environment, for the part ``environment`` of ``gate.py``.

A new image makes three of twelve benchmarks 20 % slower after the history was measured. Eight pull requests follow, none
of which shares a commit with another. Each is judged beside those before it, as it is and with a slow-down of its own
by 30 %: in a benchmark that the image leaves alone, and on top of what it moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gate_noise import KINDS
from knickpoint.detect.family import judge_moves
from knickpoint.gate.environment import ASKED, attribute, note_check
from knickpoint.model.judged_benchmark import JudgedBenchmark, JudgedResults
from knickpoint.model.pull_request_check import PullRequestCheck
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better
from table import Reach, Row

__all__ = ["environment_rows"]

_BENCHMARKS, _COMMITS, _SAMPLES = 12, 30, 3
_PULLS: Final = 8
_MOVED: Final = 3
_BY, _OWN = 0.20, 0.30
_NOISES: Final = (0.01, 0.02, 0.05)
_KINDS: Final = ("normal", "t, 3 degrees of freedom")
_BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Of each pull request in turn: whether it passes unchanged, and whether its own slow-down is found.

    ``beside`` is in a benchmark that the environment leaves alone, ``above`` in one that it moves.
    """

    passes: tuple[bool, ...]
    beside: tuple[bool, ...]
    above: tuple[bool, ...]


def _judged(past: Array, new: Array) -> JudgedResults:
    found = judge_moves(past, list(new), signs=[1] * len(past), better=Better.LOWER)
    rows = tuple(
        JudgedBenchmark.of(
            judgement,
            trace=f",benchmark=b{place},",
            unit="ms",
            better=Better.LOWER,
            margin=margin,
            trace_id=place,
            past=(),
            new=tuple(new[place].tolist()),
            together=together,
        )
        for place, (judgement, margin, together) in enumerate(
            zip(found.judgements, found.margins, found.together, strict=True)
        )
    )
    return JudgedResults(rows, move=found.move)


def _check(
    past: Array, new: Array, number: int, earlier: Sequence[PullRequestCheck]
) -> tuple[JudgedResults, PullRequestCheck]:
    judged, name = _judged(past, new), f"{number:040x}"
    time = _BEGIN + timedelta(hours=number)
    check = note_check(judged, head=name, branch=f"p{number}", commits=frozenset({name}), time=time)
    return attribute(judged, check, earlier), check


def _regressed(results: JudgedResults, place: int) -> bool:
    return results.benchmarks[place].verdict is Verdict.REGRESSED


def _trial(kind: str, noise: float, seed: int) -> _Outcome:
    rng = np.random.default_rng([seed, _KINDS.index(kind), round(1000 * noise)])

    def measured(columns: int) -> Array:
        return np.asarray(10 * (1 + noise * np.stack([KINDS[kind](rng, columns) for _ in range(_BENCHMARKS)])))

    past, earlier = measured(_COMMITS), list[PullRequestCheck]()
    passes, found = [], {0: list[bool](), _BENCHMARKS - 1: list[bool]()}
    for number in range(_PULLS):
        new = measured(_SAMPLES)
        new[:_MOVED] *= 1 + _BY
        for place, shares in found.items():
            own = new.copy()
            own[place] *= 1 + _OWN
            shares.append(_regressed(_check(past, own, number, earlier)[0], place))
        results, check = _check(past, new, number, earlier)
        passes.append(not any(each.verdict is Verdict.REGRESSED or each.undecided for each in results.benchmarks))
        earlier.insert(0, check)
    above, beside = found.values()
    return _Outcome(tuple(passes), tuple(beside), tuple(above))


def environment_rows(pool: ProcessPoolExecutor, trials: int) -> Iterator[Row]:
    """Yield the rows of each noise: the first two pull requests, and those behind them."""
    for kind in _KINDS:
        for noise in _NOISES:
            made = list(pool.map(partial(_trial, kind, noise), range(trials), chunksize=5))
            label = f"moved environment, {kind} noise of {100 * noise:g} %"
            passes, beside, above = (
                np.array([getattr(each, n) for each in made]) for n in ("passes", "beside", "above")
            )
            first = ASKED - 1
            yield Row(f"{label}: the first {first} that do not pass", "%", 100 * float((~passes[:, :first]).mean()))
            yield Row(
                f"{label}: later ones that do not pass", "%", 100 * float((~passes[:, first:]).mean()),
                reach=Reach.AT_MOST, bound=1.0,
            )  # fmt: skip
            yield Row(
                f"{label}: +30 % of their own found", "%", 100 * float(beside[:, first:].mean()),
                reach=Reach.AT_LEAST, bound=80.0,
            )  # fmt: skip
            yield Row(f"{label}: +30 % on top of the move found", "%", 100 * float(above[:, first:].mean()))
