"""Measure how often a session of attempts claims a speed-up, beside two usual ways (``make bench-try``).

A session makes 50 attempts, none of which changes anything, or one of which is really faster. Its measurements have
noise of 2 % of three kinds, on a machine whose speed differs by 10 % from round to round, or of the kind ``drifting``: the
speed wanders by 1 % from run to run, and falls or rises by 15 % once in 40 runs. Beside it: the attempt with the best mean
of 10 runs, and a t-test at 5 % of each attempt against 10 runs of the base. ``attempts_real`` makes sessions on this
machine.

``python benchmarks/attempts.py [--sessions N] [--real N]`` makes fewer sessions, and leaves the file alone.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from scipy import stats

from accuracy_noise import FAMILIES
from attempts_real import real_rows
from knickpoint.bisect.attempts import AttemptVerdict, SessionRules, Stage, judge_attempt
from knickpoint.bisect.comparison import ComparisonRules, MeasuredValue, RoundsJudge
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.unit_names import Better
from table import Reach, Row, finish

_SESSIONS: Final = 400
_ATTEMPTS: Final = 50
_NOISE: Final = 0.02
_DRIFT: Final = 0.10
_RUNS: Final = 10
_WANDER: Final = 0.01
_THROTTLE: Final = 0.15
_THROTTLED: Final = 1 / 40
_DRIFTING: Final = "drifting"
_KINDS: Final = ("normal", "heavy-tailed", "bimodal", _DRIFTING)
_REAL: Final = 3
_GAINS: Final = (0.03, 0.05, 0.10)
_TRACE: Final = ",benchmark=command,"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of a session.

    ``false`` and ``found`` are claims about attempts that change nothing and about the one that is faster; ``covered``
    says for each true claim whether its interval has the true size, and ``runs`` counts the measurements.
    """

    false: int
    found: bool
    covered: tuple[bool, ...]
    runs: int


def _session(kind: str, gain: float, seed: int) -> _Outcome:
    """Make a session; the attempt in its middle is faster by ``gain``."""
    rng = np.random.default_rng([seed, round(1000 * gain), _KINDS.index(kind)])
    rules, confirmations, runs = SessionRules(), 0, 0
    false, found, covered = 0, False, []

    noise = FAMILIES["normal" if kind == _DRIFTING else kind]
    wandering = 1.0

    def measured(factor: float) -> dict[str, MeasuredValue]:
        nonlocal wandering
        if kind == _DRIFTING:
            throttled = _THROTTLE * float(rng.choice([-1, 1])) if rng.random() < _THROTTLED else 0.0
            wandering *= float(np.exp(_WANDER * rng.standard_normal() + throttled))
        value = wandering * factor * (1 + _NOISE * float(noise(rng, 1)[0]))
        return {_TRACE: MeasuredValue(value, "s", Better.LOWER)}

    for number in range(_ATTEMPTS):
        factor = 1 - gain if gain and number == _ATTEMPTS // 2 else 1.0

        def measure(_stage: Stage, chosen: ComparisonRules, factor: float = factor) -> Sequence[JudgedBenchmark]:
            nonlocal runs
            judge = RoundsJudge(chosen)

            def round_values() -> tuple[dict[str, MeasuredValue], dict[str, MeasuredValue]]:
                speed = 10 * float(np.exp(_DRIFT * rng.standard_normal() * (kind != _DRIFTING)))
                # As in a comparison, either side may be the first: what drifts between the two favours none.
                if rng.random() < 0.5:
                    return measured(speed), measured(speed * factor)
                head = measured(speed * factor)
                return measured(speed), head

            judge.warm_up(*round_values())
            while not judge.finished and judge.rounds < chosen.most_rounds:
                judge.add(*round_values())
            runs += 2 * (judge.rounds + 1)
            return judge.benchmarks

        end = judge_attempt(measure, rules, confirmations=confirmations, seed=seed * _ATTEMPTS + number)
        confirmations += any(each.stage is Stage.CONFIRM for each in end.stages)
        if end.verdict is AttemptVerdict.CONFIRMED:
            if factor == 1.0:
                false += 1
            else:
                found = True
                covered += [each.low <= factor - 1 <= each.high for each in end.claims]
    return _Outcome(false, found, tuple(covered), runs)


def _usual(kind: str, seed: int) -> tuple[bool, bool]:
    """Return whether the best mean is below that of the base, and whether any t-test at 5 % says faster.

    The machine does not drift here, which these two could not stand at all.
    """
    rng = np.random.default_rng([seed, 7, _KINDS.index(kind)])
    values = 10 * (
        1
        + _NOISE
        * FAMILIES["normal" if kind == _DRIFTING else kind](rng, (_ATTEMPTS + 1) * _RUNS).reshape(_ATTEMPTS + 1, _RUNS)
    )
    base, attempts = values[0], values[1:]
    tests = stats.ttest_ind(attempts, base, axis=1, equal_var=False, alternative="less")
    return bool(attempts.mean(axis=1).min() < base.mean()), bool((tests.pvalue < 0.05).any())


def _rows(pool: ProcessPoolExecutor, sessions: int) -> Iterator[Row]:
    for kind in _KINDS:
        null = list(pool.map(partial(_session, kind, 0.0), range(sessions), chunksize=5))
        usual = list(pool.map(partial(_usual, kind), range(sessions), chunksize=50))
        claims = 100 * float(np.mean([each.false > 0 for each in null]))
        label = f"{kind}, {_ATTEMPTS} attempts that change nothing"
        yield Row(f"{label}: sessions with a claim", "%", claims, reach=Reach.AT_MOST, bound=1.0)
        yield Row(
            f"{label}: sessions in which the best mean is faster", "%", 100 * float(np.mean([a for a, _ in usual]))
        )
        yield Row(
            f"{label}: sessions in which a t-test at 5 % claims", "%", 100 * float(np.mean([b for _, b in usual]))
        )
        yield Row(f"{label}: runs a session", "", float(np.mean([each.runs for each in null])))
    for gain, bound in zip(_GAINS, (0.0, 60.0, 90.0), strict=True):
        made = list(pool.map(partial(_session, "normal", gain), range(sessions // 2), chunksize=5))
        covered = [each for outcome in made for each in outcome.covered]
        label = f"normal, one of {_ATTEMPTS} attempts is {100 * gain:g} % faster"
        found = 100 * float(np.mean([each.found for each in made]))
        yield Row(f"{label}: it is confirmed", "%", found, reach=Reach.AT_LEAST, bound=bound)
        share = 100 * float(np.mean(covered)) if covered else float("nan")
        yield Row(f"{label}: the interval has its size", "%", share, reach=Reach.AT_LEAST, bound=94.0)


def main() -> None:
    """Make the sessions, print the rows as they come, and write the file of a whole run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=_SESSIONS)
    parser.add_argument("--real", type=int, default=_REAL, help="sessions on this machine")
    given = parser.parse_args()
    rows: list[Row] = []
    with ProcessPoolExecutor() as pool:
        for row in _rows(pool, given.sessions):
            rows.append(row)
            print(f"{row.measure}: {row.ours:.1f} {row.unit}", flush=True)
    if given.real:
        for row in real_rows(given.real, _ATTEMPTS):
            rows.append(row)
            print(f"{row.measure}: {row.ours:.1f} {row.unit}", flush=True)
    whole = (given.sessions, given.real) == (_SESSIONS, _REAL)
    finish("attempts", rows, only=[] if whole else [f"{given.sessions} sessions, {given.real} on this machine"])


if __name__ == "__main__":
    main()
