"""Put the regressions of several repositories into one order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from knickpoint.model.commit import Commit, Repository
from knickpoint.model.regression import Regression
from knickpoint.store import Store
from knickpoint.store.findings import Sort

__all__ = ["Found", "in_one_order"]

Found = tuple[Repository, Regression]


def in_one_order(store: Store, found: Sequence[Found], sort: Sort, *, descending: bool) -> list[Found]:
    """Sort the ``found`` regressions as the store sorts those of one repository.

    Equal ones stay in the order given. Commits of several repositories are sorted by their time.
    """
    commits: dict[tuple[int, int], Commit] = {}
    for repository in {own.id: own for own, _ in found}.values():
        slots = [regression.place.slot for own, regression in found if own.id == repository.id]
        commits |= {(repository.id, own.slot): own.commit for own in store.commits.get(repository, slots)}

    def of_commit(name: str) -> Callable[[Found], Any]:
        return lambda pair: str(getattr(commits.get((pair[0].id, pair[1].place.slot)), name, "")).lower()

    keys: Mapping[Sort, Callable[[Found], Any]] = {
        Sort.CHANGE: lambda pair: pair[1].severity,
        Sort.HAZARD: lambda pair: abs(pair[1].hazard),
        Sort.COMMIT: of_commit("time"),
        Sort.TRACES: lambda pair: sum(pair[1].matching.values()),
        Sort.AUTHOR: of_commit("author"),
        Sort.SUBJECT: of_commit("subject"),
        Sort.FOUND: lambda pair: str(pair[1].found),
    }
    return sorted(found, key=keys[sort], reverse=descending)
