"""``knick missed``: marks of changes that no alert found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Knick, api, change_points


def test_a_change_is_marked_listed_and_removed(judged: Path, knick: Knick) -> None:
    found = change_points(knick, "--limit", "1")[0]
    opposite = "down" if found["relative_size"] > 0 else "up"
    added = knick(
        "missed", "add", found["trace"]["key"], found["commit"]["hash"], "--direction", opposite, "--note", "look"
    )
    assert added.code == 0, added.errors
    (row,) = listed = json.loads(knick("missed", "list", "--format", "json").output)
    assert listed == api(judged, "missed")
    assert row | {"id": "M1", "trace_key": found["trace"]["key"], "movement": opposite, "note": "look"} == row
    assert "M1" in knick("audit").output
    assert "1 removed" in knick("missed", "remove", "M1").output
    assert "No change is marked as missed." in knick("missed", "list").output


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(("text", "reason"), [("P1", "is not an id of a missed change"), ("M9", "no missed change M9")])
def test_an_unknown_mark_is_refused(knick: Knick, text: str, reason: str) -> None:
    refused = knick("missed", "remove", text)
    assert refused.code == 2
    assert reason in refused.errors
