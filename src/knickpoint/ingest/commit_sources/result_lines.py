"""Order the commits of a repository without git by what results files state about them.

A file that has several commits states their order, as pairs (before, after). The store keeps every such pair. A line is
the one order of its commits that keeps all pairs and, where they leave it open, goes by time and then by hash (by
number where the commits are numbers). It is computed from the sets of commits and pairs alone, so that it does not
depend on the order in which files arrive. Pairs that contradict each other are set aside for the commits concerned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from knickpoint.history import OrderKey, merge_orders, order_key
from knickpoint.ingest.commit_sources.line_update import write_line
from knickpoint.model.commit import Commit, Line, Repository

if TYPE_CHECKING:
    from knickpoint.store import RecordedCommits, Store

_DEFAULT: Final = "main"
_NUMBERED: Final = 0
"""How the key of a commit begins whose name is a number; such commits come before all others."""
_UNTIMED: Final = (1, 0.0)
"""How the key of a commit without a time begins; such a commit does not say where its branch begins."""
MAIN_BRANCHES: Final = frozenset({"main", "master", "trunk"})
"""Names that default branches usually have."""
USUAL_BRANCHES: Final = frozenset({"", "HEAD", *MAIN_BRANCHES})
"""Names of branches whose commits belong to the default line."""


@dataclass(frozen=True, slots=True)
class AddedCommits:
    """The slots of added commits by hash, and whether their order ``contradicts`` what other files state."""

    slots: Mapping[str, int] = field(default_factory=dict)
    contradicts: bool = False


@dataclass(frozen=True, slots=True)
class ResultLines:
    """The lines of one repository without git; ``branch`` is the name of its default line, "" to find it."""

    store: Store
    repository: Repository
    branch: str = ""

    def add(
        self, commits: Sequence[Commit], *, ordered: bool = False, at_end: bool = False, branch: str = ""
    ) -> AddedCommits:
        """Add ``commits`` to the store and to the line of ``branch``.

        Commits that are ``ordered`` come oldest first. Those that come ``at_end`` are new, and follow the last commit
        of the line whatever their times are.
        """
        if not commits:
            return AddedCommits()
        recorded = self.store.commits.record(self.repository, commits)
        slots, retimed = recorded.slots, recorded.retimed
        # The pairs that this file states; the store returns those that are new.
        default = self._default(branch)
        order = list(dict.fromkeys([*(self._end(branch, default) if at_end else ()), *slots.values()]))
        pairs = list(pairwise(order)) if ordered else []
        new_pairs = self.store.commits.add_order(self.repository, pairs)
        # The line: the default one, or that of a branch, which a changed time on the default line can move too.
        if branch in USUAL_BRANCHES or branch == default:
            contradicts = self._extend_default(default, commits, recorded, new_pairs)
            return AddedCommits(slots, contradicts)
        if retimed:
            self._sort_default(default, ())
        return AddedCommits(slots, self._extend_branch(branch, default, order))

    def _end(self, branch: str, default: str) -> tuple[int, ...]:
        """Return the last slot of the line of ``branch``, else of the default line; () where both are empty."""
        line = () if branch in USUAL_BRANCHES else self._line(branch).slots
        return (line or self._line(default).slots)[-1:]

    def _default(self, branch: str) -> str:
        """Return the name of the default line: configured, or else stored, or else that of the first ``branch``."""
        if self.branch:
            return self.branch
        lines = self._names()
        if lines:
            return lines[0]
        return _DEFAULT if branch in USUAL_BRANCHES else branch

    def _extend_default(
        self,
        name: str,
        commits: Sequence[Commit],
        recorded: RecordedCommits,
        new_pairs: Sequence[tuple[int, int]],
    ) -> bool:
        """Put ``commits`` onto the default line; return whether pairs contradict each other."""
        slots = recorded.slots
        earlier = [slot for slot in slots.values() if slot not in recorded.new]
        known = self.store.commits.on_line(self.repository, name, earlier) if earlier else set()
        new = {slots[commit.hash]: order_key(commit) for commit in commits if slots[commit.hash] not in known}
        if not (new or new_pairs or recorded.retimed):
            return False
        # Usually all come after what is there: they are appended, and the line is not sorted again.
        if (
            not recorded.retimed
            and all(after in new for _, after in new_pairs)
            and self._follow(name, new.values(), min(recorded.new, default=None))
        ):
            order, knot = merge_orders(new, [pair for pair in new_pairs if pair[0] in new])
            self.store.commits.append_line(self.repository, name, order)
            self.store.rewrites.announce(self.repository, order)
            return bool(knot)
        return self._sort_default(name, new)

    def _follow(self, name: str, keys: Collection[OrderKey], below: int | None) -> bool:
        """Return True if commits with ``keys`` come after all others; those from the slot ``below`` on are new.

        The newest commit by time is found by an index. Of numbers the greatest one is not, but it ends the line, as
        long as no file states an order.
        """
        first = min(keys, default=None)
        if first is None:
            return False
        if first[0] == _NUMBERED:
            ordered = self.store.commits.has_order(self.repository)
            last = None if ordered else self.store.commits.line_end(self.repository, name)
            return last is not None and order_key(last.commit) < first
        latest = self.store.commits.latest(self.repository, below)
        return latest is None or (order_key(latest.commit)[0] > _NUMBERED and order_key(latest.commit) < first)

    def _sort_default(self, name: str, new: Iterable[int]) -> bool:
        """Sort the default line with ``new`` slots, then the branches that this moves.

        Return as :meth:`_extend_default`.
        """
        names = self._names()
        line = self._line(name)
        order, knot = self._ordered({*line.slots, *new})
        if tuple(order) == line.slots:
            return bool(knot)
        write_line(self.store, self.repository, line, order)
        # A branch that left the line behind the first commit that moved shares other commits with it now.
        first = next(
            (place for place, pair in enumerate(zip(order, line.slots, strict=False)) if pair[0] != pair[1]),
            len(line.slots),
        )
        for other in names:
            if other != name and first <= self.store.commits.line(self.repository, other).merge_base + 1:
                self._extend_branch(other, name, ())
        return bool(knot)

    def _extend_branch(self, name: str, default: str, slots: Iterable[int]) -> bool:
        """Put ``slots`` onto the line of a branch; return whether pairs contradict each other.

        The branch leaves the default line at its last commit that is older than each commit of the branch that has a
        time.
        """
        base, old = self._line(default).slots, self._line(name)
        # The branch's commits are those behind its fork that are not on the default line by now.
        members = ({*old.slots[old.merge_base + 1 :]} | set(slots)) - set(base)
        order, knot = self._ordered(members)
        # The fork: without a timed commit, the branch leaves at the end of the default line.
        keys = self._keys({*members, *base})
        timed = [keys[slot] for slot in members if keys[slot][:2] != _UNTIMED]
        first = min(timed, default=None)
        fork = max((place for place, slot in enumerate(base) if first is None or keys[slot] < first), default=-1)
        line = (*base[: fork + 1], *order)
        write_line(self.store, self.repository, old, line, base=default if default != name else "", merge_base=fork)
        return bool(knot)

    def _names(self) -> tuple[str, ...]:
        return self.store.commits.lines(self.repository)

    def _line(self, name: str) -> Line:
        known = name in self._names()
        return self.store.commits.line(self.repository, name) if known else Line(self.repository, name, ())

    def _keys(self, slots: Iterable[int]) -> dict[int, OrderKey]:
        commits = self.store.commits.get(self.repository, sorted(slots))
        return {slotted.slot: order_key(slotted.commit) for slotted in commits}

    def _ordered(self, slots: set[int]) -> tuple[list[int], list[int]]:
        """Return ``slots`` in the order of all pairs among them, and those whose pairs contradict each other."""
        pairs = [pair for pair in self.store.commits.order(self.repository) if slots.issuperset(pair)]
        return merge_orders(self._keys(slots), pairs)
