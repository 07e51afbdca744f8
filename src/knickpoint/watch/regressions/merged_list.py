"""Merge the sorted regressions of several repositories into one list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import merge
from typing import Any

from knickpoint.model.commit import Commit, Repository
from knickpoint.model.regression import Regression
from knickpoint.store import Store
from knickpoint.store.findings.regression_list import Sort

__all__ = ["ListedRegression", "merge_regressions"]

ListedRegression = tuple[Repository, Regression]


def merge_regressions(
    store: Store, listed: Sequence[ListedRegression], sort: Sort, *, descending: bool
) -> list[ListedRegression]:
    """Merge the ``listed`` regressions; the store has sorted those of each repository by ``sort``.

    Those of one repository stay in their order: commits have the order of their line, whatever their times. Commits of
    several repositories are compared by their times. Of equal ones, the repository that comes first in ``listed`` does.
    """
    groups: dict[int, list[ListedRegression]] = {}
    for repository, regression in listed:
        groups.setdefault(repository.id, []).append((repository, regression))
    commits: dict[tuple[int, int], Commit] = {}
    for key, group in groups.items():
        slots = [regression.suspect_range.slot for _, regression in group]
        commits |= {(key, at.slot): at.commit for at in store.commits.get(group[0][0], slots)}

    def of_commit(name: str) -> Callable[[ListedRegression], str]:
        return lambda pair: str(getattr(commits.get((pair[0].id, pair[1].suspect_range.slot)), name, "")).lower()

    keys: Mapping[Sort, Callable[[ListedRegression], Any]] = {
        Sort.CHANGE: lambda pair: (pair[1].severity, pair[1].alert_severity.rank),
        Sort.HAZARD: lambda pair: abs(pair[1].hazard),
        Sort.COMMIT: of_commit("time"),
        Sort.TRACES: lambda pair: sum(pair[1].matching.values()),
        Sort.AUTHOR: of_commit("author"),
        Sort.SUBJECT: of_commit("subject"),
        Sort.FOUND: lambda pair: str(pair[1].found),
    }
    return list(merge(*groups.values(), key=keys[sort], reverse=descending))
