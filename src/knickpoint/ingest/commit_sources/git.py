"""The commits of a git repository: git says which exist and in which order, and the store keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.history import Checkout, Git, find_commit, is_head, is_url, read_checkout
from knickpoint.ingest.commit_sources.git_lines import GitLines
from knickpoint.ingest.commit_sources.git_repository import open_git
from knickpoint.ingest.commit_sources.protocol import LITERAL_NAME, CommitSlots
from knickpoint.ingest.context.file_context import CompletedRun
from knickpoint.ingest.settings import CommitOrder, RepositorySettings
from knickpoint.model.commit import Commit, Repository, SlottedCommit
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.plain_text import counted, without_secrets
from knickpoint.model.report import Problem, Severity
from knickpoint.model.revision import is_hash_or_number, is_placeholder

if TYPE_CHECKING:
    from knickpoint.store import Store

_FEW_NAMES: Final = 3
_FEW: Final = 8
"""Up to so many commits are looked up in the store first; for more, git answers faster in one call."""


@dataclass
class GitCommits:
    """A commit source that asks git; its lines follow first parents.

    Use :meth:`open`. Nothing is up to date before :meth:`sync`.
    """

    store: Store
    repository: Repository
    git: Git
    settings: RepositorySettings
    lines: GitLines
    _fetched: bool = False
    _fetch_failure: str = ""

    @classmethod
    def open(cls, store: Store, name: str, settings: RepositorySettings, directory: Path) -> GitCommits:
        """Open the repository ``name``; a URL is cloned below ``directory`` first.

        Raises:
            HistoryError: git is missing, or there is no repository at its location.
            ConfigError: the pattern of commit numbers cannot be used.
        """
        git = open_git(name, settings, directory)
        repository = store.commits.add_repository(name, without_secrets(settings.location))
        return cls(store, repository, git, settings, GitLines(store, repository, git, settings))

    @cached_property
    def checkout(self) -> Checkout | None:
        """What is checked out; None for a URL, a bare repository, and before the first commit."""
        return None if is_url(self.settings.location) else read_checkout(self.git)

    @property
    def knows_branches(self) -> bool:
        """True: git says which commits a branch has."""
        return True

    def sync(self, *, fetch: bool = False) -> None:
        """Bring the lines up to date with git; with ``fetch``, a URL is fetched first, once.

        Raises:
            HistoryError: the repository cannot be read, or its default branch is not there.
        """
        if fetch and not self._fetched and is_url(self.settings.location):
            self._fetched = True
            self.git.fetch()
        self.git = self.git.afresh()  # forgets what it read before
        self.lines.update(self.git)

    def resolve_name(self, name: str, *, references: bool) -> str:
        """Return the revision that ``name``, stated beside results, stands for.

        Hashes and numbers that the repository does not have yet are returned as they are. With ``references``, names of
        branches and tags are looked up as well.

        Raises:
            InputError: it names no commit.
            HistoryError: a prefix or a number fits several commits.
        """
        where = f"commit {name!r}"
        if name.startswith(LITERAL_NAME):
            raise InputError(
                f"{name!r} is not a commit of a git repository", where=where, remedy="Name the commit by its hash."
            )
        likely = is_hash_or_number(name)
        if likely and self.locate([name]):
            return name
        found = self._look_up(name) if references and not (is_placeholder(name) and not is_head(name)) else ""
        if found or likely:
            return found or name
        if not references:
            raise InputError(
                f"{name!r} is not a hash, and what a branch or a tag stands for may have changed since the results were "
                "made",
                where=where,
                remedy="Name the commit by its hash.",
            )
        if is_head(name) and self.checkout is None:
            raise InputError(
                f"nothing is checked out in the repository {self.repository.name}, so it has no {name}",
                where=where,
                remedy="Name the commit by its hash, or its branch.",
            )
        raise InputError(
            f"the repository {self.repository.name} has no commit, branch or tag {name!r}",
            where=where,
            remedy="Correct it, or name the commit by its hash.",
        )

    def locate(self, revisions: Iterable[str]) -> frozenset[str]:
        """Return those of ``revisions`` that the repository has.

        Raises:
            HistoryError: a prefix or a number fits several commits.
        """
        return frozenset(self._find(revisions))

    def known_hashes(self, hashes: Iterable[str]) -> frozenset[str]:
        """Return those of ``hashes``, which may be shortened, that are of commits of the repository; numbers are none.

        Raises:
            HistoryError: one fits several commits.
        """
        return frozenset(name for name, found in self._find(hashes).items() if found.commit.hash.startswith(name))

    def slots(self, runs: Sequence[CompletedRun], described: Sequence[Commit], order: CommitOrder) -> CommitSlots:  # noqa: ARG002 - git describes its commits itself
        """Return the slots of the commits that git has, with a warning for each that is on no line.

        Raises:
            HistoryError: a prefix or a number fits several commits.
        """
        commits = self._find(completed.run.revision for completed in runs)
        texts = dict.fromkeys([self._fetch_failure] if self._fetch_failure else [])
        placed: set[tuple[int, str]] = set()
        for completed in runs:
            commit, branch = commits.get(completed.run.revision), completed.run.branch
            if commit is None or (commit.slot, branch) in placed:
                continue
            placed.add((commit.slot, branch))
            text = self.lines.place(commit, branch)
            if text:
                texts[text] = None
        notes = []
        if order is CommitOrder.GIVEN:
            notes.append(f"git orders the commits of {self.repository.name}: --order given changes nothing there")
        if any(completed.run.revision not in commits for completed in runs) and self.git.shallow:
            notes.append(
                f"the clone of {self.repository.name} is shallow and lacks older commits: git fetch --unshallow brings "
                "them (in a CI, check out the whole history)"
            )
        return CommitSlots(
            {revision: commit.slot for revision, commit in commits.items()},
            tuple(Problem(text, severity=Severity.WARNING) for text in texts),
            tuple(notes),
        )

    def notes(self) -> tuple[str, ...]:
        """Report once which lines a rebase or force-push changed, and which show commits beside the default line."""
        notes = [*self.lines.rewritten]
        if self.lines.beside:
            names = sorted(self.lines.beside)
            further = f" and {len(names) - _FEW_NAMES:,} more" if len(names) > _FEW_NAMES else ""
            commits = counted(sum(map(len, self.lines.beside.values())), "commit")
            notes.append(
                f"{commits} off the line of {self.lines.branch}: the points show on the line of"
                f" {', '.join(names[:_FEW_NAMES])}{further} (--line)"
            )
        self.lines.rewritten.clear()
        self.lines.beside.clear()
        return tuple(notes)

    def _look_up(self, name: str) -> str:
        """Return the hash of the commit that a branch, a tag or ``HEAD~3`` stands for, "" where there is none.

        A URL is fetched first, as branches move. HEAD is only what a work tree has checked out.
        """
        if is_head(name) and self.checkout is None:
            return ""
        self._refresh()
        return find_commit(self.git, name)

    def _find(self, revisions: Iterable[str]) -> dict[str, SlottedCommit]:
        """Return revision → commit for those of ``revisions`` that the repository has.

        A URL is fetched again, once, where a revision is unknown.
        """
        wanted = list(dict.fromkeys(revisions))
        found = self._in_store(wanted) if len(wanted) <= _FEW else {}
        missing = [revision for revision in wanted if revision not in found]
        found |= self._in_git(missing)
        missing = [revision for revision in missing if revision not in found]
        if missing and self._refresh():
            found |= self._in_git(missing)
            missing = [revision for revision in missing if revision not in found]
        return found | (self._in_store(missing) if len(wanted) > _FEW else {})

    def _refresh(self) -> bool:
        """Fetch a URL, once; return whether there may be new commits.

        Later warnings say so where it does not answer.
        """
        if self._fetched or not is_url(self.settings.location):
            return False
        self._fetched = True
        try:
            self.git.fetch()
        except HistoryError as error:
            self._fetch_failure = f"its repository cannot be fetched: {error.message}"
            return False
        self.sync()
        return True

    def _in_store(self, revisions: Sequence[str]) -> dict[str, SlottedCommit]:
        found = {revision: self.store.commits.find(self.repository, revision) for revision in revisions}
        return {revision: commit for revision, commit in found.items() if commit is not None}

    def _in_git(self, revisions: Sequence[str]) -> dict[str, SlottedCommit]:
        hashes = self.git.resolve(revisions)
        commits = self.git.commits(hashes.values())
        slots = self.store.commits.add(self.repository, commits.values()) if commits else {}
        return {
            revision: SlottedCommit(slots[name], commits[name]) for revision, name in hashes.items() if name in commits
        }
