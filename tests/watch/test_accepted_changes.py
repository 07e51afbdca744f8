from __future__ import annotations

from datetime import UTC, datetime

import pytest

from knickpoint.model.commit import Commit
from knickpoint.model.params import encode_key
from knickpoint.watch.accepted_changes import match_accepted

KEYS = {
    name: encode_key({"benchmark": name, "os": system})
    for name, system in {"parse": "linux", "parse, twice": "linux", "print": "macos"}.items()
}


def commit(number: int) -> Commit:
    return Commit(
        hash=f"{number:040x}", author=f"Ada {number}", email="", time=datetime(2026, 1, 1, tzinfo=UTC), subject=""
    )


def names(value: str) -> dict[str, str]:
    """Return benchmark → reason of what a trailer accepts."""
    accepted, _ = match_accepted([(commit(1), value)], KEYS.values())
    return {name: accepted[key].reason for name, key in KEYS.items() if key in accepted}


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        ("parse, needed", {"parse": "needed"}),
        ("parse, twice, needed", {"parse, twice": "needed"}),
        (",benchmark=print,os=macos,, needed", {"print": "needed"}),
        ("os=linux, needed, really", {"parse": "needed, really", "parse, twice": "needed, really"}),
        ("parse", {}),
        ("pars, needed", {}),
        ("os=, needed", {}),
    ],
)
def test_a_trailer_names_benchmarks_by_name_key_or_query(value: str, accepted: dict[str, str]) -> None:
    assert names(value) == accepted


def test_the_last_part_of_a_name_is_enough_where_no_other_benchmark_ends_so() -> None:
    keys = [encode_key({"benchmark": name}) for name in ("a.py::test_x", "b.py::test_x", "b.py::test_y")]
    accepted, warnings = match_accepted([(commit(2), "test_x, why"), (commit(1), "test_y, needed")], keys)
    assert set(accepted) == {keys[2]}
    assert len(warnings) == 1


def test_the_newest_commit_counts() -> None:
    accepted, warnings = match_accepted([(commit(2), "parse, b"), (commit(1), "parse, a")], KEYS.values())
    assert (accepted[KEYS["parse"]].reason, accepted[KEYS["parse"]].author, warnings) == ("b", "Ada 2", [])
