"""Priors come from what commits touch, and are capped, so that evidence always wins."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.repositories import GitRepository

from knickpoint.bisect.coordinator import priors_of, read_range
from knickpoint.bisect.coordinator.revision_range import FLOOR, capped
from knickpoint.history import Git
from knickpoint.model.errors import InputError

Make = Callable[[str], GitRepository]


def _touch(repository: GitRepository, *names: str) -> list[str]:
    hashes = []
    for name in names:
        path = repository.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(repository.minutes))
        repository.git("add", ".")
        hashes.append(repository.commit("Change something"))
    return hashes


def test_the_commit_that_touches_what_the_trace_is_named_after_comes_first(new_repository: Make) -> None:
    repository = new_repository("project")
    _, *hashes = _touch(repository, "a.c", "src/colour.c", "src/parser.c", "README.md", "src/store.c")
    priors = priors_of(Git.at(repository.directory), ",benchmark=parser,", hashes)
    assert priors is not None
    assert sum(priors) == pytest.approx(1.0)
    assert max(priors) == priors[1]
    assert min(priors) == priors[2] >= FLOOR / 4


def test_without_a_trace_all_commits_are_alike(new_repository: Make) -> None:
    repository = new_repository("project")
    assert priors_of(Git.at(repository.directory), "", _touch(repository, "a.c", "b.c")) is None


def test_no_share_falls_below_the_floor() -> None:
    assert capped([1.0, 0.0, 0.0, 0.0]) == pytest.approx((1 - FLOOR * 3 / 4, *[FLOOR / 4] * 3))
    assert capped([0.25] * 4) is None
    assert capped([0.0, 0.0]) is None


def test_a_merge_is_one_commit_of_the_range(new_repository: Make) -> None:
    repository = new_repository("project")
    first, second = repository.commits(2)
    repository.switch("side", new=True)
    side = repository.commits(3)
    repository.switch("main")
    third = repository.commit()
    merge = repository.merge("side")
    git = Git.at(repository.directory)
    found = read_range(git, f"{first}..main")
    assert (found.good.hash, found.hashes, found.note) == (first, (second, third, merge), "")
    assert "not on the first-parent line" in read_range(git, f"{side[0]}..main").note
    with pytest.raises(InputError, match="is not a range"):
        read_range(git, f"{first}...main")
