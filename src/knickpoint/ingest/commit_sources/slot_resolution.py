"""Find the slots of the commits that a results file names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knickpoint.ingest.commit_sources.git import GitCommits
from knickpoint.ingest.commit_sources.results import ResultCommits
from knickpoint.ingest.context.file_context import CompletedRun
from knickpoint.ingest.settings import CommitOrder
from knickpoint.model.commit import NO_TIME, Commit
from knickpoint.model.errors import HistoryError
from knickpoint.model.report import Problem, Report, Severity

__all__ = ["slots_from_results", "slots_in_git"]


def slots_in_git(book: GitCommits, runs: Sequence[CompletedRun]) -> tuple[dict[str, int], list[Problem]]:
    """Return revision → slot for the commits that the repository has, and warnings about commits on no line."""
    found = book.locate(one.run.revision for one in runs)
    notes = dict.fromkeys(book.notes)
    placed: set[tuple[int, str]] = set()
    for one in runs:
        commit = found.get(one.run.revision)
        if commit is None or (commit.slot, one.run.branch) in placed:
            continue
        placed.add((commit.slot, one.run.branch))
        note = book.place(commit, one.run.branch)
        if note:
            notes[note] = None
    warnings = [Problem(note, severity=Severity.WARNING) for note in notes]
    return {revision: commit.slot for revision, commit in found.items()}, warnings


def slots_from_results(
    book: ResultCommits, report: Report, runs: Sequence[CompletedRun], order: CommitOrder
) -> tuple[dict[str, int], list[Problem]]:
    """Take the commits of a file in and return revision → slot, and warnings.

    Raises:
        HistoryError: nothing says the place of a commit in the order of commits.
    """
    described = {commit.hash: commit for commit in report.commits}
    slots: dict[str, int] = {}
    branches: dict[str, list[CompletedRun]] = {}
    for one in runs:
        branches.setdefault(one.run.branch, []).append(one)
    notes = []
    for branch, members in branches.items():
        commits: dict[str, Commit] = {}
        for one in members:
            revision = one.run.revision
            known = None if revision in described else book.find(revision)
            if known is not None:
                slots[revision] = known.slot
                commit = _timed(known.commit, one)
            else:
                commit = described.get(revision) or _unknown_commit(one)
            commits[commit.hash] = _earlier(commits.get(commit.hash, commit), commit)
        _put_in_order(book, list(commits.values()), order, branch)
        ordered = [commit for name, commit in described.items() if name in commits]
        rest = [commit for name, commit in commits.items() if name not in described]
        learned, contradiction = book.learn(ordered, ordered=order is CommitOrder.TIME, branch=branch)
        if rest:
            also, _ = book.learn(rest, branch=branch)
            learned |= also
        slots |= {one.run.revision: learned[one.run.revision] for one in members if one.run.revision in learned}
        if contradiction:
            notes.append(
                Problem(
                    "this file and earlier ones tell different orders of the same commits; there, time decides",
                    remedy="Name the git repository in knickpoint.toml to have its order.",
                    severity=Severity.WARNING,
                )
            )
    return slots, notes


def _put_in_order(book: ResultCommits, commits: Sequence[Commit], order: CommitOrder, branch: str) -> None:
    """Put new commits at the end if they come in the order given; else make sure that each can be placed."""
    if order is CommitOrder.GIVEN:
        book.learn(
            [commit for commit in commits if book.find(commit.hash) is None], ordered=True, at_end=True, branch=branch
        )
        return
    for commit in commits:
        if not (commit.has_time or commit.is_number) and book.find(commit.hash) is None:
            raise HistoryError(
                f"nothing says when commit {commit.hash[:12]} was made or measured, and so where it stands among others",
                remedy="Name the git repository in knickpoint.toml; or give the time, with --time or in a sidecar; or"
                " import with --order given, oldest first.",
            )


def _timed(commit: Commit, one: CompletedRun) -> Commit:
    """Return a commit that nobody described with the time of its earliest run."""
    if not commit.is_bare or one.run.time is None:
        return commit
    return _earlier(commit, replace(commit, time=one.run.time))


def _earlier(one: Commit, other: Commit) -> Commit:
    """Return that of two descriptions of a commit which has the earlier time; a known one before an unknown one."""
    return min(one, other, key=lambda commit: (not commit.has_time, commit.time))


def _unknown_commit(one: CompletedRun) -> Commit:
    """Return a commit of which nothing but its name is known; the time of the run stands in for its own."""
    if not one.run.revision.isprintable() or len(one.run.revision) > 200:
        raise HistoryError(f"{one.run.revision[:40]!r} cannot be a commit", remedy="Name it by its hash or number.")
    return Commit(one.run.revision, "", "", one.run.time or NO_TIME, "")
