"""Match the commits that a rebase or a force-push replaced with those that replace them.

A rewritten commit has another hash, but keeps its author, and usually its author date and subject. The commits that left a
line are matched with those that joined it in rounds, from the most certain sign to the least; a commit that is matched
takes no part in later rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Authorship", "changed_order", "match_rewritten"]


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

    Where several commits have the same sign, they are matched in their order, and only if both sides have the same number
    of them. Otherwise they stay unmatched: nothing is guessed.
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
