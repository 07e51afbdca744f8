from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.store.conftest import MOMENT

from knickpoint.model.commit import Commit, Repository
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.store import Store


def test_a_commit_is_found_by_a_unique_prefix(store: Store, repository: Repository) -> None:
    store.commits.add(repository, [Commit("abcdef0" + "1" * 33, "", "", MOMENT, "")])
    found = store.commits.find(repository, "abcdef01")
    assert found is not None
    assert found.slot == 400


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("abcdef01", "abcdef01"),
        ("abcdef0", None),
        ("abcdef0123", "abcdef0123456789"),
        ("abcdef01234567890", "abcdef0123456789"),
        ("abcdef010", "abcdef01"),
        ("abcdef0199999", "abcdef01"),
        ("abcdefa", None),
        ("1234567", None),
        ("123456789", None),
        ("12345678a", "12345678"),
    ],
)
def test_a_hash_is_that_of_a_commit_or_abbreviates_it_or_is_abbreviated(
    store: Store, repository: Repository, name: str, found: str | None
) -> None:
    stored = ["abcdef01", "abcdef012", "abcdef0123456789", "abcdef0198", "12345678"]
    store.commits.add(repository, [Commit(each, "", "", MOMENT, "") for each in stored])
    if name == "abcdef0":
        with pytest.raises(HistoryError, match="fits more than one commit: abcdef01, abcdef012, abcdef0123456789"):
            store.commits.match(repository, [name])
    else:
        assert store.commits.match(repository, [name]).get(name) == found


@pytest.mark.parametrize("end", ["\U0010ffff", "\ud7ff", "é", "'", "%"])
def test_a_revision_of_odd_characters_is_no_commit(store: Store, repository: Repository, end: str) -> None:
    assert store.commits.find(repository, f"aaaaaaa{end}") is None


LONG = "".join(chr(0x4E00 + number) for number in range(1001))
"""A text that no database packs well, of three bytes a character."""


def test_a_commit_at_the_end_of_the_calendar_is_read_again(store: Store, repository: Repository) -> None:
    """As a float, the last microsecond of the year 9999 rounds up to the year 10000, which no time has."""
    late = datetime.max.replace(tzinfo=UTC)
    slot = store.commits.add(repository, [Commit("f" * 40, "", "", late, "")])["f" * 40]
    assert store.commits.get(repository, [slot])[0].commit.time.year == 9999


def test_long_names_are_refused(store: Store, repository: Repository) -> None:
    with pytest.raises(InputError, match="more than 1,000"):
        store.commits.add_repository(LONG)
    with pytest.raises(InputError, match="more than 1,000"):
        store.commits.add(repository, [Commit(LONG, "", "", MOMENT, "")])
    with pytest.raises(InputError, match="more than 1,000"):
        store.commits.set_line(repository, LONG, [0])


def test_a_commit_keeps_the_beginning_of_what_it_says(store: Store, repository: Repository) -> None:
    said = Commit("f" * 40, LONG, LONG, MOMENT, LONG * 2, url=LONG * 2)
    slot = store.commits.add(repository, [said])[said.hash]
    kept = store.commits.get(repository, [slot])[0].commit
    assert (kept.author, kept.email) == (LONG[:500], LONG[:500])
    assert (kept.subject, kept.url) == ((LONG * 2)[:2000], (LONG * 2)[:2000])
