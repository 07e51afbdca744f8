"""Measure what siblings add: a weak change in all, most or few of them is found, and the others are not swept along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from accuracy_kinship import kinship_rows
from knickpoint.detect import explain_jointly, find_steps_many
from table import Reach, Row

__all__ = ["sibling_rows"]

FAMILIES: Final = 100
SIBLINGS: Final = 20
COMMITS: Final = 200
SIZE: Final = 0.7

_MARGIN: Final = 5
_SWEPT_MARGIN: Final = 10
_MOVED: Final = (20, 15, 10, 5)
_FOUND: Final = {20: 0.9, 5: 0.6}
_SWEPT: Final = 0.02

Frame = NDArray[np.float64]
Draw = Callable[[np.random.Generator], Frame]


def _autocorrelated(rng: np.random.Generator, phi: float, rows: int = SIBLINGS) -> Frame:
    values = rng.normal(size=(rows, COMMITS))
    for place in range(1, COMMITS):
        values[:, place] = phi * values[:, place - 1] + np.sqrt(1 - phi**2) * values[:, place]
    return values


def _shared(rng: np.random.Generator, share: float) -> Frame:
    together = rng.normal(size=COMMITS)
    return np.asarray(np.sqrt(1 - share) * rng.normal(size=(SIBLINGS, COMMITS)) + np.sqrt(share) * together)


def _with_gaps(rng: np.random.Generator) -> Frame:
    values = rng.normal(size=(SIBLINGS, COMMITS))
    values[rng.random(values.shape) < 0.1] = np.nan
    return values


_NOISE: Final[dict[str, Draw]] = {
    "normal": lambda rng: rng.normal(size=(SIBLINGS, COMMITS)),
    "t with 3 degrees of freedom": lambda rng: rng.standard_t(3, (SIBLINGS, COMMITS)) / np.sqrt(3),
    "30 % of the noise shared": lambda rng: _shared(rng, 0.3),
    "60 % of the noise shared": lambda rng: _shared(rng, 0.6),
    "AR(1) 0.3": lambda rng: _autocorrelated(rng, 0.3),
    "AR(1) 0.5": lambda rng: _autocorrelated(rng, 0.5),
    "a tenth missing": _with_gaps,
}
"""Noise of variance 1."""


@dataclass(slots=True)
class _Counts:
    """Traces that moved and those that did not, how many of each have a step at the change, and all steps."""

    moved: int = 0
    stayed: int = 0
    found: int = 0
    swept: int = 0
    steps: int = 0

    def add(self, found: Sequence[Sequence[int]], moved: int, place: int) -> None:
        """Count the steps ``found`` in each trace of a family whose first ``moved`` traces changed at ``place``."""
        self.moved += moved
        self.stayed += len(found) - moved
        self.found += sum(any(abs(index - place) <= _MARGIN for index in steps) for steps in found[:moved])
        self.swept += sum(any(abs(index - place) <= _SWEPT_MARGIN for index in steps) for steps in found[moved:])
        self.steps += sum(map(len, found))


@dataclass(slots=True)
class _Pair:
    """What siblings together find, and what each finds alone."""

    together: _Counts = field(default_factory=_Counts)
    alone: _Counts = field(default_factory=_Counts)


def _measure(draw: Draw, moved: int) -> _Pair:
    counts = _Pair()
    for number in range(FAMILIES):
        rng = np.random.default_rng([20261123, moved, number])
        frame = 100 + draw(rng)
        place = int(rng.integers(COMMITS // 5, 4 * COMMITS // 5))
        frame[:moved, place:] += SIZE
        together = [[step.index for step in each.steps] for each in explain_jointly(frame, method="siblings")]
        counts.together.add(together, moved, place)
        counts.alone.add([[step.index for step in steps] for steps in find_steps_many(frame)], moved, place)
    return counts


def sibling_rows() -> list[Row]:
    """Return the rows of families of siblings, and of those whose params carry kinship."""
    rows = kinship_rows()
    for name, draw in _NOISE.items():
        for moved in _MOVED:
            measured = _measure(draw, moved)
            together, alone = measured.together, measured.alone
            what = f"{moved} of {SIBLINGS} siblings, {SIZE:g} sigma, {name}"
            aim = (Reach.AT_LEAST, _FOUND[moved]) if moved in _FOUND else (Reach.SHOWN, 0.0)
            found, before = together.found / together.moved, alone.found / alone.moved
            rows.append(Row(f"{what}: found", "share", found, before, "alone", *aim))
            if together.stayed:
                swept, before = together.swept / together.stayed, alone.swept / alone.stayed
                rows.append(Row(f"{what}: others with a step", "share", swept, before, "alone", Reach.AT_MOST, _SWEPT))
        unchanged = _measure(draw, 0)
        per_1000 = 1000 / FAMILIES / SIBLINGS / COMMITS
        rows.append(
            Row(
                f"{SIBLINGS} siblings without a change, {name}: false",
                "per 1,000",
                unchanged.together.steps * per_1000,
                unchanged.alone.steps * per_1000,
                "alone",
            )
        )
    return rows
