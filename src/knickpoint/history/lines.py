"""Put commits into lines: by first parent where a graph is known, else by what results files tell."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from knickpoint.model.commit import Commit
from knickpoint.model.errors import HistoryError

__all__ = ["OrderKey", "extend_line", "fork_of", "merge_orders", "order_key"]

Node = TypeVar("Node", bound=Hashable)
OrderKey = tuple[int, float, str]


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


def order_key(commit: Commit) -> OrderKey:
    """Return what decides the order of two commits that neither a graph nor a file relates.

    Sources that count their commits are ordered by that number, and stand before those that do not; others by
    time, and equal times by hash, so that there is always one answer.
    """
    if commit.is_number:
        return (0, float(int(commit.hash)), commit.hash)
    return (1, _seconds(commit.time), commit.hash)


def _seconds(time: datetime) -> float:
    return time.timestamp()


def extend_line(
    known: Sequence[Node], read: Sequence[Node], before: Node | None, *, shallow: bool = False, where: str = ""
) -> tuple[Node, ...]:
    """Return the line whose first-parent commits were read as ``read``, oldest first.

    ``known`` is the line as it was, ``before`` the first parent of the oldest commit that was read, None
    where it has none or nobody knows it. Commits that were read only from the point where they leave the
    known line on are joined to it; in a shallow clone, what lies before its oldest commit is kept.

    Raises:
        HistoryError: a shallow clone that does not reach back to the known line.
    """
    if not read:
        return tuple(known)
    positions = {commit: position for position, commit in enumerate(known)}
    if before is not None and before in positions:
        return (*known[: positions[before] + 1], *read)
    if not shallow or not known:
        return tuple(read)
    for index, commit in enumerate(read):
        if commit in positions:
            return (*known[: positions[commit]], *read[index:])
    raise HistoryError(
        "this shallow clone begins after the last commit that is known here",
        where=where,
        remedy="Run: git fetch --unshallow (in a CI, check out with the whole history).",
    )


def fork_of(base: Sequence[Node], chain: Sequence[Node]) -> tuple[int, tuple[Node, ...]]:
    """Split the first-parent ``chain`` of a branch, oldest first, at the line that it left.

    Returns:
        The last position of ``base`` that is on the chain, -1 if none, and the branch's own commits.
    """
    positions = {commit: position for position, commit in enumerate(base)}
    for index in range(len(chain) - 1, -1, -1):
        if chain[index] in positions:
            return positions[chain[index]], tuple(chain[index + 1 :])
    return -1, tuple(chain)


def merge_orders(keys: Mapping[Node, _Ordered], pairs: Iterable[tuple[Node, Node]]) -> tuple[list[Node], list[Node]]:
    """Put nodes into the one order that keeps every pair (before, after), smaller keys first where free.

    The answer depends on the set of nodes and of pairs only, never on the order in which they came. Where
    pairs contradict each other (a before b before a), the nodes of that knot are ordered by key alone.

    Returns:
        All nodes in order, and those of knots, sorted by key. O((nodes + pairs) log nodes).
    """
    after: dict[Node, list[Node]] = {node: [] for node in keys}
    for one, other in dict.fromkeys(pairs):
        if one != other:
            after[one].append(other)
    order = _sorted_graph(keys, after)
    if len(order) == len(keys):
        return order, []
    components = _components(after)
    representative = {node: min(group, key=keys.__getitem__) for group in components for node in group}
    members = {representative[group[0]]: sorted(group, key=keys.__getitem__) for group in components}
    condensed: dict[Node, list[Node]] = {leader: [] for leader in members}
    for one, others in after.items():
        condensed[representative[one]].extend(
            {representative[other] for other in others} - {representative[one]},
        )
    for leader, others in condensed.items():
        condensed[leader] = list(dict.fromkeys(others))
    leaders = _sorted_graph({leader: keys[leader] for leader in condensed}, condensed)
    knotted = sorted((node for group in components if len(group) > 1 for node in group), key=keys.__getitem__)
    return [node for leader in leaders for node in members[leader]], knotted


def _sorted_graph(keys: Mapping[Node, _Ordered], after: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """Sort topologically, the smallest free key first; nodes of a cycle and behind it are left out."""
    waits_for = dict.fromkeys(keys, 0)
    for others in after.values():
        for other in others:
            waits_for[other] += 1
    by_rank = sorted(keys, key=keys.__getitem__)
    rank = {node: place for place, node in enumerate(by_rank)}
    free = [rank[node] for node, count in waits_for.items() if count == 0]
    heapq.heapify(free)
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
    """Return the strongly connected components (Tarjan, with a stack of our own: chains are long)."""
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_nodes: dict[Node, None] = {}
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
                    index[other] = low[other] = len(index)
                    open_nodes[other] = None
                    path.append((other, iter(after[other])))
                    break
                if other in open_nodes:
                    low[node] = min(low[node], index[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    components.append(_close(open_nodes, node))
    return components


def _close(open_nodes: dict[Node, None], root: Node) -> list[Node]:
    group: list[Node] = []
    while True:
        node, _ = open_nodes.popitem()
        group.append(node)
        if node == root:
            return group
