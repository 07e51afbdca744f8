"""Repositories, lines and commits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import numpy as np
from pydantic import Field

from knickpoint.answers.base import Answer
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.model.commit import Commit, Line, Repository, SlottedCommit
from knickpoint.model.errors import HistoryError
from knickpoint.store import Store
from knickpoint.watch.lines import Lines


class RepositoryAnswer(Answer):
    """A repository of the instance."""

    name: str
    location: str = Field(description="Path or URL of the git repository, empty where commits come from results only.")
    lines: list[str] = Field(description="Names of its lines, the default line first.")
    commits: int = Field(description="Number of commits on the default line.")
    traces: int


class LineAnswer(Answer):
    """A line: one branch by first parent."""

    name: str
    base: str = Field(description="The line that it branched off; empty for a base line.")
    commits: int


class ReleaseAnswer(Answer):
    """A release of a repository: a tag of git."""

    repository: str
    name: str = Field(description="The name of the tag.")
    position: int | None = Field(
        description="Position of the last commit of the default line that the tag contains; null where it has none."
    )


class CommitAnswer(Answer):
    """A commit, and its position on the line of the request."""

    hash: str = Field(examples=["9c1f0a64be2d57f38a0c41d6e97b25a3f04d8e6b"])
    short: str = Field(examples=["9c1f0a64be"], description="The beginning of the hash, for people.")
    author: str = Field(examples=["Ada Okafor"])
    email: str = Field(examples=["ada@example.org"])
    time: datetime | None = Field(description="null where it is unknown.")
    subject: str = Field(examples=["Cache the tables of the parser"])
    url: str = Field(description="Its page at the forge; empty where none is known.")
    position: int | None = Field(description="0-based position on the line, null where it is not on the line.")


class CommitsAnswer(Answer):
    """Consecutive commits of a line, oldest first; those of a search, the newest first."""

    repository: str
    line: str
    total: int = Field(description="Number of commits on the line.")
    first: int = Field(description="Position of the first commit of this answer.")
    commits: list[CommitAnswer]


# Build the answers about repositories, lines and commits.


def commit_answer(commit: Commit, position: int | None) -> CommitAnswer:
    """Return a commit with its ``position`` on a line; an unknown time is null."""
    time = commit.time if commit.has_time else None
    return CommitAnswer.of(commit, short=commit.short, time=time, position=position)


def list_repositories(visible: VisibleRepositories) -> list[RepositoryAnswer]:
    """List the repositories with their sizes."""
    store = visible.store
    return [
        RepositoryAnswer.of(
            repository,
            lines=store.commits.lines(repository),
            commits=len(store.commits.line(repository).slots),
            traces=store.traces.count(repository),
        )
        for repository in visible.all()
    ]


def list_lines(store: Store, repository: Repository) -> list[LineAnswer]:
    """List the lines of a repository, the default one first."""
    lines = [store.commits.line(repository, name) for name in store.commits.lines(repository)]
    return [LineAnswer.of(line, commits=len(line.slots)) for line in lines]


def list_releases(visible: VisibleRepositories, repository: str, limit: int) -> list[ReleaseAnswer]:
    """List the newest ``limit`` releases of a repository, or of each one, by the order of their commits, newest first.

    Raises:
        HistoryError: there is no such repository.
    """
    answers = []
    for each in visible.some(repository):
        lines = Lines(visible.store, each)
        for name in reversed(lines.releases()[-limit:]):
            slot = lines.release(name)
            position = None if slot is None else lines.default.positions.get(slot)
            answers.append(ReleaseAnswer(repository=each.name, name=name, position=position))
    return answers


def list_commits(store: Store, line: Line, first: int, limit: int) -> CommitsAnswer:
    """List at most ``limit`` commits of ``line`` from position ``first``."""
    slots = line.slots[first : first + limit]
    found: Mapping[int, SlottedCommit] = {each.slot: each for each in store.commits.get(line.repository, slots)}
    commits = [
        commit_answer(found[slot].commit, position) for position, slot in enumerate(slots, first) if slot in found
    ]
    return CommitsAnswer(
        repository=line.repository.name, line=line.name, total=len(line.slots), first=first, commits=commits
    )


def search_commits(store: Store, line: Line, text: str, limit: int, *, measured: bool) -> CommitsAnswer:
    """List the newest ``limit`` commits of ``line`` with all words of ``text`` in hash, author or subject.

    ``measured``: only commits that have a run.
    """
    among = store.runs.slots(line.repository) if measured else None
    found = store.commits.search(line, text, limit=limit, among=among)
    commits = [commit_answer(each.commit, line.positions.get(each.slot)) for each in found]
    return CommitsAnswer(
        repository=line.repository.name, line=line.name, total=len(line.slots), first=0, commits=commits
    )


def find_commit(store: Store, line: Line, revision: str) -> CommitAnswer:
    """Find a commit by hash, prefix or number, and its position on ``line``.

    Raises:
        HistoryError: there is none, or more than one.
    """
    found = store.commits.find(line.repository, revision)
    if found is None:
        raise HistoryError(
            f"there is no commit {revision!r}", where=line.repository.name, remedy="Give its hash or its number."
        )
    return commit_answer(found.commit, line.positions.get(found.slot))


def pack_times(store: Store, line: Line) -> bytes:
    """Return the commit times of ``line`` as little-endian float64 seconds since 1970, NaN where unknown."""
    times = store.commits.times(line.repository, line.slots)
    times[times == 0.0] = np.nan
    return times.astype("<f8").tobytes()
