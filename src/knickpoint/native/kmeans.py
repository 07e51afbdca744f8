"""Cluster rows of float32 by Lloyd's k-means, and choose where it starts by k-means++.

Rows come in blocks, so that any number of threads gives one answer; ``kmeans.c`` and ``approach.c`` explain the passes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


def pack_in_numpy(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the form of a float32 matrix that :func:`assign` reads: here the matrix itself."""
    return rows


def assign_in_numpy(
    packed: NDArray[np.float32],
    shape: tuple[int, int],
    first: int,
    stop: int,
    centroids: NDArray[np.float32],
    labels: NDArray[np.int32],
    near: NDArray[np.float32],
) -> None:
    """Write the nearest centroid of rows ``[first, stop)`` into ``labels``, the first of equally near ones.

    ``near`` gets half the squared distance less half the squared norm of the row: comparable within a row,
    and a distance once the norm is added.
    """
    half = (0.5 * np.square(centroids, dtype=np.float64).sum(axis=1)).astype(np.float32)
    far = half - packed.reshape(shape)[first:stop] @ centroids.T
    chosen = far.argmin(axis=1)
    labels[first:stop] = chosen
    near[first:stop] = np.take_along_axis(far, chosen[:, np.newaxis], axis=1)[:, 0]


def approach_in_numpy(
    packed: NDArray[np.float32],
    shape: tuple[int, int],
    first: int,
    stop: int,
    centroid: NDArray[np.float32],
    near: NDArray[np.float32],
) -> None:
    """Lower ``near`` of rows ``[first, stop)`` to their squared distance to ``centroid``, where that is less.

    The squares are added column by column in float32, so every machine gives the same bits.
    """
    far = np.zeros(stop - first, np.float32)
    for column, middle in zip(packed.reshape(shape)[first:stop].T, centroid, strict=True):
        difference = column - middle
        far += difference * difference
    np.minimum(near[first:stop], far, out=near[first:stop])


def move_in_numpy(
    rows: NDArray[np.float32],
    first: int,
    stop: int,
    before: NDArray[np.int32],
    after: NDArray[np.int32],
    sums: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> int:
    """Move the rows of ``[first, stop)`` whose label changed from one sum to the other; return how many.

    An old label of -1 means that the row was in no sum yet. ``sums`` is k x columns, ``counts`` k.
    """
    moved = first + np.flatnonzero(before[first:stop] != after[first:stop])
    np.add.at(sums, after[moved], rows[moved].astype(np.float64))
    np.add.at(counts, after[moved], 1)
    known = moved[before[moved] >= 0]
    np.subtract.at(sums, before[known], rows[known].astype(np.float64))
    np.subtract.at(counts, before[known], 1)
    return int(moved.size)


_ALIGNMENT = 64


def _aligned(count: int, kind: type) -> NDArray[Any]:
    """Return an uninitialised array that begins at a multiple of a cache line."""
    width = np.dtype(kind).itemsize
    raw = np.empty(count * width + _ALIGNMENT, np.uint8)
    shift = -int(raw.ctypes.data) % _ALIGNMENT
    return raw[shift : shift + count * width].view(kind)


def pack_in_c(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the packed form of a contiguous float32 matrix, which :func:`assign` reads."""
    count, columns = rows.shape
    packed = _aligned(int(lib.kp_pack_size(count, columns)), np.float32)
    lib.kp_pack(rows, count, columns, packed)
    return packed


def assign_in_c(
    packed: NDArray[np.float32],
    shape: tuple[int, int],
    first: int,
    stop: int,
    centroids: NDArray[np.float32],
    labels: NDArray[np.int32],
    near: NDArray[np.float32],
) -> None:
    """Write the nearest centroid of rows ``[first, stop)``; see the reference."""
    failed = lib.kp_assign(
        packed,
        shape[1],
        first,
        stop,
        centroids,
        len(centroids),
        labels,
        near,
    )
    if failed:
        raise MemoryError


def approach_in_c(
    packed: NDArray[np.float32],
    shape: tuple[int, int],
    first: int,
    stop: int,
    centroid: NDArray[np.float32],
    near: NDArray[np.float32],
) -> None:
    """Lower ``near`` of rows ``[first, stop)`` to their squared distance to ``centroid``; see the reference."""
    lib.kp_approach(
        packed,
        shape[1],
        first,
        stop,
        centroid,
        near,
    )


def move_in_c(
    rows: NDArray[np.float32],
    first: int,
    stop: int,
    before: NDArray[np.int32],
    after: NDArray[np.int32],
    sums: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> int:
    """Move rows whose label changed from one sum to the other; see the reference."""
    return int(
        lib.kp_move(
            rows,
            rows.shape[1],
            first,
            stop,
            before,
            after,
            sums,
            counts,
        )
    )


# Pack matrices once for all passes over their rows.


pack = choose(pack_in_numpy, pack_in_c)

BLOCK: Final = 2048
"""Rows that a thread takes at a time, a multiple of the rows that lie side by side when packed.

Sums are added in the order of the blocks.
"""


@dataclass(frozen=True, eq=False, slots=True)
class Packed:
    """Hold a matrix of float32 without ``nan``, and a second, packed copy of it that the kernels read."""

    rows: NDArray[np.float32]
    form: NDArray[np.float32]

    @classmethod
    def of(cls, rows: NDArray[np.float32] | Packed) -> Packed:
        """Pack ``rows``, unless they are."""
        if isinstance(rows, Packed):
            return rows
        matrix = np.ascontiguousarray(rows, dtype=np.float32)
        return cls(matrix, pack(matrix))


# Share blocks of rows between threads.


Share = Callable[[Callable[[int], Any], range], Iterable[Any]]
"""Calls a function for each block, as ``map`` does, in any order; the answers come in the order of the blocks."""


@contextmanager
def sharing(threads: int, blocks: range) -> Iterator[Share]:
    """Give ``map``, or a ``map`` whose work the calling thread shares with a pool that lives as long as the context.

    A single block is work for the calling thread: handing it over takes longer than the work.
    """
    others = min(threads, len(blocks)) - 1
    if others < 1:
        yield map
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(others) as pool:
        yield lambda function, places: _share(pool, others, function, places)


def _share(pool: ThreadPoolExecutor, others: int, function: Callable[[int], Any], blocks: range) -> list[Any]:
    """Call ``function`` for each of ``blocks`` here and in as many ``others``: whoever is done takes the next one.

    So a busy core slows nobody down, and a pass costs one message for each thread, not one for each block.
    """
    waiting = deque(enumerate(blocks))
    answers: list[Any] = [None] * len(blocks)

    def work() -> None:
        while True:
            try:
                place, block = waiting.popleft()
            except IndexError:
                return
            answers[place] = function(block)

    helping = [pool.submit(work) for _ in range(others)]
    work()
    for future in helping:
        if not future.cancel():
            future.result()
    return answers


_assign = choose(assign_in_numpy, assign_in_c)
_move = choose(move_in_numpy, move_in_c)

_UNPACKED_PASSES: Final = 2
"""Passes over a matrix that take no longer if each packs it block by block."""

_Part = tuple[NDArray[np.float64], NDArray[np.int64]] | None


@dataclass(frozen=True, slots=True)
class Clustering:
    """Hold where k-means ended.

    ``labels`` gives the centroid of each row; ``distances`` its Euclidean distance; ``counts`` the rows of
    each centroid; ``converged`` says that the last iteration moved no row.
    """

    labels: NDArray[np.int32]
    centroids: NDArray[np.float32]
    distances: NDArray[np.float64]
    counts: NDArray[np.int64]
    iterations: int
    converged: bool


class Lloyd:
    """Keep a matrix ready for iterations of k-means: ``rows`` is n x columns, float32, without ``nan``.

    One iteration is :meth:`assign`, then :meth:`means`. The matrix is packed once, except where at most two ``passes``
    (calls of :meth:`assign`) follow: these pack it block by block, which saves the memory of a copy at no more time.
    """

    def __init__(self, rows: NDArray[np.float32] | Packed, k: int, *, passes: int | None = None) -> None:
        if passes is None or passes > _UNPACKED_PASSES:
            rows = Packed.of(rows)
        self._form = rows.form if isinstance(rows, Packed) else None
        self.rows = rows.rows if isinstance(rows, Packed) else np.ascontiguousarray(rows, dtype=np.float32)
        count, columns = self.rows.shape
        self.labels = np.full(count, -1, np.int32)
        self.near = np.empty(count, np.float32)
        self.sums = np.zeros((k, columns))
        self.counts = np.zeros(k, np.int64)
        self.blocks = range(0, count, BLOCK)

    def _assign_block(self, first: int, centroids: NDArray[np.float32], fresh: NDArray[np.int32]) -> tuple[int, _Part]:
        """Assign the rows of a block; return how many moved, and what that adds to sums and counts."""
        stop = min(first + BLOCK, len(self.rows))
        if self._form is not None:
            _assign(self._form, self.rows.shape, first, stop, centroids, fresh, self.near)
        else:
            block = self.rows[first:stop]
            labels, near = fresh[first:stop], self.near[first:stop]
            _assign(pack(block), block.shape, 0, len(block), centroids, labels, near)
        if np.array_equal(self.labels[first:stop], fresh[first:stop]):
            return 0, None
        sums, counts = np.zeros_like(self.sums), np.zeros_like(self.counts)
        moved = _move(self.rows, first, stop, self.labels, fresh, sums, counts)
        return moved, (sums, counts)

    def assign(self, centroids: NDArray[np.float32], share: Share = map) -> int:
        """Give every row its nearest centroid, and return how many rows moved.

        Afterwards ``labels``, ``sums`` and ``counts`` are those of ``centroids`` (k x columns, float32,
        contiguous). ``share`` is ``map`` or the ``map`` of an executor of threads.
        """
        fresh = np.empty_like(self.labels)
        total = 0
        for moved, part in share(lambda first: self._assign_block(first, centroids, fresh), self.blocks):
            total += moved
            if part is not None:
                self.sums += part[0]
                self.counts += part[1]
        self.labels = fresh
        return total

    def means(self, former: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the mean of each cluster's rows; a cluster without rows keeps its ``former`` centroid."""
        some = self.counts > 0
        centroids = former.copy()
        centroids[some] = self.sums[some] / self.counts[some, np.newaxis]
        return centroids

    def distances(self) -> NDArray[np.float64]:
        """Return the Euclidean distance of each row to the centroid last assigned."""
        norms = np.empty(len(self.rows))
        for first in self.blocks:
            norms[first : first + BLOCK] = np.square(self.rows[first : first + BLOCK], dtype=np.float64).sum(axis=1)
        distances: NDArray[np.float64] = np.sqrt(np.maximum(norms + 2.0 * self.near, 0.0))
        return distances


def lloyd(
    rows: NDArray[np.float32] | Packed,
    start: NDArray[np.float32],
    *,
    iterations: int = 300,
    least_moving: float = 0.0,
    threads: int = 1,
    each: Callable[[int], None] | None = None,
) -> Clustering:
    """Run k-means from the centroids ``start`` (k x columns) until no row moves, or for ``iterations``.

    It also ends when at most the share ``least_moving`` of all rows moves. The answer does not depend on ``threads``.
    Ties go to the first centroid; a cluster that loses all its rows keeps its centroid. ``each`` is called after each
    iteration with the number of those that are done. An iteration takes n k columns multiplications and additions.
    """
    centroids = np.ascontiguousarray(start, dtype=np.float32)
    state = Lloyd(rows, len(centroids), passes=iterations + 1)  # the last one assigns the rows to the final means
    done, moved, least = 0, len(state.labels), int(least_moving * len(state.labels))
    with sharing(threads, state.blocks) as share:
        while moved > least and done < iterations:
            moved = state.assign(centroids, share)
            done += 1
            if moved:
                centroids = state.means(centroids)
            if each is not None:
                each(done)
        if moved:
            state.assign(centroids, share)
    return Clustering(state.labels, centroids, state.distances(), state.counts, done, converged=moved <= least)


# Choose where k-means starts, by k-means++ (Arthur and Vassilvitskii, SODA 2007).


_approach = choose(approach_in_numpy, approach_in_c)


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
