"""Keep the commits and lines of a git repository in the store as git has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from knickpoint.history import (
    Checkout,
    Git,
    NumberPattern,
    extend_line,
    find_commit,
    fork_of,
    is_head,
    is_url,
    read_checkout,
)
from knickpoint.ingest.commit_sources.line_update import write_line
from knickpoint.ingest.settings import RepositorySettings
from knickpoint.model.commit import Commit, Line, Repository, SlottedCommit
from knickpoint.model.errors import HistoryError

if TYPE_CHECKING:
    from knickpoint.store import Store

__all__ = ["GitCommits", "commits_after", "open_git"]

_FEW: int = 8


def open_git(name: str, settings: RepositorySettings, directory: Path) -> Git:
    """Open the git repository of ``settings``, a path relative to ``directory`` or a URL, and write nothing to a store.

    A URL is cloned below ``directory`` first, where that was not done before.

    Raises:
        HistoryError: git is missing, or there is no repository at its location.
        ConfigError: the pattern of commit numbers cannot be used.
    """
    numbers = NumberPattern.of(settings.number) if settings.number else None
    if is_url(settings.location):
        place = directory / "repositories" / f"{name.replace('/', '%2F')}.git"
        return Git.clone(settings.location, place, numbers=numbers, web=settings.web)
    return Git.at(directory / Path(settings.location).expanduser(), numbers=numbers, web=settings.web)


def commits_after(name: str, settings: RepositorySettings, directory: Path, last: str) -> list[Commit]:
    """Return the commits of the default branch that follow ``last`` in a git repository on this machine, oldest first.

    Nothing is fetched or written. A clone of a URL is left out: the worker fetches it and reads it in the same step.

    Raises:
        HistoryError: the repository cannot be read, or does not have ``last``.
    """
    if not settings.location or is_url(settings.location):
        return []
    git = open_git(name, settings, directory)
    tip = git.branches().get(settings.branch or git.default_branch())
    return git.first_parents(tip, without=[last]) if tip and tip != last else []


@dataclass
class GitCommits:
    """The commits of one git repository: what git has, and what the store knows of it.

    Lines follow first parents. A late, inserted or rebased commit rewrites a line, never a slot. ``notes`` say why
    it may not be up to date, ``rewritten`` which lines a rebase or a force-push changed.
    """

    store: Store
    repository: Repository
    git: Git
    settings: RepositorySettings
    branch: str = ""
    notes: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)
    _fetched: bool = False
    _lines: dict[str, frozenset[int]] = field(default_factory=dict)

    @classmethod
    def open(cls, store: Store, name: str, settings: RepositorySettings, directory: Path) -> GitCommits:
        """Open the repository ``name``; a URL is cloned below ``directory`` first.

        Raises:
            HistoryError: git is missing, or there is no repository at its location.
            ConfigError: the pattern of commit numbers cannot be used.
        """
        git = open_git(name, settings, directory)
        return cls(store, store.commits.add_repository(name, settings.location), git, settings)

    def sync(self, *, fetch: bool = False) -> None:
        """Bring the lines up to date with git: the default branch, those that patterns name, and known ones.

        Raises:
            HistoryError: the repository cannot be read, or its default branch is not there.
        """
        if fetch and not self._fetched and is_url(self.settings.location):
            self._fetched = True
            self.git.fetch()
        self.git = Git(self.git.directory, self.git.numbers, self.git.web)
        tips = self.git.branches()
        self.branch = self.settings.branch or self.git.default_branch()
        if self.branch not in tips:
            raise HistoryError(
                f"there is no branch {self.branch!r}",
                where=str(self.git.directory),
                remedy=f"Its branches are {', '.join(sorted(tips)[:12]) or 'none'}; correct branch in knickpoint.toml.",
            )
        known = set(self.store.commits.lines(self.repository))
        self._lines.clear()
        self._update_default(tips[self.branch])
        for name, tip in tips.items():
            if name != self.branch and (name in known or self._kept(name)):
                self._update_branch(name, tip, tips[self.branch])

    def locate(self, revisions: Iterable[str]) -> dict[str, SlottedCommit]:
        """Return revision → commit for those of ``revisions`` that the repository has.

        A URL is fetched again where something is unknown, once.

        Raises:
            HistoryError: a prefix or a number fits several commits.
        """
        wanted = list(dict.fromkeys(revisions))
        found = self._in_store(wanted) if len(wanted) <= _FEW else {}
        missing = [revision for revision in wanted if revision not in found]
        found |= self._in_git(missing)
        missing = [revision for revision in missing if revision not in found]
        if missing and self._refreshed():
            found |= self._in_git(missing)
            missing = [revision for revision in missing if revision not in found]
        return found | (self._in_store(missing) if len(wanted) > _FEW else {})

    @cached_property
    def checkout(self) -> Checkout | None:
        """What is checked out there; None for a URL, a bare repository, and before the first commit."""
        return None if is_url(self.settings.location) else read_checkout(self.git)

    def resolve(self, name: str) -> str:
        """Return the hash of what a branch, a tag or ``HEAD~3`` stands for, "" where there is none.

        A URL is fetched first, since branches move; HEAD is only what a work tree has checked out.
        """
        if is_head(name) and self.checkout is None:
            return ""
        self._refreshed()
        return find_commit(self.git, name)

    def place(self, commit: SlottedCommit, branch: str) -> str:
        """Make sure that ``commit`` stands on a line; return a warning, "" where it does.

        Off the default line, the line of ``branch`` is made: from git's tip, else, for a branch that is gone,
        with ``commit`` as its tip. Without a branch, the branches that contain it are asked.
        """
        if commit.slot in self._slots(self.branch):
            return ""
        tips = self.git.branches()
        if not branch:
            branch = self._containing(commit.commit.hash, tips)
        if not branch or branch == self.branch:
            return self._rewritten(commit) or (
                f"commit {commit.commit.hash[:12]} is not on {self.branch}, nor on a branch that still exists;"
                " its points show on no line"
            )
        if commit.slot in self._slots(branch):
            return ""
        base = tips.get(self.branch, "")
        if branch in tips:
            self._update_branch(branch, tips[branch], base)
        if commit.slot in self._slots(branch):
            return ""
        rewritten = self._rewritten(commit)
        if not rewritten:
            self._update_branch(branch, commit.commit.hash, base)
        return rewritten

    def _rewritten(self, commit: SlottedCommit) -> str:
        """Return a warning where ``commit`` was rewritten, "" where it was not."""
        slot = self.store.rewrites.successor(self.repository, commit.slot)
        if slot is None:
            return ""
        return (
            f"commit {commit.commit.hash[:12]} was rewritten and is {self._hash(slot)[:12]} now;"
            " points of the old one show on no line"
        )

    def _refreshed(self) -> bool:
        """Fetch a URL, once; tell whether there may be news. Where it does not answer, ``notes`` say so."""
        if self._fetched or not is_url(self.settings.location):
            return False
        self._fetched = True
        try:
            self.git.fetch()
        except HistoryError as error:
            self.notes.append(f"its repository cannot be fetched: {error.message}")
            return False
        self.sync()
        return True

    def _kept(self, branch: str) -> bool:
        return any(fnmatchcase(branch, pattern) for pattern in self.settings.branches)

    def _hash(self, slot: int) -> str:
        return self.store.commits.get(self.repository, [slot])[0].commit.hash

    def _slots(self, line: str) -> frozenset[int]:
        if line not in self._lines:
            known = line in self.store.commits.lines(self.repository)
            slots = self.store.commits.line(self.repository, line).slots if known else ()
            self._lines[line] = frozenset(slots)
        return self._lines[line]

    def _in_store(self, revisions: Sequence[str]) -> dict[str, SlottedCommit]:
        found = {revision: self.store.commits.find(self.repository, revision) for revision in revisions}
        return {revision: commit for revision, commit in found.items() if commit is not None}

    def _in_git(self, revisions: Sequence[str]) -> dict[str, SlottedCommit]:
        full = self.git.resolve(revisions)
        commits = self.git.commits(full.values())
        slots = self.store.commits.add(self.repository, commits.values()) if commits else {}
        return {
            revision: SlottedCommit(slots[name], commits[name]) for revision, name in full.items() if name in commits
        }

    def _containing(self, commit: str, tips: dict[str, str]) -> str:
        told = self.git.run(
            "for-each-ref", "--contains", commit, "--format=%(refname)", "refs/heads", "refs/remotes/origin"
        ).decode(errors="replace")
        names = {name.removeprefix("refs/heads/").removeprefix("refs/remotes/origin/") for name in told.split()}
        return min(names & tips.keys() - {self.branch}, default="")

    def _add(self, commits: Sequence[Commit]) -> list[int]:
        slots = self.store.commits.add(self.repository, commits)
        return [slots[commit.hash] for commit in commits]

    def _slot_before(self, commits: Sequence[Commit]) -> int | None:
        """Return the slot of the first parent of the oldest of ``commits``, None where it is not known."""
        if not commits or not commits[0].parents:
            return None
        found = self.store.commits.find(self.repository, commits[0].parents[0])
        return found.slot if found else None

    def _update_default(self, tip: str) -> None:
        line = self._line(self.branch)
        last = self._hash(line.slots[-1]) if line.slots else ""
        if line.slots and self._deepened(line.slots[0]):
            line, last = replace(line, slots=()), ""
        if last != tip:
            self._write(self._line(self.branch), self._read(line, tip, last))
        if self.store.commits.lines(self.repository)[0] != self.branch:
            self.store.commits.set_default_line(self.repository, self.branch)

    def _deepened(self, oldest: int) -> bool:
        """Tell whether git now knows commits before the oldest one: a shallow clone was filled up."""
        commit = self.store.commits.get(self.repository, [oldest])[0].commit
        if commit.parents:
            return False
        read = self.git.commits([commit.hash]).get(commit.hash)
        return read is not None and bool(read.parents)

    def _read(self, line: Line, tip: str, last: str) -> Sequence[int]:
        """Return the slots of the line that now ends at ``tip`` and ended at ``last``."""
        commits = self.git.first_parents(tip, without=[last]) if last and self.git.resolve([last]) else []
        before = self._slot_before(commits)
        if before is None or before not in line.positions:
            behind = self.store.commits.find(self.repository, tip)
            if not commits and behind is not None and behind.slot in line.positions:
                return line.slots[: line.positions[behind.slot] + 1]
            commits = self.git.first_parents(tip)
            before = None
        return extend_line(
            line.slots, self._add(commits), before, shallow=self.git.shallow, where=str(self.git.directory)
        )

    def _line(self, name: str) -> Line:
        """Return a line as it is, empty where there is none of that name yet."""
        known = name in self.store.commits.lines(self.repository)
        return self.store.commits.line(self.repository, name) if known else Line(self.repository, name, ())

    def _write(self, line: Line, slots: Sequence[int], *, base: str = "", merge_base: int = -1) -> None:
        """Write a line, which was ``line`` before; note where its history was rewritten."""
        told = write_line(
            self.store,
            self.repository,
            line,
            slots,
            base=base,
            merge_base=merge_base,
            author_times=self.git.author_times,
        )
        if told:
            self.rewritten.append(told)

    def _update_branch(self, name: str, tip: str, base_tip: str) -> None:
        base = self.store.commits.line(self.repository, self.branch)
        line = self._line(name)
        shared = line.merge_base + 1
        if line.slots and self._hash(line.slots[-1]) == tip and line.slots[:shared] == base.slots[:shared]:
            return
        own = self.git.first_parents(tip, without=[base_tip])
        before = self._slot_before(own)
        if before is not None and before in base.positions:
            position, added = base.positions[before], self._add(own)
        else:
            chain = self.git.first_parents(tip)
            hashes = [one.commit.hash for one in self.store.commits.get(self.repository, base.slots)]
            position, names = fork_of(hashes, [commit.hash for commit in chain])
            added = self._add([commit for commit in chain if commit.hash in set(names)])
        slots = (*base.slots[: position + 1], *added)
        self._write(line, slots, base=self.branch, merge_base=position)
        self._lines[name] = frozenset(slots)
