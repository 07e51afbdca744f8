"""The arrays of a tree of stacks, beside loops that say the same."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.profiles import ProfileBuilder, ValueKind
from knickpoint.profiles.stack_tree import depths_of, ends_of, inherited, merge, parents_of

_paths = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=12)


def _preorder(paths: list[list[int]]) -> list[tuple[int, ...]]:
    """Beginnings of all paths, each before those that are longer."""
    return sorted({tuple(path[:length]) for path in paths for length in range(1, len(path) + 1)})


@given(_paths)
def test_depths_parents_and_ends_of_a_preorder_are_those_of_its_paths(paths: list[list[int]]) -> None:
    nodes = _preorder(paths)
    parents = np.array([nodes.index(node[:-1]) if len(node) > 1 else -1 for node in nodes])
    depths = np.array([len(node) - 1 for node in nodes])
    assert depths_of(parents).tolist() == depths.tolist()
    assert parents_of(depths).tolist() == parents.tolist()
    inside = [sum(other[: len(node)] == node for other in nodes) for node in nodes]
    assert ends_of(parents).tolist() == [place + count for place, count in enumerate(inside)]


@given(_paths, st.sets(st.integers(0, 3)))
def test_a_passed_node_has_the_value_of_the_nearest_caller_that_is_not(
    paths: list[list[int]], passed: set[int]
) -> None:
    nodes = _preorder(paths)
    parents = np.array([nodes.index(node[:-1]) if len(node) > 1 else -1 for node in nodes])
    passes = np.array([len(node) > 1 and node[-1] in passed for node in nodes])
    found = inherited(parents, np.arange(len(nodes)), passes)
    for place, node in enumerate(nodes):
        kept = [length for length in range(1, len(node) + 1) if length == 1 or node[length - 1] not in passed]
        assert nodes[found[place]] == node[: kept[-1]]


def test_a_depth_that_skips_one_is_refused() -> None:
    with pytest.raises(ValueError, match="stack 2 is deeper than the one before it by more than a frame"):
        parents_of(np.array([0, 1, 3]))


@given(_paths)
def test_stacks_with_the_same_frames_become_one_node(paths: list[list[int]]) -> None:
    chains = [tuple(path[: length + 1]) for path in paths for length in range(len(path))]
    starts = np.cumsum([0, *map(len, paths)])
    parents = np.array(
        [start + k - 1 if k else -1 for start, path in zip(starts, paths, strict=False) for k in range(len(path))]
    )
    merged = merge(parents, np.array([chain[-1] for chain in chains]), depths_of(parents))
    nodes = _preorder(paths)
    assert [nodes[place] for place in merged.places] == chains
    assert merged.frames.tolist() == [node[-1] for node in nodes]
    assert merged.parents.tolist() == [nodes.index(node[:-1]) if len(node) > 1 else -1 for node in nodes]


@given(_paths)
def test_a_profile_is_the_same_in_whichever_order_its_samples_come(paths: list[list[int]]) -> None:
    def built(order: list[list[int]]) -> list[list[float]]:
        builder = ProfileBuilder()
        frames = [builder.frame(f"f{number}") for number in range(4)]
        for path in order:
            builder.add_path([frames[number] for number in path], 1.0)
        found = builder.build("made", ValueKind.COUNT, "samples")
        return [found.parents.tolist(), found.frames.tolist(), found.values.tolist()]

    assert built(paths) == built(paths[::-1])
    counts = Counter(map(tuple, paths))
    assert built(paths)[2] == [float(counts[node]) for node in _preorder(paths)]
