from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from knickpoint.model.commit import Commit
from knickpoint.store.findings.change_list import Sort
from knickpoint.watch.changes import ListedChange, merge_changes

from .conftest import World, levels


@pytest.fixture
def both(world: World) -> World:
    """Two repositories: "project" steps by 25 % and, later, back by a tenth; "other" by 50 % at a commit of 2025."""
    world.measure({"parse": levels((10, 20.0), (20, 25.0), (20, 22.5))})
    other = world.store.commits.add_repository("other")
    begin = datetime(2025, 1, 1, tzinfo=UTC)
    hashes = [hashlib.sha256(f"other {k}".encode()).hexdigest() for k in range(40)]
    world.store.commits.add(other, [Commit(own, "zoe", "", begin, f"Other {k}") for k, own in enumerate(hashes)])
    world.store.commits.set_line(other, "main", range(40))
    replace(world, repository=other).measure({"read": levels((20, 8.0), (20, 12.0))})
    world.run()
    return world


def listed(world: World, sort: Sort, *, descending: bool) -> list[ListedChange]:
    """Return the changes of all repositories, those of each as the store sorts them."""
    return [
        (repository, change)
        for repository in world.store.commits.repositories()
        for change in world.store.findings.changes(repository, sort=sort, descending=descending)
    ]


def places(found: list[ListedChange]) -> list[tuple[str, int]]:
    return [(repository.name, change.suspect_range.slot) for repository, change in found]


@pytest.mark.parametrize(
    ("sort", "descending", "order"),
    [
        (Sort.CHANGE, True, [("other", 20), ("project", 10), ("project", 30)]),
        (Sort.COMMIT, True, [("project", 30), ("project", 10), ("other", 20)]),
        (Sort.COMMIT, False, [("other", 20), ("project", 10), ("project", 30)]),
        (Sort.AUTHOR, True, [("other", 20), ("project", 10), ("project", 30)]),
    ],
)
def test_changes_of_several_repositories_have_one_order(
    both: World, sort: Sort, order: list[tuple[str, int]], *, descending: bool
) -> None:
    found = listed(both, sort, descending=descending)
    assert places(merge_changes(both.store, found, sort, descending=descending)) == order


def test_commits_of_one_repository_keep_the_order_of_their_line_whatever_their_times(world: World) -> None:
    begin = datetime(2025, 1, 1, tzinfo=UTC)
    rewritten = world.store.commits.add_repository("rewritten")
    hashes = [hashlib.sha256(f"rewritten {k}".encode()).hexdigest() for k in range(50)]
    commits = [Commit(name, "zoe", "", begin - timedelta(days=k), "") for k, name in enumerate(hashes)]
    world.store.commits.add(rewritten, commits)
    world.store.commits.set_line(rewritten, "main", range(50))
    replace(world, repository=rewritten).measure({"read": levels((10, 20.0), (20, 25.0), (20, 22.5))})
    world.run()
    found = listed(world, Sort.COMMIT, descending=True)
    ordered = merge_changes(world.store, found, Sort.COMMIT, descending=True)
    assert places(ordered) == [("rewritten", 30), ("rewritten", 10)]
