"""Build the answers about repositories, lines and commits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from knickpoint.model.commit import Commit, Line, Repository, SlottedCommit
from knickpoint.model.errors import HistoryError
from knickpoint.server.schemas.commits import (
    CommitAnswer,
    CommitsAnswer,
    LineAnswer,
    ReleaseAnswer,
    RepositoryAnswer,
)
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store
from knickpoint.watch.lines import Lines

__all__ = [
    "commit_answer",
    "find_commit",
    "list_commits",
    "list_lines",
    "list_releases",
    "list_repositories",
    "pack_times",
]


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
