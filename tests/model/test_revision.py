"""What names a commit, and what tools write where they know none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.commit import commit_name, is_hash_or_number, is_placeholder


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "unversioned",
        "Unversioned directory",
        "unknown",
        "(unknown)",
        "<unknown>",
        '"UNKNOWN"',
        "None",
        "null",
        "N/A",
        "undefined",
        "dirty",
        "unknown-dirty",
        "HEAD",
        "FETCH_HEAD",
        "(detached head)",
        "not committed yet",
        "-",
        "-1",
        "0" * 7,
        "0" * 40,
        "0" * 64,
        "0" * 12 + "+",
        "$GIT_COMMIT",
        "${{ github.sha }}",
        "{{ commit }}",
        "%BUILD_VCS_NUMBER%",
    ],
)
def test_a_placeholder_names_no_commit(text: str) -> None:
    assert (is_placeholder(text), commit_name(text)) == (True, "")


@pytest.mark.parametrize(
    "text", ["0", "12", "20260101", "0a1b2c3", "a" * 40, "v1.2.0", "r1234", "main", "nonesuch", "unknown-fix-3", "1"]
)
def test_hashes_numbers_and_plain_names_name_commits(text: str) -> None:
    assert commit_name(f" {text}\n") == text


@given(st.text())
def test_a_name_of_a_commit_stays_as_it_is(text: str) -> None:
    assert commit_name(commit_name(text)) == commit_name(text)


@pytest.mark.parametrize("text", ["abcdef1", "A" * 40, "7", "123456"])
def test_hashes_and_numbers_are_known_by_their_looks(text: str) -> None:
    assert is_hash_or_number(text)


@pytest.mark.parametrize("text", ["", "abc", "main", "v1.0", "HEAD", "HEAD~3", "abcdefg", "-abcdef1", "a" * 65, "٣"])
def test_names_of_branches_and_tags_look_like_no_hash(text: str) -> None:
    assert not is_hash_or_number(text)
