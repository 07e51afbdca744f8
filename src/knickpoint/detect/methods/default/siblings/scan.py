"""Search the histories of siblings for commits at which some of them changed level together.

The score of a commit adds up how strongly each trace speaks for a change there, where few of them need to (N. R. Zhang
and D. O. Siegmund, Simultaneous change-point detection in multiple sequences, Biometrika 97, 2010). What the score is
worth is measured on the histories themselves: blocks of commits are reordered, for all traces alike, so that what
traces share and what commits remember stays, and only the change of level goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from knickpoint.detect.methods.default.siblings.views import View

LEAST: Final = 5
"""Commits that a level has at least."""

_FEW: Final = 0.1
"""Share of the traces that are expected to move; the score depends on it little."""

CERTAIN: Final = 80.0
"""Square of a separation from which it counts no more: one trace alone does not outweigh all others."""

_CELLS: Final = 2**20
"""Values that are reordered at a time."""

_BATCH: Final = 20


@dataclass(frozen=True, slots=True)
class Reordering:
    """How histories are reordered: at most ``count`` times, and how many of them may score as high."""

    count: int
    p: float
    seed: int

    @property
    def allowed(self) -> int:
        """How many reordered histories may score as high as the observed one."""
        return int(self.p * (self.count + 1)) - 1


@dataclass(frozen=True, slots=True)
class SharedChange:
    """A commit at which siblings changed together: ``column`` is the first of the new level, in [first, stop).

    ``share`` is that of the histories, the observed one among them, that score at least as high.
    """

    column: int
    first: int
    stop: int
    score: float
    share: float


def separations(values: NDArray[np.float64], held: NDArray[np.bool_], memory: float) -> NDArray[np.float64]:
    """Return the distance between the levels before and after each column, in standard errors.

    ``values`` and ``held`` are … x traces x commits, ``held`` perhaps for all traces at once; the answer has one column
    less, for splits before the columns from 1 on, and 0 where a side has fewer than two values.
    """
    sums = np.cumsum(values, axis=-1)
    counts: NDArray[np.int64] = np.cumsum(held, axis=-1)
    left, right = counts[..., :-1], counts[..., -1:] - counts[..., :-1]
    error = np.sqrt(memory * (1 / np.maximum(left, 1) + 1 / np.maximum(right, 1)))
    # In place: there are as many numbers as values, and one order after another.
    apart = sums[..., -1:] - sums[..., :-1]
    apart /= np.maximum(right, 1)
    before = sums[..., :-1]
    before /= np.maximum(left, 1)
    apart -= before
    apart /= error
    np.copyto(apart, 0.0, where=(left <= 1) | (right <= 1))
    return apart


def _scores(apart: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score of each split: traces that move the other way do not add to it."""
    evidence = np.minimum(np.square(apart), CERTAIN) / 2
    np.expm1(evidence, out=evidence)
    evidence *= _FEW
    np.log1p(evidence, out=evidence)
    up, down = (np.where(way, evidence, 0.0).sum(axis=-2) for way in (apart > 0, apart < 0))
    scores = np.maximum(up, down)
    scores[..., : LEAST - 1] = 0.0
    scores[..., scores.shape[-1] - LEAST + 1 :] = 0.0
    return np.asarray(scores)


def find_shared_changes(
    view: View, reordering: Reordering, is_step: Callable[[SharedChange], bool] = lambda _change: True
) -> list[SharedChange]:
    """Return the commits at which some traces of ``view`` changed together, ascending.

    The best split of a stretch counts when too few reordered stretches have one as good; then both parts are searched.
    A stretch whose best split ``is_step`` refuses is left as it is: a drift would be cut into stairs. The time is at
    most that of :attr:`Reordering.count` scans of the whole for each change, and less where nothing changed.
    """
    found: list[SharedChange] = []
    stretches = [(0, view.values.shape[1])]
    while stretches:
        first, stop = stretches.pop()
        change = _best_change(view, first, stop, reordering)
        if change and is_step(change):
            found.append(change)
            stretches += [(first, change.column), (change.column, stop)]
    return sorted(found, key=lambda change: change.column)


def _best_change(view: View, first: int, stop: int, reordering: Reordering) -> SharedChange | None:
    """Return the best split of the columns from ``first`` to ``stop``, where it is one."""
    if stop - first < 2 * LEAST:
        return None
    values, held = view.values[:, first:stop], view.held[:, first:stop]
    curve = _scores(separations(values, held, view.memory))
    best = float(curve.max())
    if best <= 0:
        return None
    as_high, tried, whole = 0, 0, bool(held.all())
    for orders in _reordered(stop - first, view.block, len(values), reordering, first):
        # Where all is measured, one row says so for every trace in every order.
        present = held[:1] if whole else held[:, orders].transpose(1, 0, 2)
        many = separations(values[:, orders].transpose(1, 0, 2), present, view.memory)
        as_high += int(np.count_nonzero(_scores(many).max(axis=-1) >= best))
        tried += len(orders)
        if as_high > reordering.allowed:
            return None
    share = (as_high + 1) / (tried + 1)
    return SharedChange(first + int(np.argmax(curve)) + 1, first, stop, best, share)


def _reordered(count: int, block: int, traces: int, reordering: Reordering, first: int) -> Iterator[NDArray[np.int64]]:
    """Yield orders of ``count`` commits in batches: blocks of neighbours, from a random place on, shuffled."""
    generator = np.random.default_rng([reordering.seed, first, count])
    size = max(1, min(block, count // 4))
    begins, within = np.arange(0, count, size), np.arange(size)
    batch = max(1, min(_BATCH, _CELLS // max(1, traces * count)))
    for begin in range(0, reordering.count, batch):
        turns, shuffled = [], []
        for _ in range(min(batch, reordering.count - begin)):
            turns.append(int(generator.integers(count)))
            shuffled.append(generator.permutation(begins.size))
        # Each block of each order; the last one is filled up with places that are none.
        places = (begins[np.array(shuffled)][:, :, None] + within).reshape(len(turns), -1)
        yield (places[places < count].reshape(len(turns), count) - np.array(turns)[:, None]) % count
