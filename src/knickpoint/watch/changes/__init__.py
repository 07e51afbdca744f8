"""Group the change points of many traces into changes, and merge the lists of several repositories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import merge
from typing import Any

from knickpoint.model.commit import Commit, Repository
from knickpoint.model.statement import Change
from knickpoint.store import Store
from knickpoint.store.findings.change_list import Sort

ListedChange = tuple[Repository, Change]


def merge_changes(store: Store, listed: Sequence[ListedChange], sort: Sort, *, descending: bool) -> list[ListedChange]:
    """Merge the ``listed`` changes; the store has sorted those of each repository by ``sort``.

    Those of one repository stay in their order: commits have the order of their line, whatever their times. Commits of
    several repositories are compared by their times. Of equal ones, the repository that comes first in ``listed`` does.
    """
    groups: dict[int, list[ListedChange]] = {}
    for repository, change in listed:
        groups.setdefault(repository.id, []).append((repository, change))
    commits: dict[tuple[int, int], Commit] = {}
    for key, group in groups.items():
        slots = [change.suspect_range.slot for _, change in group]
        commits |= {(key, at.slot): at.commit for at in store.commits.get(group[0][0], slots)}

    def of_commit(name: str) -> Callable[[ListedChange], str]:
        return lambda pair: str(getattr(commits.get((pair[0].id, pair[1].suspect_range.slot)), name, "")).lower()

    keys: Mapping[Sort, Callable[[ListedChange], Any]] = {
        Sort.CHANGE: lambda pair: (pair[1].severity, pair[1].alert_severity.rank),
        Sort.HAZARD: lambda pair: abs(pair[1].hazard),
        Sort.COMMIT: of_commit("time"),
        Sort.TRACES: lambda pair: sum(pair[1].matching.values()),
        Sort.AUTHOR: of_commit("author"),
        Sort.SUBJECT: of_commit("subject"),
        Sort.FOUND: lambda pair: str(pair[1].found),
    }
    return list(merge(*groups.values(), key=keys[sort], reverse=descending))
