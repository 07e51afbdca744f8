"""Keep the commits of a repository that nobody gave us, as results files tell them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from knickpoint.history import OrderKey, merge_orders, order_key
from knickpoint.ingest.commit_sources.line_update import write_line
from knickpoint.model.commit import Commit, Line, Repository, SlottedCommit

if TYPE_CHECKING:
    from knickpoint.store import Store

__all__ = ["ResultCommits"]

_DEFAULT: Final = "main"
_UNTIMED: Final = (1, 0.0)
"""How the key begins of a commit without a time, which leaves open where its branch begins."""
_USUAL: Final = frozenset({"", "HEAD", "main", "master", "trunk"})


@dataclass
class ResultCommits:
    """The commits of a repository without git, in an order that does not depend on the order of arrival.

    A file that tells several commits tells their order; every such fact is kept. The line is the one order
    that keeps all facts, and where they leave it open, goes by time and then by hash (by number where the
    commits are numbers). Facts that contradict each other are set aside for the commits concerned.
    """

    store: Store
    repository: Repository
    branch: str = ""

    @classmethod
    def open(cls, store: Store, name: str, branch: str = "") -> ResultCommits:
        """Open the repository ``name``; ``branch`` is what its default line is called, "" to see."""
        return cls(store, store.commits.add_repository(name), branch)

    def find(self, revision: str) -> SlottedCommit | None:
        """Return the commit of ``revision`` where it is known. Raises ``HistoryError`` where several fit."""
        return self.store.commits.find(self.repository, revision)

    def learn(
        self, commits: Sequence[Commit], *, ordered: bool = False, at_end: bool = False, branch: str = ""
    ) -> tuple[dict[str, int], bool]:
        """Take ``commits`` in and put them onto the line of ``branch``; ``ordered`` ones come oldest first.

        Those that come ``at_end`` are new, and stand behind the last commit of the line whatever their times.

        Returns:
            Hash → slot, and whether what this file tells contradicts what others told about the order.
        """
        if not commits:
            return {}, False
        latest = self.store.commits.latest(self.repository)
        moved = self.store.commits.retimed(self.repository, commits)
        slots = self.store.commits.add(self.repository, commits)
        default = self._default(branch)
        order = list(dict.fromkeys([*(self._end(branch, default) if at_end else ()), *slots.values()]))
        pairs = list(pairwise(order)) if ordered else []
        new_pairs = self.store.commits.add_order(self.repository, pairs)
        if branch in _USUAL or branch == default:
            return slots, self._extend_default(default, commits, slots, new_pairs, latest, moved=moved)
        if moved:
            self._sort_default(default, ())
        return slots, self._extend_branch(branch, default, order)

    def _end(self, branch: str, default: str) -> tuple[int, ...]:
        """Return the last slot of the line of ``branch``, else of the default line; () where both are empty."""
        line = () if branch in _USUAL else self._line(branch).slots
        return (line or self._line(default).slots)[-1:]

    def _default(self, branch: str) -> str:
        if self.branch:
            return self.branch
        lines = self.store.commits.lines(self.repository)
        if lines:
            return lines[0]
        return _DEFAULT if branch in _USUAL else branch

    def _extend_default(
        self,
        name: str,
        commits: Sequence[Commit],
        slots: dict[str, int],
        new_pairs: Sequence[tuple[int, int]],
        latest: SlottedCommit | None,
        *,
        moved: bool,
    ) -> bool:
        known = self.store.commits.on_line(self.repository, name, list(slots.values()))
        new = {slots[commit.hash]: order_key(commit) for commit in commits if slots[commit.hash] not in known}
        if not (new or new_pairs or moved):
            return False
        if not moved and _all_later(new.values(), latest) and all(after in new for _, after in new_pairs):
            order, knot = merge_orders(new, [pair for pair in new_pairs if pair[0] in new])
            self.store.commits.append_line(self.repository, name, order)
            self.store.rewrites.announce(self.repository, order)
            return bool(knot)
        return self._sort_default(name, new)

    def _sort_default(self, name: str, new: Iterable[int]) -> bool:
        """Put ``new`` slots onto the default line at their places, and branches that left it before to theirs."""
        names = self._names()
        known = self._line(name)
        line = known.slots
        order, knot = self._ordered({*line, *new})
        if tuple(order) == line:
            return bool(knot)
        write_line(self.store, self.repository, known, order)
        first = next(
            (place for place, pair in enumerate(zip(order, line, strict=False)) if pair[0] != pair[1]), len(line)
        )
        for other in names:
            if other != name and first <= self.store.commits.line(self.repository, other).merge_base + 1:
                self._extend_branch(other, name, ())
        return bool(knot)

    def _extend_branch(self, name: str, default: str, slots: Iterable[int]) -> bool:
        base, old = self._line(default).slots, self._line(name)
        before = set(old.slots[old.merge_base + 1 :])
        own = (before | set(slots)) - set(base)
        order, knot = self._ordered(own)
        keys = self._keys({*own, *base})
        timed = [keys[slot] for slot in own if keys[slot][:2] != _UNTIMED]
        first = min(timed, default=None)
        fork = max((place for place, slot in enumerate(base) if first is None or keys[slot] < first), default=-1)
        slots = (*base[: fork + 1], *order)
        write_line(self.store, self.repository, old, slots, base=default if default != name else "", merge_base=fork)
        return bool(knot)

    def _names(self) -> tuple[str, ...]:
        return self.store.commits.lines(self.repository)

    def _line(self, name: str) -> Line:
        known = name in self._names()
        return self.store.commits.line(self.repository, name) if known else Line(self.repository, name, ())

    def _keys(self, slots: Iterable[int]) -> dict[int, OrderKey]:
        return {one.slot: order_key(one.commit) for one in self.store.commits.get(self.repository, sorted(slots))}

    def _ordered(self, slots: set[int]) -> tuple[list[int], list[int]]:
        pairs = [pair for pair in self.store.commits.order(self.repository) if slots.issuperset(pair)]
        return merge_orders(self._keys(slots), pairs)


def _all_later(keys: Iterable[OrderKey], latest: SlottedCommit | None) -> bool:
    """Tell whether commits of ``keys`` come after all others; numbers, which time does not order, are not judged."""
    if latest is None:
        return True
    last = order_key(latest.commit)
    first = min(keys, default=None)
    return first is not None and last[0] == 1 and first > last
