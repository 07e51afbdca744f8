"""Keep the lines of a repository in the store as the branches of git are: by first parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from knickpoint.history import Git, extend_line, fork_of
from knickpoint.ingest.commit_sources.line_update import write_line
from knickpoint.ingest.settings import RepositorySettings
from knickpoint.model.commit import Commit, Line, Repository, SlottedCommit
from knickpoint.model.errors import HistoryError
from knickpoint.store.commits.commit_rows import Release

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
                f"the default branch of {self.repository.name} is {self.branch} now, and no more {lines[0]}; its "
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
