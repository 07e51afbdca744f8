"""Recognise commits that were rewritten: after a rebase or a force-push, which new commit is which old one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass

__all__ = ["Authorship", "changed_order", "match_rewritten"]


@dataclass(frozen=True, slots=True)
class Authorship:
    """What a rewritten commit keeps of the old one: who wrote it, when (seconds since 1970), and what it says.

    ``time`` is None where nobody knows it any more: it is git's author date, not the date of the commit.
    """

    author: str
    email: str
    subject: str
    time: int | None = None


def _exact(one: Authorship) -> Hashable:
    return (_who(one), one.time, one.subject) if one.time is not None and _who(one) and one.subject else None


def _dated(one: Authorship) -> Hashable:
    return (_who(one), one.time) if one.time is not None and _who(one) else None


def _titled(one: Authorship) -> Hashable:
    return (_who(one), one.subject) if _who(one) and one.subject else None


def _who(one: Authorship) -> str:
    return one.email or one.author


_ROUNDS: tuple[Callable[[Authorship], Hashable], ...] = (_exact, _dated, _titled)


def match_rewritten(old: Sequence[Authorship], new: Sequence[Authorship]) -> dict[int, int]:
    """Match commits that left a line with those that came onto it: index in ``old`` → index in ``new``.

    Commits of one author, author date and subject are the same; of what is left, those of one author and author
    date (another message), then those of one author and subject (another date, or one that nobody knows). Where
    several are alike, they are matched in their order, and only if there are as many on both sides; nothing is
    guessed otherwise. O(old + new).
    """
    found: dict[int, int] = {}
    taken: set[int] = set()
    for key_of in _ROUNDS:
        before = _groups(old, key_of, found.keys())
        after = _groups(new, key_of, taken)
        for key, ones in before.items():
            others = after.get(key, [])
            if len(ones) == len(others):
                found.update(zip(ones, others, strict=True))
                taken.update(others)
    return found


def _groups(
    commits: Sequence[Authorship], key_of: Callable[[Authorship], Hashable], taken: Collection[int]
) -> dict[Hashable, list[int]]:
    groups: dict[Hashable, list[int]] = {}
    for index, commit in enumerate(commits):
        key = key_of(commit)
        if key is not None and index not in taken:
            groups.setdefault(key, []).append(index)
    return groups


def changed_order(before: Sequence[int], after: Sequence[int]) -> set[int]:
    """Return the slots that left a line, came onto it, or stand in another order to each other than before."""
    if tuple(after[: len(before)]) == tuple(before):
        return set(after[len(before) :])
    old, new = set(before), set(after)
    stayed_before = [slot for slot in before if slot in new]
    stayed_after = [slot for slot in after if slot in old]
    moved = {slot for pair in zip(stayed_before, stayed_after, strict=True) if pair[0] != pair[1] for slot in pair}
    return (old ^ new) | moved
