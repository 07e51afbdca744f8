from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.history import Authorship, changed_order, match_rewritten


def wrote(subject: str, time: int | None = None, email: str = "ada@example.org") -> Authorship:
    return Authorship("Ada", email, subject, time)


def test_commits_of_one_author_date_and_subject_are_the_same() -> None:
    old = [wrote("One", 1), wrote("Two", 2)]
    new = [wrote("New", 3), wrote("One", 1), wrote("Two", 2)]
    assert match_rewritten(old, new) == {0: 1, 1: 2}


def test_a_reworded_commit_is_known_by_its_date() -> None:
    assert match_rewritten([wrote("Fix tpyo", 1)], [wrote("Fix typo", 1)]) == {0: 0}


def test_a_commit_whose_date_is_lost_is_known_by_its_subject() -> None:
    assert match_rewritten([wrote("One")], [wrote("Zero", 4), wrote("One", 5)]) == {0: 1}


def test_alike_commits_are_matched_in_their_order() -> None:
    assert match_rewritten([wrote("Again", 1)] * 2, [wrote("Again", 1)] * 2) == {0: 0, 1: 1}


def test_alike_commits_of_which_one_is_missing_are_not_guessed() -> None:
    assert match_rewritten([wrote("Again", 1)] * 3, [wrote("Again", 1)] * 2) == {}


def test_other_authors_are_other_commits() -> None:
    assert match_rewritten([wrote("One", 1)], [wrote("One", 1, email="bob@example.org")]) == {}


@pytest.mark.parametrize("nameless", [Authorship("", "", "One", 1), Authorship("Ada", "", "", None)])
def test_commits_that_tell_too_little_match_nothing(nameless: Authorship) -> None:
    assert match_rewritten([nameless], [nameless]) == {}


_commits = st.lists(
    st.builds(Authorship, st.sampled_from("ab"), st.just(""), st.sampled_from("xyz"), st.integers(0, 3))
)


@given(_commits, _commits)
def test_no_commit_is_matched_twice(old: list[Authorship], new: list[Authorship]) -> None:
    found = match_rewritten(old, new)
    assert len(set(found.values())) == len(found)
    assert all(old[before].author == new[after].author for before, after in found.items())


@given(_commits)
def test_a_rebase_that_changes_nothing_but_hashes_matches_every_commit(commits: list[Authorship]) -> None:
    assert match_rewritten(commits, commits).keys() == set(range(len(commits)))


def test_appended_commits_are_all_that_changed() -> None:
    assert changed_order([1, 2], [1, 2, 3]) == {3}


def test_a_commit_put_in_between_moves_no_other() -> None:
    assert changed_order([1, 2], [1, 3, 2]) == {3}


def test_commits_that_left_and_that_came_changed() -> None:
    assert changed_order([1, 2, 3], [1, 4, 5]) == {2, 3, 4, 5}


def test_commits_that_changed_places_changed() -> None:
    assert changed_order([1, 2, 3, 4], [1, 3, 2, 4]) == {2, 3}
