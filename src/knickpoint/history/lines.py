"""Orders of commits: by first parent, without a graph, and after a rewrite."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from knickpoint.model.commit import Commit
from knickpoint.model.errors import HistoryError

# Put the commits of a branch into a line, by first parent.


Node = TypeVar("Node", bound=Hashable)


def extend_line(
    known: Sequence[Node], read: Sequence[Node], before: Node | None, *, shallow: bool = False, where: str = ""
) -> tuple[Node, ...]:
    """Return the line after its first-parent commits were read, oldest first, as ``read``.

    ``known`` is the line as it was, ``before`` the first parent of the oldest commit that was read, None where it has
    none or it is unknown. Commits that were read only from where they leave the known line are joined to it. In a
    shallow clone, the part of the line before its oldest commit is kept.

    Raises:
        HistoryError: a shallow clone does not reach back to the known line.
    """
    # Usual: nothing new, or new commits that follow a known one.
    if not read:
        return tuple(known)
    positions = {commit: position for position, commit in enumerate(known)}
    if before is not None and before in positions:
        return (*known[: positions[before] + 1], *read)
    # All commits of the line were read.
    if not shallow or not known:
        return tuple(read)
    # A shallow clone: join at the first commit that is known.
    for index, commit in enumerate(read):
        if commit in positions:
            return (*known[: positions[commit]], *read[index:])
    raise HistoryError(
        "this shallow clone begins after the last commit that is known here",
        where=where,
        remedy="Run: git fetch --unshallow (in a CI, check out with the whole history).",
    )


def fork_of(base: Sequence[Node], chain: Sequence[Node]) -> tuple[int, tuple[Node, ...]]:
    """Split the first-parent ``chain`` of a branch, oldest first, where it left the line ``base``.

    Returns:
        The last position of ``base`` that is on the chain, -1 for none, and the commits of the branch alone.
    """
    positions = {commit: position for position, commit in enumerate(base)}
    for index in range(len(chain) - 1, -1, -1):
        if chain[index] in positions:
            return positions[chain[index]], tuple(chain[index + 1 :])
    return -1, tuple(chain)


# Order commits without a graph, by what files state about them.
#
# Each file that holds several commits gives pairs (before, after). :func:`merge_orders` sorts the graph of all pairs
# topologically (Kahn's algorithm with a heap, so that the smallest key comes first among the commits that are free).
# Pairs that contradict each other make a cycle; the commits of a cycle form a strongly connected component, which
# Tarjan's algorithm finds and the sort then treats as one commit.


OrderKey = tuple[int, float, str]


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


def order_key(commit: Commit) -> OrderKey:
    """Return the key that orders two commits which neither a graph nor a file relates.

    Commits that are numbers go by that number, and come before those that are not; others go by time, and those of
    equal times by hash, so that the order is always the same.
    """
    if commit.is_number:
        return (0, float(int(commit.hash)), commit.hash)
    return (1, commit.time.timestamp(), commit.hash)


def merge_orders(keys: Mapping[Node, _Ordered], pairs: Iterable[tuple[Node, Node]]) -> tuple[list[Node], list[Node]]:
    """Return the one order of nodes that keeps every pair (before, after), smaller keys first where the pairs allow it.

    The order depends only on the set of nodes and the set of pairs, not on the sequence in which they arrive. Where
    pairs contradict each other (a before b before a), the nodes of that cycle are ordered by key alone. O((nodes +
    pairs) log nodes).

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
    """Return the nodes in topological order, the smallest free key first.

    Nodes of a cycle and behind it are missing.
    """
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


# Match the commits that a rebase or a force-push replaced with those that replace them.
#
# A rewritten commit has another hash, but keeps its author, and usually its author date and subject. The commits that
# left a line are matched with those that joined it in rounds, from the most certain sign to the least; a commit that is
# matched takes no part in later rounds.


@dataclass(frozen=True, slots=True)
class Authorship:
    """What a rewritten commit keeps of the old one: its author, the author date and the subject.

    ``time`` is in seconds since 1970, None where it is unknown; it is git's author date, not the date of the commit.
    """

    author: str
    email: str
    subject: str
    time: int | None = None


def _exact(commit: Authorship) -> Hashable:
    """Return author, author date and subject: the commit was moved."""
    author = _author(commit)
    return (author, commit.time, commit.subject) if commit.time is not None and author and commit.subject else None


def _dated(commit: Authorship) -> Hashable:
    """Return author and author date: its message was edited."""
    return (_author(commit), commit.time) if commit.time is not None and _author(commit) else None


def _titled(commit: Authorship) -> Hashable:
    """Return author and subject: its author date was reset, or is unknown."""
    return (_author(commit), commit.subject) if _author(commit) and commit.subject else None


def _author(commit: Authorship) -> str:
    return commit.email or commit.author


_ROUNDS: Final[tuple[Callable[[Authorship], Hashable], ...]] = (_exact, _dated, _titled)
"""What two commits must have in common, from the most certain sign to the least; None takes no part."""


def match_rewritten(old: Sequence[Authorship], new: Sequence[Authorship]) -> dict[int, int]:
    """Match commits that left a line with those that joined it: index in ``old`` → index in ``new``. O(old + new).

    Where several commits have the same sign, they are matched in their order, and only if both sides have the same
    number of them. Otherwise they stay unmatched: nothing is guessed.
    """
    found: dict[int, int] = {}
    taken: set[int] = set()
    for key_of in _ROUNDS:
        before = _groups(old, key_of, found.keys())
        after = _groups(new, key_of, taken)
        for key, left in before.items():
            joined = after.get(key, [])
            if len(left) == len(joined):
                found.update(zip(left, joined, strict=True))
                taken.update(joined)
    return found


def _groups(
    commits: Sequence[Authorship], key_of: Callable[[Authorship], Hashable], taken: Collection[int]
) -> dict[Hashable, list[int]]:
    """Return key → the indices of the commits with that key, without those that are ``taken``."""
    groups: dict[Hashable, list[int]] = {}
    for index, commit in enumerate(commits):
        key = key_of(commit)
        if key is not None and index not in taken:
            groups.setdefault(key, []).append(index)
    return groups


def changed_order(before: Sequence[int], after: Sequence[int]) -> set[int]:
    """Return the slots that left a line, joined it, or changed places with each other."""
    # Usual: commits were appended.
    if tuple(after[: len(before)]) == tuple(before):
        return set(after[len(before) :])
    # Of the slots on both lines, those that stand at different places among themselves.
    old, new = set(before), set(after)
    stayed_before = [slot for slot in before if slot in new]
    stayed_after = [slot for slot in after if slot in old]
    moved = {slot for pair in zip(stayed_before, stayed_after, strict=True) if pair[0] != pair[1] for slot in pair}
    return (old ^ new) | moved
