"""The commits of a repository without git: results files say which exist, and in which order.

A file that has several commits states their order, as pairs (before, after). The store keeps every such pair. A line is
the one order of its commits that keeps all pairs and, where they leave it open, goes by time and then by hash (by
number where the commits are numbers). It is computed from the sets of commits and pairs alone, so that it does not
depend on the order in which files arrive. Pairs that contradict each other are set aside for the commits concerned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from knickpoint.history import OrderKey, merge_orders, order_key
from knickpoint.ingest.commit_sources.protocol import LITERAL_NAME, MOST_AHEAD, CommitSlots, write_line
from knickpoint.ingest.settings import CommitOrder
from knickpoint.ingest.sidecar import CompletedRun
from knickpoint.model.commit import (
    NO_TIME,
    Commit,
    Line,
    Repository,
    SlottedCommit,
    commit_name,
    full_hashes,
    is_hash,
    is_hash_or_number,
    is_number,
    is_placeholder,
)
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.report import Problem, Severity

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


_MOST_BRANCHES: Final = 500
"""Branches of one file: each has a line of its own, and the store is kept from other writers while they are made."""

_CONTRADICTION = Problem(
    "this file and earlier ones state different orders of the same commits; there, time decides",
    remedy="Name the git repository in knickpoint.toml to have its order.",
    severity=Severity.WARNING,
)

_SHUFFLED: Final = Problem(
    "the order of the commits in the file is not that of their times; the order of the file counts",
    remedy="Give each row the time of its commit in a column commit_time, or name the git repository in "
    "knickpoint.toml.",
    severity=Severity.WARNING,
)


@dataclass(frozen=True, slots=True)
class _MatchedHashes:
    """The hashes of a file: abbreviation → full hash, as file or store have it; and those that are ``stored``.

    ``notes`` say what became of abbreviations in the store.
    """

    full_names: Mapping[str, str]
    stored: Collection[str]
    notes: tuple[str, ...]


@dataclass
class ResultCommits:
    """A commit source that knows what results files state, for the repository called ``name``.

    ``branch`` is the name of its default line, "" to take that of the first results.
    """

    store: Store
    name: str
    branch: str = ""

    @cached_property
    def repository(self) -> Repository:
        """The repository, which is added to the store when it is first asked for."""
        return self.store.commits.add_repository(self.name)

    @property
    def checkout(self) -> None:
        """None: there is no work tree."""
        return

    @property
    def knows_branches(self) -> bool:
        """False: a branch is no more than a name that results state."""
        return False

    def sync(self, *, fetch: bool = False) -> None:
        """Do nothing: the store has all that results stated so far."""

    def notes(self) -> tuple[str, ...]:
        """Return nothing: without git, no history is rewritten."""
        return ()

    def resolve_name(self, name: str, *, references: bool) -> str:  # noqa: ARG002 - there are no branches and tags
        """Return the revision that ``name``, stated beside results, stands for.

        That is a hash, a number, a name that the repository has already, or what follows ``name:``.

        Raises:
            InputError: it is a placeholder, or may be a branch or a tag.
        """
        literal = name.removeprefix(LITERAL_NAME).strip()
        if literal != name and not is_placeholder(literal):
            return commit_name(literal)
        if is_hash_or_number(name):
            return name.lower()
        stored = self._stored()
        if stored is not None and not is_placeholder(name):
            found = self.store.commits.find(stored, name)
            if found is not None and found.commit.hash == name:
                return name
        raise InputError(
            f"{name!r} names no commit without a git repository that could look it up",
            where=f"commit {name!r}",
            remedy="Give the commit's hash or number, or name the git repository in knickpoint.toml"
            + ("." if is_placeholder(literal) else f"; write {LITERAL_NAME}{literal} if commits are called so here."),
        )

    def locate(self, revisions: Iterable[str]) -> frozenset[str]:
        """Return all ``revisions``: without git, a commit exists as soon as results name it."""
        return frozenset(revisions)

    def known_hashes(self, hashes: Iterable[str]) -> frozenset[str]:
        """Return those of ``hashes`` that the repository has from earlier results.

        Raises:
            HistoryError: one fits several commits.
        """
        stored = self._stored()
        if stored is None:
            return frozenset()
        found = self.store.commits.match(stored, [*hashes])
        return frozenset(found)

    def slots(self, runs: Sequence[CompletedRun], described: Sequence[Commit], order: CommitOrder) -> CommitSlots:
        """Add the commits of a file to the store and return their slots.

        Raises:
            HistoryError: neither the file nor an earlier one says where a commit belongs in the order of commits; or it
                has too many branches.
        """
        hashes = self._match([*(each.run.revision for each in runs), *(commit.hash for commit in described)])
        names = hashes.full_names
        described = _joined(described, names)
        by_hash = {commit.hash: commit for commit in described}
        branches: dict[str, list[CompletedRun]] = {}
        for completed in runs:
            name = names.get(completed.run.revision)
            full = replace(completed, run=replace(completed.run, revision=name)) if name else completed
            branches.setdefault(completed.run.branch, []).append(full)
        if len(branches) > _MOST_BRANCHES:
            raise HistoryError(
                f"the file has results of {len(branches):,} branches, more than {_MOST_BRANCHES:,}",
                remedy="Split it, or leave the branches out if they are none.",
            )
        # The branch that is usually the default one comes first: the first branch of a repository is its default line.
        branches = dict(sorted(branches.items(), key=lambda item: item[0] not in MAIN_BRANCHES))
        added = [
            self._add_branch(branch, members, by_hash, order, stored=hashes.stored)
            for branch, members in branches.items()
        ]
        slots = {revision: slot for branch in added for revision, slot in branch.slots.items()}
        warnings = [_CONTRADICTION] if any(branch.contradicts for branch in added) else []
        if order is CommitOrder.TIME and _is_shuffled(described):
            warnings.append(_SHUFFLED)
        warnings += self._on_another_line(branches)
        slots |= {short: slots[name] for short, name in names.items() if name in slots}
        return CommitSlots(slots, (*warnings, *self._to_come(slots.values())), hashes.notes)

    def _match(self, revisions: Iterable[str]) -> _MatchedHashes:
        """Find the commits of the hashes among ``revisions``, those of a file.

        A commit that the store has under an abbreviation gets its full hash, if the file has only one for it. A name
        that the store has as it is stays.

        Raises:
            HistoryError: an abbreviation fits several commits.
        """
        commits, repository = self.store.commits, self.repository
        hashes = [name for name in dict.fromkeys(revisions) if is_hash(name)]
        found = commits.match(repository, hashes)
        stored = set(found.values())
        full_names = full_hashes([name for name in hashes if name not in stored], {*hashes, *stored})
        # The commits that are stored under an abbreviation, each with what the file calls it.
        shorter: dict[str, set[str]] = {}
        for name, each in found.items():
            if name != each and name.startswith(each):
                shorter.setdefault(each, set()).add(full_names.get(name, name))
        for name, full in shorter.items():
            if len(full) == 1:
                full_names[name] = next(iter(full))
                commits.lengthen(repository, name, full_names[name])
                stored.add(full_names[name])
        return _MatchedHashes(full_names, stored, tuple(_notes_on_shorter(shorter)))

    def _on_another_line(self, branches: Collection[str]) -> Iterator[Problem]:
        """Warn about results of the main branch that stand on the line of another one, whose results came first."""
        name = next(iter(MAIN_BRANCHES.intersection(branches)), "")
        lines = self.store.commits.lines(self.repository)
        if name and not self.branch and lines and lines[0] not in {name, *MAIN_BRANCHES}:
            yield Problem(
                f"the default line is that of the branch {lines[0]!r}, whose results came first, so those of {name!r} are "
                "on it, too",
                remedy=f'Say which it is in knickpoint.toml: branch = "{name}" under [repositories.{self.repository.name}]; then import the'
                " results of both into a new store.",
                severity=Severity.WARNING,
            )

    def _to_come(self, slots: Collection[int]) -> Iterator[Problem]:
        """Warn about the latest of the commits whose time is yet to come: all others go before it until then."""
        commits = [each.commit for each in self.store.commits.get(self.repository, [*slots])]
        latest = max((commit for commit in commits if commit.has_time), key=lambda commit: commit.time, default=None)
        if latest is not None and latest.time > datetime.now(UTC) + MOST_AHEAD:
            yield Problem(
                f"commit {latest.hash[:12]} has a time in the future, {latest.time:%Y-%m-%d %H:%M}, and stays the newest of its line until"
                " then",
                remedy="Correct the clock, or the column of the time, and import the file again.",
                severity=Severity.WARNING,
            )

    def _stored(self) -> Repository | None:
        """Return the repository if the store has it; it is not added, as a file may still be refused."""
        return next((each for each in self.store.commits.repositories() if each.name == self.name), None)

    def _add_branch(
        self,
        branch: str,
        runs: Sequence[CompletedRun],
        described: Mapping[str, Commit],
        order: CommitOrder,
        *,
        stored: Collection[str],
    ) -> AddedCommits:
        """Add the commits of the runs of one branch; return revision → slot. ``stored`` are the known hashes."""
        # What is known of each commit: the file describes it, or an earlier file did, or the run gives its time.
        slots: dict[str, int] = {}
        commits: dict[str, Commit] = {}
        for completed in runs:
            revision = completed.run.revision
            is_new = is_hash(revision) and not is_number(revision) and revision not in stored
            known = None if is_new or revision in described else self._find(revision)
            if known is not None:
                slots[revision] = known.slot
                commit = _timed(known.commit, completed)
            else:
                commit = described.get(revision) or _bare_commit(completed)
            commits[commit.hash] = _earlier(commits.get(commit.hash, commit), commit)
        # New commits go to the end if that is asked for; else each needs a time or a number.
        lines = ResultLines(self.store, self.repository, self.branch)
        if order is CommitOrder.GIVEN:
            new = [commit for commit in commits.values() if self._find(commit.hash) is None]
            lines.add(new, ordered=True, at_end=True, branch=branch)
        else:
            self._refuse_unplaced(commits.values())
        # Commits that the file describes come in its order; the others have no order but their times.
        ordered = [commit for name, commit in described.items() if name in commits]
        rest = [commit for name, commit in commits.items() if name not in described]
        first = lines.add(ordered, ordered=order is CommitOrder.TIME, branch=branch)
        second = lines.add(rest, branch=branch)
        added = {**first.slots, **second.slots}
        named = (completed.run.revision for completed in runs)
        return AddedCommits(slots | {name: added[name] for name in named if name in added}, first.contradicts)

    def _refuse_unplaced(self, commits: Iterable[Commit]) -> None:
        """Raise ``HistoryError`` where a new commit has neither a time nor a number."""
        for commit in commits:
            if not (commit.has_time or commit.is_number) and self._find(commit.hash) is None:
                raise HistoryError(
                    f"the commit {commit.hash[:12]} has no time, neither of its own nor of a run, so its order is unknown",
                    remedy="Name the git repository in knickpoint.toml; or give the time, with --time or in a sidecar; "
                    "or import with --order given, oldest first.",
                )

    def _find(self, revision: str) -> SlottedCommit | None:
        """Return the commit of ``revision`` where it is known. Raises ``HistoryError`` where several fit."""
        return self.store.commits.find(self.repository, revision)


def _joined(commits: Sequence[Commit], names: Mapping[str, str]) -> Sequence[Commit]:
    """Return ``commits`` under their full hashes, each once."""
    if not names:
        return commits
    joined: dict[str, Commit] = {}
    for commit in commits:
        named = replace(commit, hash=names.get(commit.hash, commit.hash))
        joined[named.hash] = _earlier(joined.get(named.hash, named), named)
    return [*joined.values()]


def _notes_on_shorter(shorter: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield which abbreviated commits of the store have full hashes now, and which fit several commits."""
    named = [f"{name} is {next(iter(full))[:16]} now" for name, full in shorter.items() if len(full) == 1]
    if named:
        yield (
            f"{counted(len(named), 'abbreviated commit')} got the full hash: "
            f"{', '.join(named[:3])}{', …' if named[3:] else ''}"
        )
    for name, full in shorter.items():
        if len(full) > 1:
            yield f"the commit {name} of earlier results stays apart: {len(full)} commits of this file begin so"


def _is_shuffled(commits: Sequence[Commit]) -> bool:
    """Return True if the times of commits fall too often for an order of commits, in which a few are out of place."""
    times = [commit.time for commit in commits if commit.has_time]
    falls = sum(later < earlier for earlier, later in pairwise(times))
    return falls > 1 and falls > len(times) / 10


def _timed(commit: Commit, completed: CompletedRun) -> Commit:
    """Return a commit that no file described with the time of its earliest run."""
    if not commit.is_bare or completed.run.time is None:
        return commit
    return _earlier(commit, replace(commit, time=completed.run.time))


def _earlier(first: Commit, second: Commit) -> Commit:
    """Return that of two descriptions of a commit which has the earlier time; a known time counts before an unknown."""
    return min(first, second, key=lambda commit: (not commit.has_time, commit.time))


def _bare_commit(completed: CompletedRun) -> Commit:
    """Return a commit of which only the name is known; the time of the run takes the place of its own."""
    run = completed.run
    if not run.revision.isprintable() or len(run.revision) > 200:
        raise HistoryError(f"{run.revision[:40]!r} cannot be a commit", remedy="Name it by its hash or number.")
    return Commit(run.revision, "", "", run.time or NO_TIME, "")
