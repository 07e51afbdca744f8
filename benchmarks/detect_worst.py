"""Series that are hard for the default method: families of shapes, and a seeded search for the shape that takes longest.

A shape is a sum: levels of some lengths with jumps between them, noise with or without memory, wander, a trend and
outliers, perhaps rounded to whole numbers. ``python benchmarks/detect_worst.py`` prints the time of every family.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_steps
from table import Reach, Row

__all__ = ["FAMILIES", "Shape", "processor_time", "worst_rows"]

_SEED: Final = 20261128
_LENGTHS: Final = ((2_000, None), (10_000, 50.0), (100_000, 1000.0))
"""Values of a series, and the milliseconds of processor time that any of so many takes at most."""

_TRIALS: Final = 150
_KEPT: Final = 6
"""Shapes that the search tries, and of how many of the slowest it goes on."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Describe a series of any length, around 100.

    Attributes:
        shortest: the least values of a level.
        longest: the most values of a level.
        jump: distance of two levels.
        up: share of the jumps that go up.
        back: share of the jumps that lead back to the level before.
        noise: standard deviation of the noise.
        memory: autocorrelation of the noise at lag 1.
        wander: standard deviation of what each value adds to all later ones.
        trend: what each value adds to all later ones.
        outliers: share of the values that lie far off.
        whole: whether the values are whole numbers.
    """

    shortest: int = 1
    longest: int = 9
    jump: float = 0.0
    up: float = 1.0
    back: float = 0.0
    noise: float = 0.1
    memory: float = 0.0
    wander: float = 0.0
    trend: float = 0.0
    outliers: float = 0.0
    whole: bool = False

    def series(self, size: int, seed: int = 0) -> NDArray[np.float64]:
        """Return ``size`` values."""
        draw = np.random.default_rng([_SEED, seed])
        lengths = draw.integers(self.shortest, max(self.longest, self.shortest) + 1, size)
        jumps = self.jump * np.where(draw.random(size) < self.up, 1.0, -1.0)
        for place in np.flatnonzero(draw.random(size) < self.back).tolist():
            jumps[place] = -jumps[place - 1]
        values = 100 + np.repeat(np.cumsum(jumps), lengths)[:size] + self.trend * np.arange(size)
        values += np.cumsum(self.wander * draw.normal(size=size))
        noise = self.noise * draw.normal(size=size)
        if self.memory:
            for place in range(1, size):
                noise[place] += self.memory * noise[place - 1]
        values += noise
        values[draw.random(size) < self.outliers] += 100 * max(self.noise, self.jump)
        return np.rint(values) if self.whole else values


FAMILIES: Final = (
    *((f"staircase, levels of {length}", Shape(length, length, jump=1.0)) for length in range(1, 10)),
    ("staircase, levels of 1 to 9", Shape(jump=1.0)),
    ("up and down, levels of 1 to 9", Shape(jump=1.0, up=0.5)),
    ("up and down, levels of 3", Shape(3, 3, jump=1.0, up=0.5)),
    ("up and down, levels of 30", Shape(30, 30, jump=1.0, up=0.5)),
    ("up and down, levels of 100 to 300", Shape(100, 300, jump=0.3, up=0.5)),
    ("alternating levels of 1", Shape(1, 1, jump=1.0, back=1.0)),
    ("alternating levels of 3 to 9", Shape(3, 9, jump=1.0, back=1.0)),
    ("returns to a level, levels of 5 to 50", Shape(5, 50, jump=1.0, up=0.5, back=0.6)),
    ("random walk", Shape(noise=0.0, wander=1.0)),
    ("walk in whole numbers", Shape(noise=0.0, wander=3.0, whole=True)),
    ("counter", Shape(noise=0.0, wander=1.0, trend=2.0, whole=True)),
    ("nearly equal values", Shape(noise=1e-11)),
    ("two values", Shape(noise=0.3, whole=True)),
    ("sparse outliers", Shape(outliers=0.01)),
    ("slow wander", Shape(wander=0.02)),
    ("noise with memory", Shape(memory=0.95)),
    ("trend with steps", Shape(100, 300, jump=1.0, up=0.5, trend=0.01)),
)
"""Shapes by name."""


def processor_time(values: NDArray[np.float64]) -> float:
    """Return the milliseconds of processor time that the steps of ``values`` take, the less of two times."""
    times = []
    for _ in range(2):
        begin = time.process_time()
        find_steps(values)
        times.append(1000 * (time.process_time() - begin))
    return min(times)


def _mutated(shape: Shape, draw: np.random.Generator) -> Shape:
    """Return ``shape`` with one or two of its numbers changed."""
    changed: dict[str, Any] = asdict(shape)
    for name in draw.choice(list(changed), draw.integers(1, 3), replace=False):
        value = changed[name]
        if isinstance(value, bool):
            changed[name] = not value
        elif isinstance(value, int):
            changed[name] = max(1, int(value * draw.choice([0.5, 0.8, 1.3, 2.0]) + draw.integers(-1, 2)))
        elif name in {"up", "back", "memory"}:
            changed[name] = float(draw.choice([0.0, 0.3, 0.5, 0.7, 0.95]))
        elif name == "outliers":
            changed[name] = float(draw.choice([0.0, 0.001, 0.01, 0.1]))
        else:
            changed[name] = float((value or 0.05) * draw.choice([0.2, 0.5, 0.8, 1.3, 2.0, 5.0]))
    return replace(shape, **changed)


def _searched(size: int, trials: int) -> tuple[Shape, float]:
    """Return the slowest shape that a seeded search finds among ``trials``, and its time for ``size`` values."""
    draw = np.random.default_rng(_SEED)
    known = [(processor_time(shape.series(size)), shape) for _, shape in FAMILIES]
    for _ in range(trials):
        known = sorted(known, key=lambda each: -each[0])[:_KEPT]
        shape = _mutated(known[int(draw.integers(len(known)))][1], draw)
        known.append((processor_time(shape.series(size)), shape))
    slowest = max(known, key=lambda each: each[0])
    return slowest[1], slowest[0]


def worst_rows() -> Iterator[Row]:
    """Yield the longest processor time of all families, and that of the slowest shape that the search finds."""
    found, _ = _searched(10_000, _TRIALS)
    for size, bound in _LENGTHS:
        times = {name: processor_time(shape.series(size)) for name, shape in FAMILIES}
        slowest = max(times, key=times.__getitem__)
        reach = Reach.SHOWN if bound is None else Reach.AT_MOST
        for named, milliseconds in (
            (f"hardest family: {slowest}", times[slowest]),
            (f"hardest of {_TRIALS} shapes that a search tries", processor_time(found.series(size))),
        ):
            yield Row(f"{named}, {size} values", "ms", milliseconds, reach=reach, bound=bound or 0.0)


def main(sizes: Iterable[str]) -> None:
    """Print the time of each family for each of ``sizes``, and the slowest shape of a search at the first one."""
    chosen = [int(size) for size in sizes] or [2_000, 10_000]
    for name, shape in FAMILIES:
        print(f"{name:45}", *(f"{processor_time(shape.series(size)):9.1f}" for size in chosen), flush=True)
    shape, milliseconds = _searched(chosen[0], _TRIALS)
    print(f"{milliseconds:.1f} ms: {shape}", *(f"{processor_time(shape.series(size)):9.1f}" for size in chosen))


if __name__ == "__main__":
    main(sys.argv[1:])
