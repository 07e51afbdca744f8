"""The commits of a git repository: git says which exist and in which order, and the store keeps them.

Lines are kept as the branches of git are: by first parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.history import Checkout, Git, extend_line, find_commit, fork_of, is_head, is_url, read_checkout
from knickpoint.ingest.commit_sources.git_repository import open_git
from knickpoint.ingest.commit_sources.protocol import LITERAL_NAME, CommitSlots, write_line
from knickpoint.ingest.settings import CommitOrder, RepositorySettings
from knickpoint.ingest.sidecar import CompletedRun
from knickpoint.model.commit import Commit, Line, Repository, SlottedCommit, is_hash_or_number, is_placeholder
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.plain_text import counted, without_secrets
from knickpoint.model.report import Problem, Severity
from knickpoint.store.commit_rows import Release

if TYPE_CHECKING:
    from knickpoint.store import Store


# Keep the tags of a git repository in the store, each with its place on the default line.


def update_releases(store: Store, repository: Repository, git: Git, line: Line) -> None:
    """Bring the tags of ``repository`` in the store up to date with ``git``; ``line`` is its default line.

    Tags that are as they were are not looked up again, so long as the line has their commit.

    Raises:
        HistoryError: the repository cannot be read.
    """
    tags, known = git.tags(), store.releases.all(repository)
    kept = {
        name: known[name]
        for name, tagged in tags.items()
        if name in known and known[name].hash == tagged and (known[name].slot < 0 or known[name].slot in line.positions)
    }
    if len(kept) == len(tags) == len(known):
        return
    # Most tags name commits of the line.
    unknown = {name: tagged for name, tagged in tags.items() if name not in kept}
    commits = git.commits(unknown.values())
    hashes = {each.commit.hash: each.slot for each in store.commits.get(repository, line.slots)} if unknown else {}
    found = dict(kept)
    for name, tagged in unknown.items():
        if tagged in commits:
            slot = hashes.get(tagged)
            slot = _fork(git, tagged, hashes) if slot is None else slot
            # A shallow clone may know more about this tag later.
            if slot >= 0 or not git.shallow:
                found[name] = Release(tagged, slot)
    if found != known:
        store.releases.replace(repository, found)


def _fork(git: Git, tagged: str, hashes: dict[str, int]) -> int:
    """Return the slot at which the first parents of the commit ``tagged`` left the line with ``hashes``, else -1."""
    chain = git.run("rev-list", "--first-parent", "--end-of-options", tagged).decode().split()
    return next((hashes[commit] for commit in chain if commit in hashes), -1)


@dataclass
class GitLines:
    """The lines of one git repository in the store.

    A late, inserted or rebased commit rewrites a line, but never changes the slot of a commit.

    Attributes:
        store: where the lines are kept.
        repository: whose lines they are.
        git: the repository as git has it.
        settings: which branches have lines.
        branch: the name of the default line, "" before the first :meth:`update`.
        rewritten: one text for each line that a rebase or a force-push changed.
        beside: commits whose results name no branch and that are on another line than the default one, by that line.
    """

    store: Store
    repository: Repository
    git: Git
    settings: RepositorySettings
    branch: str = ""
    rewritten: list[str] = field(default_factory=list)
    beside: dict[str, set[int]] = field(default_factory=dict)
    _slots: dict[str, frozenset[int]] = field(default_factory=dict)

    def update(self, git: Git) -> None:
        """Bring the lines up to date with ``git``: the default branch, those that patterns name, and those with a line.

        Tags are places on the default line, and are brought up to date as well.

        Raises:
            HistoryError: the repository cannot be read, or its default branch is not there.
        """
        self.git = git
        tips = git.branches()
        lines = self.store.commits.lines(self.repository)
        self.branch = self.settings.branch or git.default_branch(lines[0] if lines else "")
        if self.branch not in tips:
            raise HistoryError(
                f"there is no branch {self.branch!r}",
                where=str(git.directory),
                remedy=f"Its branches are {', '.join(sorted(tips)[:12]) or 'none'}; correct branch in knickpoint.toml.",
            )
        if lines and lines[0] not in {self.branch, *tips}:
            # The default branch has another name now: its line, and what was found there, stay what they are.
            self.store.commits.rename_line(self.repository, lines[0], self.branch)
            self.rewritten.append(
                f"the default branch of {self.repository.name} is {self.branch} now, and no longer {lines[0]}; its "
                "history stays"
            )
        known = set(lines)
        self._slots.clear()
        # The default line comes first: the others begin where they left it.
        self._update_default(tips[self.branch])
        for name, tip in tips.items():
            if name != self.branch and (name in known or self._is_wanted(name)):
                self._update_branch(name, tip, tips[self.branch])
        update_releases(self.store, self.repository, git, self._line(self.branch))

    def place(self, commit: SlottedCommit, branch: str) -> str:
        """Make sure that ``commit`` is on a line; return a warning where it is on none, "" otherwise.

        Off the default line, the line of ``branch`` is made: from the tip that git has, or, for a branch that git no
        longer has, with ``commit`` as its tip. Without a branch, git names one that contains the commit.
        """
        if commit.slot in self._slots_of(self.branch):
            return ""
        tips = self.git.branches()
        line = branch or self._containing(commit.commit.hash, tips)
        warning = self._place_beside(commit, line, tips)
        if not warning and not branch:
            self.beside.setdefault(line, set()).add(commit.slot)
        return warning

    def _place_beside(self, commit: SlottedCommit, branch: str, tips: dict[str, str]) -> str:
        """Make sure that ``commit``, which is not on the default line, is on that of ``branch``.

        Return a warning or "".
        """
        if not branch or branch == self.branch:
            return self._successor_warning(commit) or self._off_lines_warning(commit.commit.hash)
        if commit.slot in self._slots_of(branch):
            return ""
        # Bring its line up to date, which may be all that was missing.
        base = tips.get(self.branch, "")
        if branch in tips:
            self._update_branch(branch, tips[branch], base)
        if commit.slot in self._slots_of(branch):
            return ""
        # The branch has it beside its line, or does not have it: it was rewritten, or the branch is gone and the commit
        # its tip.
        warning = self._successor_warning(commit)
        if not warning and branch in tips and self._containing(commit.commit.hash, {branch: ""}):
            warning = _merged_warning(commit.commit.hash, branch)
        if not warning:
            self._update_branch(branch, commit.commit.hash, base)
        return warning

    def _off_lines_warning(self, commit: str) -> str:
        """Return the warning about a ``commit`` on no branch that is read: of other remotes than origin, none is."""
        names = self._names_containing(commit, "refs/heads", "refs/remotes")
        if {f"refs/heads/{self.branch}", f"refs/remotes/origin/{self.branch}"} & {*names}:
            return _merged_warning(commit, self.branch)
        other = min((name.removeprefix("refs/remotes/") for name in names), default="")
        if other:
            return (
                f"commit {commit[:12]} is on {other}, and not on {self.branch}, nor on another branch here or of "
                f"origin; its points show on no line until {self.branch} has it"
            )
        return (
            f"commit {commit[:12]} is not on {self.branch}, nor on a branch that still exists; its points show on no "
            "line"
        )

    def _successor_warning(self, commit: SlottedCommit) -> str:
        """Return a warning where ``commit`` was rewritten, "" where it was not."""
        slot = self.store.rewrites.successor(self.repository, commit.slot)
        if slot is None:
            return ""
        return (
            f"commit {commit.commit.hash[:12]} was rewritten and is {self._hash(slot)[:12]} now;"
            " points of the old one show on no line"
        )

    def _is_wanted(self, branch: str) -> bool:
        return any(fnmatchcase(branch, pattern) for pattern in self.settings.branches)

    def _hash(self, slot: int) -> str:
        return self.store.commits.get(self.repository, [slot])[0].commit.hash

    def _line(self, name: str) -> Line:
        """Return a line as it is, empty where there is none of that name yet."""
        known = name in self.store.commits.lines(self.repository)
        return self.store.commits.line(self.repository, name) if known else Line(self.repository, name, ())

    def _slots_of(self, line: str) -> frozenset[int]:
        if line not in self._slots:
            self._slots[line] = frozenset(self._line(line).slots)
        return self._slots[line]

    def _containing(self, commit: str, tips: dict[str, str]) -> str:
        """Return the first branch by name, other than the default one, that contains ``commit``; "" for none."""
        found = self._names_containing(commit, "refs/heads", "refs/remotes/origin")
        names = {name.removeprefix("refs/heads/").removeprefix("refs/remotes/origin/") for name in found}
        return min(names & tips.keys() - {self.branch}, default="")

    def _names_containing(self, commit: str, *below: str) -> list[str]:
        """Return the full names of the references ``below`` some that contain ``commit``."""
        printed = self.git.run("for-each-ref", "--contains", commit, "--format=%(refname)", *below)
        return printed.decode(errors="replace").split()

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
        if line.slots and self._is_deepened(line.slots[0]):
            line, last = replace(line, slots=()), ""
        if last != tip:
            self._write(self._line(self.branch), self._read(line, tip, last))
        if self.store.commits.lines(self.repository)[0] != self.branch:
            self.store.commits.set_default_line(self.repository, self.branch)

    def _is_deepened(self, oldest: int) -> bool:
        """Return True if git now has commits before the oldest one, because a shallow clone was deepened."""
        commit = self.store.commits.get(self.repository, [oldest])[0].commit
        if commit.parents:
            return False
        read = self.git.commits([commit.hash]).get(commit.hash)
        return read is not None and bool(read.parents)

    def _read(self, line: Line, tip: str, last: str) -> Sequence[int]:
        """Return the slots of the line that now ends at ``tip`` and ended at ``last``."""
        # Usually new commits follow the last one: only those are read.
        commits = self.git.first_parents(tip, without=[last]) if last and self.git.resolve([last]) else []
        before = self._slot_before(commits)
        if before is None or before not in line.positions:
            # The branch was reset to an older commit of the line: it is cut there.
            tip_commit = self.store.commits.find(self.repository, tip)
            if not commits and tip_commit is not None and tip_commit.slot in line.positions:
                return line.slots[: line.positions[tip_commit.slot] + 1]
            # The new commits are not connected with the line: the whole branch is read.
            commits = self.git.first_parents(tip)
            before = None
        return extend_line(
            line.slots, self._add(commits), before, shallow=self.git.shallow, where=str(self.git.directory)
        )

    def _update_branch(self, name: str, tip: str, base_tip: str) -> None:
        """Write the line of the branch ``name``: the default line up to where it left, then its own commits."""
        base = self.store.commits.line(self.repository, self.branch)
        line = self._line(name)
        shared = line.merge_base + 1
        if line.slots and self._hash(line.slots[-1]) == tip and line.slots[:shared] == base.slots[:shared]:
            return
        commits = self.git.first_parents(tip, without=[base_tip])
        before = self._slot_before(commits)
        if before is not None and before in base.positions:
            position, added = base.positions[before], self._add(commits)
        else:
            # It left a side branch of the default one, or shares nothing with it: compare the whole chains.
            chain = self.git.first_parents(tip)
            hashes = [slotted.commit.hash for slotted in self.store.commits.get(self.repository, base.slots)]
            position, names = fork_of(hashes, [commit.hash for commit in chain])
            added = self._add([commit for commit in chain if commit.hash in set(names)])
        slots = (*base.slots[: position + 1], *added)
        self._write(line, slots, base=self.branch, merge_base=position)
        self._slots[name] = frozenset(slots)

    def _write(self, line: Line, slots: Sequence[int], *, base: str = "", merge_base: int = -1) -> None:
        """Write a line, which was ``line`` before; keep a text where its history was rewritten."""
        note = write_line(
            self.store,
            self.repository,
            line,
            slots,
            base=base,
            merge_base=merge_base,
            author_times=self.git.author_times,
        )
        if note:
            self.rewritten.append(note)


def _merged_warning(commit: str, branch: str) -> str:
    return f"commit {commit[:12]} came into {branch} by a merge and is not on its line; its points show on no line"


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
