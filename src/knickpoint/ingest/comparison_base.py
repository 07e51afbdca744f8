"""Find the base of new results: the last commit of a line whose results count as their history.

The base of a commit on the line is the commit before it. The base of any other commit is where it left the line, which
git knows, or else the line of its branch in the store, or else nothing: then the newest commit of the line is the base.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from knickpoint.history import (
    Checkout,
    Git,
    find_commit,
    find_work_tree,
    is_head,
    is_url,
    newest_contained,
    read_checkout,
)
from knickpoint.ingest.commit_sources.git_repository import head_commit, open_git
from knickpoint.ingest.results_file import written_at
from knickpoint.ingest.settings import Destination, RepositorySettings
from knickpoint.model.commit import is_hash
from knickpoint.model.errors import HistoryError, InputError

if TYPE_CHECKING:
    from knickpoint.ingest.new_results import NewResults
    from knickpoint.model.commit import Commit, Line, Repository, SlottedCommit
    from knickpoint.model.report import RunReport

ACCEPT_TRAILER: Final = "Knickpoint-Accept"
"""The trailer of a commit message that accepts a regression."""

_BLOCK: Final = 500
"""Commits of a line that are looked up at once; the base is nearly always among the newest."""

_MOST_OWN: Final = 100
"""Commits of a branch that are told from those of others, the newest ones."""

_CHOOSE: Final = "Name a commit to compare with by --base."

_DEEPEN: Final = (
    "Fetch the whole history, with fetch-depth: 0 (actions/checkout), GIT_DEPTH: 0 (GitLab) or git fetch --unshallow."
)


@dataclass(frozen=True, slots=True)
class Base:
    """The last commit of ``line`` that counts as history, and the reason in words.

    ``commit`` is None where no commit counts: the line is empty, or begins with the measured commit. ``accepted`` are
    the trailers ``Knickpoint-Accept`` of the commits between the base and what was measured, with their commits.
    ``head`` is the measured commit, "" where git does not know it or several were measured, ``branch`` its branch, and
    ``own`` are the newest of the commits that the base does not have.
    """

    line: Line
    commit: SlottedCommit | None
    reason: str
    accepted: tuple[tuple[Commit, str], ...] = ()
    head: str = ""
    branch: str = ""
    own: tuple[Commit, ...] = ()

    def with_branch(self, repositories: Iterable[Git], heads: Iterable[str]) -> Self:
        """Return it with the commits between it and ``heads``, and their trailers, from those that have both."""
        if self.commit is None:
            return self
        start = self.commit.commit.hash
        accepted: dict[tuple[str, str], tuple[Commit, str]] = {}
        own: dict[str, tuple[Commit, ...]] = {}
        for git, revision in product(repositories, sorted(heads)):
            known = git.resolve([revision, start])
            if len(known) == len({revision, start}):
                trailers = git.trailers(ACCEPT_TRAILER, known[revision], without=[start])
                accepted |= {(commit.hash, text): (commit, text) for commit, text in trailers}
                own.setdefault(known[revision], tuple(git.since(known[revision], start, most=_MOST_OWN)))
        found = replace(self, accepted=tuple(accepted.values()))
        return replace(found, head=next(iter(own)), own=own.popitem()[1]) if len(own) == 1 else found


def find_base(
    destination: Destination, repository: Repository, results: NewResults, *, requested: str = "", line: str = ""
) -> Base:
    """Return the base of new results on a line of ``repository``. Nothing is written to the store.

    With a ``requested`` commit, the base is that commit, or where it left the line. Else it is the oldest of the bases
    of the measured commits. Results are never their own history: the base of a commit of the line is the one before it.
    Results that name no commit are those of HEAD, under the conditions of an import, or of changes on top of HEAD.

    Args:
        destination: the instance.
        repository: whose history it is.
        results: the new results, with what sidecars and the CI state about their commits.
        requested: a branch, a tag, a hash or any other name of a commit that git knows; "" to find the base.
        line: the line to compare with, "" for the default one.

    Raises:
        HistoryError: there is no such line or commit, or the clone is shallow and lacks the base.
        ConfigError: the pattern of commit numbers cannot be used.
    """
    found = destination.store.commits.line(repository, line)
    if not found.slots:
        return Base(found, None, "there is no history yet")
    search = _Search(destination, repository, found)
    measured = search.measured(results)
    if requested:
        return search.with_branch(search.base_requested(requested), measured)
    bases = [search.base_of(each) for each in measured]
    if not bases:
        return search.newest("there are no results")
    oldest = min(bases, key=lambda base: found.positions[base.commit.slot] if base.commit else -1)
    return search.with_branch(oldest, measured)


@dataclass(frozen=True, slots=True)
class _Measured:
    """A measured commit, by hash, prefix or number; ``changed`` where the work tree had changes on top of it.

    Where nothing names the commit, ``revision`` is empty and ``unknown`` says why HEAD is not it.
    """

    revision: str
    branch: str = ""
    changed: bool = False
    unknown: str = ""


@dataclass(frozen=True)
class _Search:
    """A search for the base of results of ``repository`` on ``line``."""

    destination: Destination
    repository: Repository
    line: Line

    @cached_property
    def settings(self) -> RepositorySettings:
        return self.destination.repositories.get(self.repository.name, RepositorySettings())

    @cached_property
    def git(self) -> Git | None:
        """The repository of git, opened when it is first needed; None where commits come from results."""
        if not self.settings.location:
            return None
        return open_git(self.repository.name, self.settings, self.destination.directory)

    @cached_property
    def work_tree(self) -> Git | None:
        """The work tree around the current directory, where ``git`` is the clone of a URL, which has none.

        Else None.
        """
        top = find_work_tree(Path.cwd()) if self.git is not None and is_url(self.settings.location) else None
        return Git(top) if top else None

    @cached_property
    def checkout(self) -> Checkout | None:
        """What is checked out, None for a URL or a bare repository."""
        return read_checkout(self.git) if self.git is not None and not is_url(self.settings.location) else None

    def measured(self, results: NewResults) -> list[_Measured]:
        """Return the measured commits, each once.

        For a pull request, the CI checks out a merge with the target branch, while its variables name the head of the
        pull request. Where the merge is checked out here, the merge was measured.
        """
        found: dict[_Measured, None] = {}
        for run, file in zip(results.runs, results.files, strict=True):
            merge = run.revisions.get("merge", "")
            if merge and self.checkout is not None and self.checkout.commit == merge:
                found[_Measured(merge, run.branch)] = None
            elif run.revision:
                found[_Measured(run.revision, run.branch, run.environment.get("commit.dirty") == "true")] = None
            else:
                found[self._head(run, file.absolute())] = None
        return list(found)

    def _head(self, run: RunReport, file: Path) -> _Measured:
        """Return HEAD, with the changes of the work tree, for a run that names no commit."""
        checkout = self.checkout
        # Changes are not a reason against HEAD here, as they are for an import: they are what is to be checked.
        clean = replace(checkout, changed=()) if checkout else None
        try:
            commit = head_commit(replace(run, environment={}), clean, str(file), written_at(file))
        except InputError as error:
            return _Measured("", unknown=error.message)
        assert checkout is not None
        changed = any(path != file for path in checkout.changed) or run.environment.get("commit.dirty") == "true"
        return _Measured(commit, run.branch, changed)

    def with_branch(self, base: Base, measured: Sequence[_Measured]) -> Base:
        """Return ``base`` with what git says of the commits between it and the measured ones."""
        heads = {each.revision for each in measured if each.revision}
        found = base.with_branch([git for git in (self.git, self.work_tree) if git is not None], heads)
        one = len(measured) == 1 and not measured[0].changed
        return replace(found, branch=measured[0].branch) if one else replace(found, head="", own=())

    def newest(self, reason: str) -> Base:
        """Return the newest commit of the line as the base."""
        return self._at(len(self.line.slots) - 1, f"the newest commit of {self._name}: {reason}")

    def base_requested(self, reference: str) -> Base:
        """Return the commit that ``reference`` names where it is on the line, else where it left the line."""
        full = self._requested_hash(reference)
        if not full:
            raise HistoryError(
                f"the repository {self.repository.name!r} has no commit {reference!r}",
                where="--base",
                remedy=self._remedy("Name a branch, a tag, a hash or a number that it has."),
            )
        on_line = self._on_line(full)
        if on_line is not None:
            return self._at(on_line, f"--base {reference}")
        position = self._left_at(full)
        if position is None:
            raise self._unrelated(full)
        return self._at(position, f"the newest commit of {self._name} that --base {reference} contains")

    def _requested_hash(self, reference: str) -> str:
        """Return the hash of the commit that ``reference`` names, "" for none.

        A number counts first, then what git has, then a commit of the store, then the tip of a line of the store.
        """
        commit = self._known(reference) if reference.isdecimal() else None
        full = commit.commit.hash if commit else self._in_git(reference, names=True)
        if full:
            return full
        commit = self._known(reference)
        if commit:
            return commit.commit.hash
        commits = self.destination.store.commits
        slots = commits.line(self.repository, reference).slots if reference in commits.lines(self.repository) else ()
        return self._hashes(slots[-1:])[0] if slots else ""

    def base_of(self, measured: _Measured) -> Base:
        """Return the base of a measured commit."""
        revision, branch = measured.revision, measured.branch
        if not revision:
            return self.newest(measured.unknown)
        # A commit of the line: itself where the work tree had changes on top of it, else the one before it.
        commit = self._known(revision)
        full = commit.commit.hash if commit else self._in_git(revision, names=False)
        on_line = self._on_line(full)
        if on_line is not None and measured.changed:
            return self._at(on_line, f"the commit of {self._name} that the work tree had changes on")
        if on_line is not None:
            return self._at(on_line - 1, f"the commit before {full[:12]} on {self._name}")
        # A commit beside the line: where it left the line, by git, or by the line of its branch.
        position = self._left_at(full) if full else None
        if position is None and not full:
            position = self._line_left_at(branch)
        if position is not None:
            return self._at(position, f"the merge base of {(full or revision)[:12]} with {self._name}")
        # Unknown: without git, the newest commit is the best guess; with git, something is missing.
        if self.git is None:
            return self.newest(f"without a git repository, nothing says where {revision[:12]} left it")
        if full:
            raise self._unrelated(full)
        raise HistoryError(
            f"the repository {self.repository.name!r} has no commit {revision!r}, which the results name",
            where=str(self.git.directory),
            remedy=self._remedy(f"Fetch it. {_CHOOSE}"),
        )

    def _left_at(self, commit: str) -> int | None:
        """Return the newest position of the line that ``commit``, which is not on the line, contains; None for none."""
        # By git, in the first repository that has the commit.
        git = next((git for git in (self.git, self.work_tree) if git is not None and git.resolve([commit])), None)
        if git is not None:
            name = newest_contained(git, self._blocks(), commit)
            position = self._on_line(name) if name else None
            if position is not None:
                return position
        # By the store, where the commit is on the line of a branch that left this line.
        known = self._known(commit)
        names = self.destination.store.commits.lines(self.repository) if known else ()
        for name in names:
            if known and self.destination.store.commits.on_line(self.repository, name, [known.slot]):
                position = self._line_left_at(name)
                if position is not None:
                    return position
        return None

    def _line_left_at(self, branch: str) -> int | None:
        """Return the last position that the line of ``branch`` shares with this line, None if it did not leave it."""
        if (
            not branch
            or branch == self.line.name
            or branch not in self.destination.store.commits.lines(self.repository)
        ):
            return None
        line = self.destination.store.commits.line(self.repository, branch)
        return line.merge_base if line.base == self.line.name and line.merge_base >= 0 else None

    def _known(self, revision: str) -> SlottedCommit | None:
        commits, name = self.destination.store.commits, revision.lower()
        matching = commits.match(self.repository, [name]) if self.git is None and is_hash(name) else {}
        return commits.find(self.repository, matching.get(name, revision))

    def _in_git(self, text: str, *, names: bool) -> str:
        """Return the full hash of the commit that ``text`` names, a hash or with ``names`` any reference; "" for none.

        The clone of a URL is searched first, then the work tree around the current directory, then the clone once more
        after a fetch. HEAD is always that of a work tree.
        """
        if self.git is None:
            return ""
        cloned = is_url(self.settings.location)
        found = "" if cloned and names and is_head(text) else _named(self.git, text, names=names)
        if not found and self.work_tree is not None:
            found = _named(self.work_tree, text, names=names)
        if not found and cloned:
            self.git.fetch()
            found = _named(self.git.afresh(), text, names=names)
        return found

    def _on_line(self, full: str) -> int | None:
        """Return the position of a commit on the line, None where it is not on it."""
        known = self._known(full) if full else None
        return self.line.positions.get(known.slot) if known else None

    def _blocks(self) -> Iterator[list[str]]:
        """Yield the hashes of the line, newest first."""
        for end in range(len(self.line.slots), 0, -_BLOCK):
            yield self._hashes(self.line.slots[max(0, end - _BLOCK) : end])[::-1]

    def _hashes(self, slots: Sequence[int]) -> list[str]:
        return [slotted.commit.hash for slotted in self.destination.store.commits.get(self.repository, slots)]

    def _at(self, position: int, reason: str) -> Base:
        """Return the commit at ``position`` of the line as the base; -1 is before its first commit."""
        if position < 0:
            return Base(self.line, None, f"{self._name} has no commit before what was measured")
        (commit,) = self.destination.store.commits.get(self.repository, [self.line.slots[position]])
        return Base(self.line, commit, reason)

    def _unrelated(self, commit: str) -> HistoryError:
        """Return the error for a commit of which it is unknown where it left the line."""
        where = str(self.git.directory) if self.git is not None else self.repository.name
        if self._is_shallow:
            message = f"the clone is shallow and does not hold where {commit[:12]} left {self._name}"
            return HistoryError(message, where=where, remedy=_DEEPEN)
        message = f"{commit[:12]} and {self._name} have no commit in common"
        return HistoryError(message, where=where, remedy=_CHOOSE)

    def _remedy(self, usual: str) -> str:
        """Return the remedy for a commit that is missing: in a shallow clone, to fetch the whole history."""
        return f"The clone is shallow. {_DEEPEN}" if self._is_shallow else usual

    @property
    def _is_shallow(self) -> bool:
        return any(git is not None and git.shallow for git in (self.git, self.work_tree))

    @property
    def _name(self) -> str:
        return self.line.name or "the history"


def _named(git: Git, text: str, *, names: bool) -> str:
    return find_commit(git, text) if names else git.resolve([text]).get(text, "")
