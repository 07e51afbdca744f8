"""Put the commits of a branch into a line, by first parent."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

from knickpoint.model.errors import HistoryError

__all__ = ["extend_line", "fork_of"]

Node = TypeVar("Node", bound=Hashable)


def extend_line(
    known: Sequence[Node], read: Sequence[Node], before: Node | None, *, shallow: bool = False, where: str = ""
) -> tuple[Node, ...]:
    """Return the line after its first-parent commits were read, oldest first, as ``read``.

    ``known`` is the line as it was, ``before`` the first parent of the oldest commit that was read, None where it has
    none or it is unknown. Commits that were read only from where they leave the known line are joined to it. In a shallow
    clone, the part of the line before its oldest commit is kept.

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
