"""Make pull requests on shared machines, with known truth: other machines, a busy one, and recorded runs of this one.

A machine multiplies all times by its own factor, and each benchmark by one of its own beside: processors differ in more
than their frequency. The standard deviation of the logarithms is 0.25 and 0.04; Student's t with three degrees of
freedom makes some benchmarks differ much more.

- *another machine*: the history is of one machine, the pull request of another one.
- *hosted machines*: each commit, and the pull request, is of one of four machines by chance.
- *a busy machine*: two thirds of the benchmarks of the pull request take 1.5 to 2.4 times as long, on the same machine.
- *this machine*: small functions of the standard library, measured here; two busy processes a core disturb the runs of
  the pull request.
"""

from __future__ import annotations

import bisect
import hashlib
import json
import multiprocessing
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gate_noise import KINDS, RELATIVE, PullRequest
from gate_references import REFERENCES
from knickpoint.detect.family import judge_family, judge_moves
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better

__all__ = [
    "WORLDS",
    "Answer",
    "MachinePull",
    "Recorded",
    "judge",
    "judge_plainly",
    "known_machines_find",
    "peers",
    "recorded",
    "this_machine",
]

Array = NDArray[np.float64]

_SPEED: Final = 0.25
_OWN: Final = 0.04
_MACHINES: Final = 4
_BENCHMARKS, _COMMITS, _SAMPLES = 20, 30, 3


@dataclass(frozen=True, slots=True)
class MachinePull:
    """An unchanged pull request, which commits another machine measured than its own, and how many machines they had."""

    pull: PullRequest
    unlike: NDArray[np.bool_]
    machines: int = 1

    def with_change(self, benchmark: int | None, share: float) -> MachinePull:
        """Return the same with one benchmark worse by a share of its level, or all of them with None."""
        samples = self.pull.samples.copy()
        samples[slice(None) if benchmark is None else benchmark] *= 1 + share
        return MachinePull(PullRequest(self.pull.histories, samples), self.unlike, self.machines)


@dataclass(frozen=True, slots=True)
class Answer:
    """Which benchmarks a rule calls worse, whether it asks for another measurement, and which it names in doubt."""

    worse: NDArray[np.bool_]
    again: bool = False
    doubtful: NDArray[np.bool_] | None = None

    @property
    def passes(self) -> bool:
        """Whether the pull request passes."""
        return not self.worse.any() and not self.again


def judge(made: MachinePull) -> Answer:
    """Judge as ``knick check`` does."""
    found = judge_moves(
        made.pull.histories,
        list(made.pull.samples),
        signs=[1] * len(made.pull.histories),
        unlike=made.unlike,
        machines=made.machines,
        better=Better.LOWER,
    )
    worse = np.array([each.verdict is Verdict.REGRESSED for each in found.judgements])
    unstable = np.array([each.verdict is Verdict.UNSTABLE for each in found.judgements])
    together = np.array(found.together)
    return Answer(worse, bool((unstable & together).any()) and not worse.any(), unstable & ~together)


def judge_plainly(made: MachinePull) -> Answer:
    """Judge without regard to machines."""
    found = judge_family(made.pull.histories, list(made.pull.samples), better=Better.LOWER)
    return Answer(np.array([each.verdict is Verdict.REGRESSED for each in found.judgements]))


def peers(made: MachinePull) -> dict[str, Answer]:
    """Judge by the rules of others, none of which knows machines."""
    return {name: Answer(rule(made.pull)) for name, rule in REFERENCES.items()}


def _noise(kind: str, rng: np.random.Generator, columns: int) -> Array:
    rows = [KINDS[kind](rng, columns) for _ in range(_BENCHMARKS)]
    return np.asarray(1 + RELATIVE * np.stack(rows))


def _machine(rng: np.random.Generator) -> Array:
    """Return the factors of a machine, one for each benchmark."""
    own = rng.standard_t(3, _BENCHMARKS) / np.sqrt(3)
    return np.asarray(np.exp(_SPEED * rng.standard_normal() + _OWN * own))


def _pull(kind: str, rng: np.random.Generator, past: Array, new: Array, unlike: NDArray[np.bool_]) -> MachinePull:
    levels = np.exp(rng.normal(0, 2, _BENCHMARKS))[:, None]
    values = levels * _noise(kind, rng, _COMMITS + _SAMPLES)
    return MachinePull(PullRequest(values[:, :_COMMITS] * past, values[:, _COMMITS:] * new), unlike)


def _alone(kind: str, rng: np.random.Generator) -> MachinePull:
    one = np.ones((_BENCHMARKS, 1))
    return _pull(kind, rng, one, one, np.zeros(_COMMITS, dtype=bool))


def _another(kind: str, rng: np.random.Generator) -> MachinePull:
    machine = _machine(rng)[:, None]
    return _pull(kind, rng, np.ones((_BENCHMARKS, 1)), machine, np.ones(_COMMITS, dtype=bool))


def _hosted(kind: str, rng: np.random.Generator) -> MachinePull:
    machines = np.stack([_machine(rng) for _ in range(_MACHINES)], axis=1)
    places = rng.integers(0, _MACHINES, _COMMITS)
    here = int(rng.integers(0, _MACHINES))
    made = _pull(kind, rng, machines[:, places], machines[:, [here]], places != here)
    return replace(made, machines=len(set(places.tolist())))


def _busy(kind: str, rng: np.random.Generator) -> MachinePull:
    factors = np.where(np.arange(_BENCHMARKS) % 3 < 2, rng.uniform(1.5, 2.4, _BENCHMARKS), 1.0)[:, None]
    return _pull(kind, rng, np.ones((_BENCHMARKS, 1)), factors, np.zeros(_COMMITS, dtype=bool))


_WORLDS: Final[dict[str, Callable[[str, np.random.Generator], MachinePull]]] = {
    "one machine": _alone,
    "another machine": _another,
    "hosted machines": _hosted,
    "a busy machine": _busy,
}


def _made(world: str, kind: str, seed: int) -> MachinePull:
    rng = np.random.default_rng([seed, *map(zlib.crc32, (world.encode(), kind.encode()))])
    return _WORLDS[world](kind, rng)


WORLDS: Final[dict[str, dict[str, Callable[[int], MachinePull]]]] = {
    world: {kind: partial(_made, world, kind) for kind in ("normal", "t, 3 degrees of freedom", "two modes, sticky")}
    for world in _WORLDS
}
"""World → kind of noise → makes the pull request of a seed."""


def known_machines_find(by: float, failing: float, draws: int = 40_000) -> float:
    """Share of changes in one benchmark that the best rule finds on a machine never seen, if so many unchanged ones fail.

    It knows the common factor of the machine, and how the factors of benchmarks are distributed, but not those of this
    machine: it bounds the largest deviation of any benchmark.
    """
    rng = np.random.default_rng(0)
    own = _OWN * rng.standard_t(3, (draws, _BENCHMARKS)) / np.sqrt(3)
    moved = own + np.median(RELATIVE * rng.standard_normal((draws, _BENCHMARKS, _SAMPLES)), axis=2)
    bar = np.quantile(moved.max(axis=1), 1 - failing)
    return float(np.mean(moved[:, 0] + np.log1p(by) > bar))


# Measure this machine: quiet, as far as it is, and with busy processes beside.


_TEXT: Final = "the quick brown fox jumps over the lazy dog " * 40
_NUMBERS: Final = [(n * 7919) % 10007 for n in range(2_000)]
_FUNCTIONS: Final[tuple[Callable[[], object], ...]] = (
    lambda: sorted(_NUMBERS),
    lambda: json.dumps(_NUMBERS),
    lambda: json.loads(json.dumps(_NUMBERS[:800])),
    lambda: zlib.compress(_TEXT.encode() * 8),
    lambda: hashlib.sha256(_TEXT.encode() * 200).hexdigest(),
    lambda: re.findall(r"\b\w{5}\b", _TEXT * 4),
    lambda: {n: str(n) for n in _NUMBERS},
    lambda: sum(n * n for n in _NUMBERS),
    lambda: [bisect.bisect(_NUMBERS, n) for n in _NUMBERS],
    lambda: " ".join(map(str, _NUMBERS)).split(),
    lambda: np.sort(np.arange(20_000) % 997),
    lambda: np.linalg.svd(np.arange(3_600.0).reshape(60, 60)),
)
_REPEATS: Final = 5
_RUNS: Final = 60
_DISTURBED: Final = 30


@dataclass(frozen=True, slots=True)
class Recorded:
    """Times of the functions x runs, of quiet runs and of disturbed ones."""

    quiet: Array
    disturbed: Array


def _run() -> list[float]:
    """Measure each function, and return its medians."""
    found = []
    for function in _FUNCTIONS:
        times = []
        for _ in range(_REPEATS):
            begin = time.perf_counter()
            function()
            times.append(time.perf_counter() - begin)
        found.append(float(np.median(times)))
    return found


def _burn() -> None:
    while True:
        sum(_NUMBERS)


@contextmanager
def _disturbing() -> Iterator[None]:
    processes = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(2 * (os.cpu_count() or 1))]
    for each in processes:
        each.start()
    try:
        yield
    finally:
        for each in processes:
            each.terminate()
            each.join()


@lru_cache(maxsize=1)
def recorded() -> Recorded:
    """Measure this machine, which takes some ten seconds."""
    quiet = np.array([_run() for _ in range(_RUNS)]).T
    with _disturbing():
        return Recorded(quiet, np.array([_run() for _ in range(_DISTURBED)]).T)


def this_machine(runs: Recorded, seed: int, *, disturbed: bool) -> MachinePull:
    """Return a stretch of quiet runs as the history, and three runs after it, or disturbed ones, as the pull request."""
    rng = np.random.default_rng(seed)
    start = int(rng.integers(0, _RUNS - _COMMITS - _SAMPLES + 1))
    new = runs.disturbed if disturbed else runs.quiet[:, start + _COMMITS :]
    at = int(rng.integers(0, new.shape[1] - _SAMPLES + 1)) if disturbed else 0
    pull = PullRequest(runs.quiet[:, start : start + _COMMITS], new[:, at : at + _SAMPLES])
    return MachinePull(pull, np.zeros(_COMMITS, dtype=bool))
