"""What the API says of a mixed change, of one that a bisection found, and of one that recovered."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.client import Client
from tests.server.stated_changes import BROKEN, CULPRIT, MIXED, REVERTED

SINCE = "1970-01-01T00:00:00Z"


def listed(client: Client, **params: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/api/v1/changes", params=params).json()["changes"]
    return found


def at(client: Client, position: int) -> dict[str, Any]:
    (found,) = [group for group in listed(client) if group["commit"]["position"] == position]
    return found


@pytest.mark.parametrize(
    ("direction", "found"),
    [("regression", {BROKEN, CULPRIT}), ("mixed", {MIXED}), ("improvement", {REVERTED}), ("unknown", set())],
)
def test_a_list_is_filtered_by_the_direction_of_the_change(stated: Client, direction: str, found: set[int]) -> None:
    groups = listed(stated, direction=direction)
    assert {group["commit"]["position"] for group in groups} == found
    assert {group["statement"]["direction"] for group in groups} <= {direction}


def test_a_mixed_change_is_listed_with_all_its_members(stated: Client) -> None:
    (mixed,) = listed(stated, direction="mixed")
    assert mixed["statement"]["headline"] == "6 faster by up to 55 %; 1 larger by 0.49 %"
    assert mixed["directions"] == {"improvement": 6, "regression": 1}


def test_the_overview_leaves_out_what_recovered_and_counts_directions(stated: Client) -> None:
    found = stated.get("/api/v1/overview", params={"since": SINCE}).json()
    assert [group["commit"]["position"] for group in found["largest"]] == [CULPRIT, MIXED]
    assert (found["waiting"], found["waiting_directions"]) == (4, {"regression": 2, "mixed": 1, "improvement": 1})


@pytest.mark.parametrize("position", [MIXED, CULPRIT, BROKEN])
def test_the_change_points_of_a_trace_have_the_statement_of_their_change(stated: Client, position: int) -> None:
    change = at(stated, position)
    trace = change["members"][0]["trace"]["id"]
    statements = stated.get(f"/api/v1/traces/{trace}/change-points").json()["statements"]
    assert statements[change["id"]] == change["statement"]
