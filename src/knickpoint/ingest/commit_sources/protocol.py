"""What an import asks of the commits of a repository, and how a changed line of them is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from knickpoint.history import Authorship, Checkout, changed_order, match_rewritten
from knickpoint.ingest.settings import CommitOrder
from knickpoint.ingest.sidecar import CompletedRun
from knickpoint.model.commit import Commit, Line, Repository, SlottedCommit, is_hash_or_number
from knickpoint.model.plain_text import counted
from knickpoint.model.report import Problem

if TYPE_CHECKING:
    from knickpoint.store import Store


LITERAL_NAME: Final = "name:"
"""The prefix of a commit's name that is to be taken as it is, where no git repository can look it up."""

MOST_AHEAD: Final = timedelta(hours=15)
"""By how much a time may be ahead of the clock: that of the zone furthest ahead, read as UTC, and an hour of a wrong
clock.
"""


@dataclass(frozen=True, slots=True)
class CommitSlots:
    """The slots of the commits that a results file names.

    ``slots`` maps a revision to its slot; a revision that the source does not have is missing. ``warnings`` are about
    this file, ``notes`` about the import as a whole.
    """

    slots: Mapping[str, int]
    warnings: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


class CommitSource(Protocol):
    """Where the commits of one repository and their order come from."""

    @property
    def repository(self) -> Repository:
        """The repository in the store, which has it from now on."""

    @property
    def checkout(self) -> Checkout | None:
        """What is checked out in the work tree of the repository, None without one."""

    @property
    def knows_branches(self) -> bool:
        """Whether git says which commits a branch has."""

    def sync(self, *, fetch: bool = False) -> None:
        """Bring the lines of the store up to date; with ``fetch``, ask other machines first.

        Raises:
            HistoryError: the repository cannot be read.
        """

    def resolve_name(self, name: str, *, references: bool) -> str:
        """Return the revision that ``name``, stated beside results, stands for.

        With ``references``, the names of branches and tags count as well.

        Raises:
            InputError: it names no commit.
            HistoryError: a prefix or a number fits several commits.
        """

    def locate(self, revisions: Iterable[str]) -> frozenset[str]:
        """Return those of ``revisions`` at which results can be stored now.

        Raises:
            HistoryError: a prefix or a number fits several commits.
        """

    def known_hashes(self, hashes: Iterable[str]) -> frozenset[str]:
        """Return those of ``hashes``, which may be shortened, that are of commits of the repository.

        Raises:
            HistoryError: one fits several commits.
        """

    def slots(self, runs: Sequence[CompletedRun], described: Sequence[Commit], order: CommitOrder) -> CommitSlots:
        """Return the slots of the commits of ``runs``, and make sure that the commits are on a line.

        Args:
            runs: the runs of one file.
            described: the commits that the file itself describes, oldest first as far as it gives their order.
            order: what orders new commits where git does not.

        Raises:
            HistoryError: the place of a commit is unknown, or a prefix or a number fits several commits.
        """

    def notes(self) -> tuple[str, ...]:
        """Return, once, which lines a rebase or a force-push changed."""


def is_fixed_name(name: str) -> bool:
    """Return True if ``name`` is empty or means the same commit at any time; other names have to be resolved first."""
    return not name or is_hash_or_number(name)


AuthorTimes = Callable[[Sequence[str]], dict[str, int]]
"""Return hash → author date, in seconds since 1970, for those commits of which it is known."""


def write_line(
    store: Store,
    repository: Repository,
    line: Line,
    slots: Sequence[int],
    *,
    base: str = "",
    merge_base: int = -1,
    author_times: AuthorTimes | None = None,
) -> str:
    """Set the order of ``line`` to ``slots``, all in one transaction.

    Where commits left the line and others came (a rebase, an inserted commit, a force-push), those that are the same
    are matched, and findings and the history boundary move along. Traces with results at commits that left, came or
    changed places are announced at once.

    Args:
        store: where the line is kept.
        repository: whose line it is.
        line: the line before, empty where it is new.
        slots: its commits now, oldest first.
        base: the line that it leaves, "" for none.
        merge_base: the last position that it shares with ``base``.
        author_times: returns author dates; None where commits are never rewritten.

    Returns:
        A text for people where history was rewritten, "" otherwise.
    """
    note = ""
    with store.transaction():
        store.commits.set_line(repository, line.name, slots, base=base, merge_base=merge_base)
        # What left the line, and what joined it, each in the order of the line.
        changed = changed_order(line.slots, slots)
        gone, new = changed.difference(slots), changed.difference(line.slots)
        left, joined = [slot for slot in line.slots if slot in gone], [slot for slot in slots if slot in new]
        # Commits that left under one hash and came back under another.
        successors: dict[int, int] = {}
        if left and joined and author_times is not None:
            successors = _successors(store, repository, left, joined, author_times)
            store.rewrites.record(repository, line.name, successors, joined=joined)
            note = (
                f"history of {repository.name}, branch {line.name}, was rewritten:"
                f" {counted(len(left), 'commit')} left it,"
                + (
                    f" {len(successors):,} of them recognised under new hashes; findings there moved along"
                    if successors
                    else " none of them recognised under a new hash; their results no longer count there"
                )
            )
        # The history boundary follows its commits, and alerts run again over what changed place.
        if left:
            store.boundaries.follow(repository, line, slots, successors)
        if changed:
            store.boundaries.mark(repository)
            store.rewrites.announce(repository, changed)
    return note


def _successors(
    store: Store, repository: Repository, left: Sequence[int], joined: Sequence[int], author_times: AuthorTimes
) -> dict[int, int]:
    """Return slot → slot for the commits that ``left`` a line and ``joined`` it again with another hash."""
    commits = store.commits.get(repository, [*left, *joined])
    times = author_times([slotted.commit.hash for slotted in commits])
    old, new = commits[: len(left)], commits[len(left) :]
    pairs = match_rewritten(
        [_authorship(slotted, times) for slotted in old], [_authorship(slotted, times) for slotted in new]
    )
    return {old[before].slot: new[after].slot for before, after in pairs.items()}


def _authorship(slotted: SlottedCommit, times: dict[str, int]) -> Authorship:
    commit = slotted.commit
    return Authorship(commit.author, commit.email, commit.subject, times.get(commit.hash))
