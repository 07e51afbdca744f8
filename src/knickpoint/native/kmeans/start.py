"""Choose where k-means starts, by k-means++ (Arthur and Vassilvitskii, SODA 2007)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.choice import choose
from knickpoint.native.kmeans import reference
from knickpoint.native.kmeans.packing import BLOCK, Packed
from knickpoint.native.kmeans.sharing import sharing

__all__ = ["choose_start"]

_approach = choose(reference.approach)


def choose_start(
    rows: NDArray[np.float32] | Packed, k: int, random: np.random.Generator, *, threads: int = 1
) -> list[int]:
    """Choose ``k`` different rows far apart by k-means++; the answer does not depend on ``threads``.

    The first is drawn evenly, each further one with a probability that grows with the squared distance to the nearest
    row chosen so far; fewer come back when fewer rows differ. A choice takes one pass over the matrix.
    """
    packed = Packed.of(rows)
    count = len(packed.rows)
    near = np.full(count, np.inf, np.float32)
    chosen = [int(random.integers(count))]

    def approach(first: int) -> None:
        stop = min(first + BLOCK, count)
        _approach(packed.form, packed.rows.shape, first, stop, packed.rows[chosen[-1]], near)

    blocks = range(0, count, BLOCK)
    with sharing(threads, blocks) as share:
        while len(chosen) < k:
            for _ in share(approach, blocks):
                pass
            weights = np.cumsum(near, dtype=np.float64)
            if not weights[-1] > 0:
                break
            place = int(np.searchsorted(weights, random.random() * weights[-1], side="right"))
            chosen.append(min(place, count - 1))
    return chosen
