"""Order commits without a graph, by what files state about them.

Each file that holds several commits gives pairs (before, after). :func:`merge_orders` sorts the graph of all pairs
topologically (Kahn's algorithm with a heap, so that the smallest key comes first among the commits that are free). Pairs
that contradict each other make a cycle; the commits of a cycle form a strongly connected component, which Tarjan's
algorithm finds and the sort then treats as one commit.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from knickpoint.model.commit import Commit

__all__ = ["OrderKey", "merge_orders", "order_key"]

Node = TypeVar("Node", bound=Hashable)
OrderKey = tuple[int, float, str]


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


def order_key(commit: Commit) -> OrderKey:
    """Return the key that orders two commits which neither a graph nor a file relates.

    Commits that are numbers go by that number, and come before those that are not; others go by time, and those of equal
    times by hash, so that the order is always the same.
    """
    if commit.is_number:
        return (0, float(int(commit.hash)), commit.hash)
    return (1, commit.time.timestamp(), commit.hash)


def merge_orders(keys: Mapping[Node, _Ordered], pairs: Iterable[tuple[Node, Node]]) -> tuple[list[Node], list[Node]]:
    """Return the one order of nodes that keeps every pair (before, after), smaller keys first where the pairs allow it.

    The order depends only on the set of nodes and the set of pairs, not on the sequence in which they arrive. Where pairs
    contradict each other (a before b before a), the nodes of that cycle are ordered by key alone. O((nodes + pairs) log
    nodes).

    Returns:
        All nodes in order, and those of cycles, sorted by key.
    """
    # The graph: node → those that come after it.
    after: dict[Node, list[Node]] = {node: [] for node in keys}
    for node, later in dict.fromkeys(pairs):
        if node != later:
            after[node].append(later)
    # Without a cycle, the sort reaches all nodes.
    order = _sorted_graph(keys, after)
    if len(order) == len(keys):
        return order, []
    # Contract each cycle to its member with the smallest key, the leader, which keeps the pairs with nodes outside.
    components = _components(after)
    leader_of = {node: min(group, key=keys.__getitem__) for group in components for node in group}
    members = {leader_of[group[0]]: sorted(group, key=keys.__getitem__) for group in components}
    outside: dict[Node, dict[Node, None]] = {leader: {} for leader in members}
    for node, others in after.items():
        leader = leader_of[node]
        outside[leader] |= {leader_of[other]: None for other in others if leader_of[other] != leader}
    # Sort the leaders, and put the members of each cycle in its place.
    leaders = _sorted_graph({leader: keys[leader] for leader in outside}, {node: [*to] for node, to in outside.items()})
    cyclic = sorted((node for group in components if len(group) > 1 for node in group), key=keys.__getitem__)
    return [node for leader in leaders for node in members[leader]], cyclic


def _sorted_graph(keys: Mapping[Node, _Ordered], after: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """Return the nodes in topological order, the smallest free key first; nodes of a cycle and behind it are missing."""
    # How many nodes still have to come before each one.
    waits_for = dict.fromkeys(keys, 0)
    for others in after.values():
        for other in others:
            waits_for[other] += 1
    # The heap holds ranks, which compare faster than keys.
    by_rank = sorted(keys, key=keys.__getitem__)
    rank = {node: place for place, node in enumerate(by_rank)}
    free = [rank[node] for node, count in waits_for.items() if count == 0]
    heapq.heapify(free)
    # Take the smallest free node, which may free those after it.
    order: list[Node] = []
    while free:
        node = by_rank[heapq.heappop(free)]
        order.append(node)
        for other in after[node]:
            waits_for[other] -= 1
            if waits_for[other] == 0:
                heapq.heappush(free, rank[other])
    return order


def _components(after: Mapping[Node, Sequence[Node]]) -> list[list[Node]]:
    """Return the strongly connected components, by Tarjan's algorithm.

    It keeps its path in a list instead of recursing, as a history may be a chain of a hundred thousand commits.
    """
    index: dict[Node, int] = {}  # the place of each node in the order of discovery
    low: dict[Node, int] = {}  # the smallest index that is known to be reachable from it
    open_nodes: dict[Node, None] = {}  # nodes whose component is not complete, in the order of discovery
    components: list[list[Node]] = []
    for root in after:
        if root in index:
            continue
        path = [(root, iter(after[root]))]
        index[root] = low[root] = len(index)
        open_nodes[root] = None
        while path:
            node, others = path[-1]
            for other in others:
                if other not in index:
                    # Descend into a new node; this loop goes on when the path is back here.
                    index[other] = low[other] = len(index)
                    open_nodes[other] = None
                    path.append((other, iter(after[other])))
                    break
                if other in open_nodes:
                    low[node] = min(low[node], index[other])
            else:
                # All nodes after this one are seen: go back, and close the component that begins here.
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    components.append(_close(open_nodes, node))
    return components


def _close(open_nodes: dict[Node, None], root: Node) -> list[Node]:
    """Take the nodes from the last one back to ``root`` out of ``open_nodes``, and return them."""
    group: list[Node] = []
    while True:
        node, _ = open_nodes.popitem()
        group.append(node)
        if node == root:
            return group
