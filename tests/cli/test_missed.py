"""``knick missed``: marks of changes that no alert found."""

from __future__ import annotations

import json

import pytest

from .conftest import Knick, change_points


@pytest.mark.usefixtures("judged")
def test_a_change_is_marked_listed_and_removed(knick: Knick) -> None:
    found = change_points(knick, "--limit", "1")[0]
    opposite = "down" if found["relative_size"] > 0 else "up"
    added = knick(
        "missed", "add", found["trace"]["key"], found["commit"]["hash"], "--direction", opposite, "--note", "look"
    )
    assert added.code == 0, added.errors
    (row,) = json.loads(knick("missed", "list", "--format", "json").output)
    assert (row["id"], row["trace"], row["moved"], row["note"]) == ("M1", found["trace"]["key"], opposite, "look")
    assert "M1" in knick("audit").output
    assert "1 removed" in knick("missed", "remove", "M1").output
    assert "No change is marked as missed." in knick("missed", "list").output


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(("text", "reason"), [("P1", "is no id of a missed change"), ("M9", "no missed change M9")])
def test_an_unknown_mark_is_refused(knick: Knick, text: str, reason: str) -> None:
    refused = knick("missed", "remove", text)
    assert refused.code == 2
    assert reason in refused.errors
