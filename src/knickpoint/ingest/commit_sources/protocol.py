"""What an import asks of the commits of a repository, whether git or the results themselves provide them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from knickpoint.history import Checkout
from knickpoint.ingest.context.file_context import CompletedRun
from knickpoint.ingest.settings import CommitOrder
from knickpoint.model.commit import Commit, Repository
from knickpoint.model.report import Problem
from knickpoint.model.revision import is_hash_or_number

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
