"""Measure what learnt kinship adds to siblings: a weak change is found where params carry kinship, and as well as before where not."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import explain_jointly
from table import Reach, Row

__all__ = ["kinship_rows"]

FAMILIES: Final = 40
MACHINES: Final = 4
BENCHMARKS: Final = 6
COMMITS: Final = 400
SIZE: Final = 0.7

_PAST: Final = (40, 80, 120, 160, 200)
"""Where all traces of one machine changed by three deviations, one machine each time."""

_MARGIN: Final = 5
_SWEPT_MARGIN: Final = 10
_SWEPT: Final = 0.02

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]
Choice = Callable[[np.random.Generator, "_Family"], Rows]


@dataclass(frozen=True, slots=True)
class _Family:
    """Traces of each benchmark on each machine; ``colours`` are those of a param that says nothing."""

    machines: NDArray[np.int64]
    benchmarks: NDArray[np.int64]
    colours: NDArray[np.int64]

    @property
    def keys(self) -> list[str]:
        numbers = zip(self.benchmarks, self.colours, self.machines, strict=True)
        return [f",benchmark={benchmark},colour={colour},machine={machine}," for benchmark, colour, machine in numbers]


def _family(rng: np.random.Generator) -> _Family:
    count = MACHINES * BENCHMARKS
    machines = np.repeat(np.arange(MACHINES), BENCHMARKS)
    return _Family(machines, np.tile(np.arange(BENCHMARKS), MACHINES), rng.integers(0, 4, count))


def _of_machine(rng: np.random.Generator, family: _Family) -> Rows:
    return np.asarray(family.machines == rng.integers(MACHINES))


def _some_of_machine(rng: np.random.Generator, family: _Family) -> Rows:
    chosen = np.zeros(len(family.machines), dtype=np.bool_)
    chosen[rng.choice(np.flatnonzero(_of_machine(rng, family)), BENCHMARKS - 2, replace=False)] = True
    return chosen


def _any(rng: np.random.Generator, family: _Family) -> Rows:
    chosen = np.zeros(len(family.machines), dtype=np.bool_)
    chosen[rng.choice(chosen.size, BENCHMARKS, replace=False)] = True
    return chosen


def _of_benchmark(rng: np.random.Generator, family: _Family) -> Rows:
    return np.asarray(family.benchmarks == rng.integers(BENCHMARKS))


def _none(_: np.random.Generator, family: _Family) -> Rows:
    return np.zeros(len(family.machines), dtype=np.bool_)


_CHANGES: Final[dict[str, Choice]] = {
    "all of a machine": _of_machine,
    "4 of the 6 of a machine": _some_of_machine,
    "6 that share no param": _any,
    "all of a benchmark": _of_benchmark,
    "nothing": _none,
}
"""Which traces change at the end; in the past it were those of one machine."""


def _normal(rng: np.random.Generator) -> Floats:
    return rng.normal(size=(MACHINES * BENCHMARKS, COMMITS))


def _shared(rng: np.random.Generator) -> Floats:
    return np.asarray(np.sqrt(0.7) * _normal(rng) + np.sqrt(0.3) * rng.normal(size=COMMITS))


_NOISE: Final[dict[str, Callable[[np.random.Generator], Floats]]] = {
    "normal": _normal,
    "30 % of the noise shared": _shared,
}


@dataclass(slots=True)
class _Counts:
    """Traces that moved, those of them with a step there; the same for those that stayed.

    Steps after the past, and seconds.
    """

    moved: int = 0
    found: int = 0
    stayed: int = 0
    swept: int = 0
    late: int = 0
    seconds: float = 0.0

    def add(self, frame: Floats, keys: Sequence[str] | None, moved: Rows, place: int) -> None:
        """Detect in ``frame``, whose traces ``moved`` at ``place``, and count."""
        begun = time.process_time()
        detections = explain_jointly(frame, keys, method="siblings")
        self.seconds += time.process_time() - begun
        nearest = np.array(
            [min((abs(step.index - place) for step in each.steps), default=COMMITS) for each in detections]
        )
        self.moved += int(moved.sum())
        self.stayed += int((~moved).sum())
        self.found += int((nearest[moved] <= _MARGIN).sum())
        self.swept += int((nearest[~moved] <= _SWEPT_MARGIN).sum())
        self.late += sum(step.index > _PAST[-1] + _SWEPT_MARGIN for each in detections for step in each.steps)


def _measure(noise: Callable[[np.random.Generator], Floats], choice: Choice) -> tuple[_Counts, _Counts]:
    """Return what is found with keys, and what without, as when params alone say who is related."""
    learnt, given = _Counts(), _Counts()
    for number in range(FAMILIES):
        rng = np.random.default_rng([20261124, number])
        family = _family(rng)
        frame = 100 + noise(rng)
        for past in _PAST:
            frame[family.machines == rng.integers(MACHINES), past:] += rng.choice([-3.0, 3.0])
        place = int(rng.integers(260, 350))
        moved = choice(rng, family)
        frame[moved, place:] += SIZE
        learnt.add(frame, family.keys, moved, place)
        given.add(frame, None, moved, place)
    return learnt, given


def kinship_rows() -> list[Row]:
    """Return the rows of traces whose machines moved together in the past.

    The peer are the same siblings without keys.
    """
    rows = []
    seconds = given_seconds = 0.0
    peer = "without learning"
    for noise, draw in _NOISE.items():
        for name, choice in _CHANGES.items():
            learnt, given = _measure(draw, choice)
            seconds, given_seconds = seconds + learnt.seconds, given_seconds + given.seconds
            what = f"kinship by machine, {SIZE:g} sigma in {name}, {noise}"
            if learnt.moved:
                found, before = learnt.found / learnt.moved, given.found / given.moved
                rows.append(Row(f"{what}: found", "share", found, before, peer, Reach.TIMES_MORE, 1.0))
                swept, before = learnt.swept / learnt.stayed, given.swept / given.stayed
                rows.append(Row(f"{what}: others with a step", "share", swept, before, peer, Reach.AT_MOST, _SWEPT))
            else:
                traces = FAMILIES * MACHINES * BENCHMARKS * (COMMITS - _PAST[-1] - _SWEPT_MARGIN)
                false, before = 1000 * learnt.late / traces, 1000 * given.late / traces
                rows.append(Row(f"{what}: false after the past", "per 1,000", false, before, peer))
    rows.append(Row("learning kinship: processor time", "s", seconds, given_seconds, peer, Reach.AT_MOST_TIMES, 1.1))
    return rows
