from __future__ import annotations

import pytest
from tests.store.conftest import MOMENT

from knickpoint.model.commit import Commit, Repository
from knickpoint.store import Store


def test_a_commit_is_found_by_a_unique_prefix(store: Store, repository: Repository) -> None:
    store.commits.add(repository, [Commit("abcdef0" + "1" * 33, "", "", MOMENT, "")])
    found = store.commits.find(repository, "abcdef01")
    assert found is not None
    assert found.slot == 400


@pytest.mark.parametrize("end", ["\U0010ffff", "\ud7ff", "é", "'", "%"])
def test_a_revision_of_odd_characters_is_no_commit(store: Store, repository: Repository, end: str) -> None:
    assert store.commits.find(repository, f"aaaaaaa{end}") is None
