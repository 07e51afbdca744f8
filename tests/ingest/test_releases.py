"""Tags of git become releases: places on the default line of the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.ingest.conftest import Lab
from tests.repositories import GitRepository

NewRepository = Callable[[str], GitRepository]


@pytest.fixture
def made(lab: Lab, new_repository: NewRepository) -> GitRepository:
    repository = new_repository("lib")
    lab.configure('[repositories.lib]\nlocation = "../lib"\n')
    return repository


def places(lab: Lab) -> dict[str, str]:
    """Return tag → hash of the commit of the default line at which it stands, "" for none."""
    store = lab.instance.store
    repository = store.commits.repository("lib")
    found = store.releases.all(repository)
    commits = {name: store.commits.get(repository, [each.slot]) for name, each in found.items()}
    return {name: commits[name][0].commit.hash if commits[name] else "" for name in found}


def test_tags_stand_at_their_commits_annotated_or_not(lab: Lab, made: GitRepository) -> None:
    first, second, third = made.commits(3)
    made.git("tag", "v1", first)
    made.git("tag", "-a", "-m", "Second", "v2", second)
    lab.take(lab.skia("a.json", third, sort=1))
    assert places(lab) == {"v1": first, "v2": second}


def test_a_tag_of_a_release_branch_stands_where_the_branch_left(lab: Lab, made: GitRepository) -> None:
    first, _ = made.commits(2)
    made.git("checkout", "--quiet", "-b", "release", first)
    made.git("tag", "v1", made.commit("Fix"))
    made.git("checkout", "--quiet", "main")
    last = made.commit()
    lab.take(lab.skia("a.json", last, sort=1))
    assert places(lab) == {"v1": first}


def test_a_tag_that_shares_nothing_with_the_line_stands_nowhere(lab: Lab, made: GitRepository) -> None:
    (only,) = made.commits(1)
    made.git("checkout", "--quiet", "--orphan", "other")
    made.git("tag", "other-1", made.commit("Elsewhere"))
    made.git("checkout", "--quiet", "main")
    lab.take(lab.skia("a.json", only, sort=1))
    assert places(lab) == {"other-1": ""}


def test_tags_that_move_appear_or_go_are_followed(lab: Lab, made: GitRepository) -> None:
    first, second = made.commits(2)
    made.git("tag", "moving", first)
    made.git("tag", "going", first)
    lab.take(lab.skia("a.json", second, sort=1))
    made.git("tag", "--force", "moving", second)
    made.git("tag", "--delete", "going")
    made.git("tag", "new", second)
    lab.take(lab.skia("b.json", second, sort=2, parse=1))
    assert places(lab) == {"moving": second, "new": second}


def test_a_tag_of_a_file_is_no_release(lab: Lab, made: GitRepository) -> None:
    (only,) = made.commits(1)
    made.git("tag", "tree", f"{only}^{{tree}}")
    lab.take(lab.skia("a.json", only, sort=1))
    assert places(lab) == {}
