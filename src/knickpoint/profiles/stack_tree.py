"""The tree of stacks in arrays: depths and parents of nodes in preorder, where subtrees end, and trees put together.

A node's parent stands before it; -1 is that of the outermost frames. What depends on all callers of a node is found by
doubling: after k steps a node knows the nearest 2^k of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MergedTree:
    """A tree in preorder, siblings by frame; ``places`` has the node that each of the merged ones became."""

    parents: Ints
    frames: Ints
    places: Ints


def depths_of(parents: Ints) -> Ints:
    """Number of callers of each node."""
    depths = (parents >= 0).astype(np.int64)
    above = parents.copy()
    while (below := np.flatnonzero(above >= 0)).size:
        depths[below] += depths[above[below]]
        above[below] = above[above[below]]
    return depths


def parents_of(depths: Ints) -> Ints:
    """Parents of nodes in preorder, by their depths. Raises ``ValueError`` where a depth skips one."""
    count = len(depths)
    if count and (depths[0] or (np.diff(depths) > 1).any()):
        place = int(np.argmax(np.diff(depths, prepend=-1) > 1))
        raise ValueError(f"stack {place} is deeper than the one before it by more than a frame")
    keys = depths * count + np.arange(count)
    order = np.argsort(keys)
    nearest = order[np.searchsorted(keys[order], keys - count) - 1]
    return np.where(depths > 0, nearest, -1)


def ends_of(parents: Ints) -> Ints:
    """First node behind each node of a preorder and all that begin with it."""
    count = len(parents)
    depths = depths_of(parents)
    order = np.argsort(depths, kind="stable")
    ends = np.full(count, count, dtype=np.int64)
    alike = depths[order[1:]] == depths[order[:-1]]
    ends[order[:-1][alike]] = order[1:][alike]
    above = parents.copy()
    while (below := np.flatnonzero(above >= 0)).size:
        ends[below] = np.minimum(ends[below], ends[above[below]])
        above[below] = above[above[below]]
    return ends


def inherited(parents: Ints, values: Ints, passed: NDArray[np.bool_]) -> Ints:
    """Value of each node; those that are ``passed`` have that of the nearest caller that is not. Roots pass nothing."""
    source = np.where(passed, parents, np.arange(len(parents)))
    while not np.array_equal(following := source[source], source):
        source = following
    return values[source]


def merge(parents: Ints, frames: Ints, depths: Ints) -> MergedTree:
    """Merge nodes with the same frames from the outermost on; the nodes may be of several trees, in any order."""
    width = int(frames.max(initial=0)) + 1
    order = np.argsort(depths, kind="stable")
    bounds = np.searchsorted(depths[order], np.arange(int(depths.max(initial=-1)) + 2))
    places = np.zeros(len(frames), dtype=np.int64)
    levels: list[tuple[Ints, Ints]] = []
    for level, (begin, end) in enumerate(pairwise(bounds)):
        nodes = order[begin:end]
        above = places[parents[nodes]] if level else np.zeros(len(nodes), dtype=np.int64)
        keys, places[nodes] = np.unique(above * width + frames[nodes], return_inverse=True)
        levels.append((keys // width, keys % width))
    positions = _preorder([above for above, _ in levels])
    found_parents, found_frames = (np.empty(sum(map(len, positions)), dtype=np.int64) for _ in range(2))
    for level, (above, of_level) in enumerate(levels):
        found_frames[positions[level]] = of_level
        found_parents[positions[level]] = positions[level - 1][above] if level else -1
        nodes = order[bounds[level] : bounds[level + 1]]
        places[nodes] = positions[level][places[nodes]]
    return MergedTree(found_parents, found_frames, places)


def _preorder(levels: list[Ints]) -> list[Ints]:
    """Positions in preorder of the nodes of each level, given by their parents in the level above, which ascend."""
    sizes = [np.ones(len(above), dtype=np.int64) for above in levels]
    for level in range(len(levels) - 1, 0, -1):
        inside = np.bincount(levels[level], sizes[level], len(levels[level - 1]))
        sizes[level - 1] += inside.astype(np.int64)
    positions: list[Ints] = []
    for level, above in enumerate(levels):
        before = np.cumsum(sizes[level]) - sizes[level]
        if level:
            first = np.searchsorted(above, above)
            before += positions[level - 1][above] + 1 - before[first]
        positions.append(before)
    return positions
