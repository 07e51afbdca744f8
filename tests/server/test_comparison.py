"""Two commits are compared through the API."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.client import Client
from tests.server.story import COMMITS, SLOWER, commit_hash

URL = "/api/v1/comparison"


def compare(client: Client, **params: Any) -> dict[str, Any]:
    answer = client.get(URL, params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_the_verdicts_are_those_between_the_two_commits_the_worst_first(reader: Client) -> None:
    found = compare(reader, base=commit_hash(SLOWER - 1), head=commit_hash(SLOWER + 5))
    verdicts = {row["params"]["benchmark"]: row["verdict"] for row in found["traces"]}
    assert verdicts == {"parse": "regressed", "print": "regressed", "load": "unchanged", "idle": "unchanged"}
    parse = found["traces"][0]
    assert parse["params"]["benchmark"] == "parse"
    assert parse["low"] < parse["change"] < parse["high"]
    assert parse["change"] == pytest.approx(0.25, abs=0.02)
    assert len(parse["new"]) == 3
    assert found["counts"] == {"regressed": 2, "unchanged": 2}


def test_only_what_changed_is_listed_on_request_and_all_is_counted(reader: Client) -> None:
    found = compare(reader, base=commit_hash(SLOWER - 1), head=commit_hash(SLOWER + 5), changed=True)
    assert {row["verdict"] for row in found["traces"]} == {"regressed"}
    assert (found["total"], found["compared"]) == (2, 4)


def test_a_query_selects_the_traces(reader: Client) -> None:
    found = compare(reader, base=commit_hash(SLOWER - 1), head=commit_hash(SLOWER + 5), query="benchmark=load")
    assert [row["params"]["benchmark"] for row in found["traces"]] == ["load"]


def test_a_day_stands_for_its_last_commit_and_newest_for_the_newest(reader: Client) -> None:
    # Commits are 7 hours apart, the first one at 9:00 on 1 January.
    found = compare(reader, base="2026-01-02")
    assert (found["base"]["commit"]["position"], found["head"]["commit"]["position"]) == (5, COMMITS - 1)


def test_the_list_comes_in_pages(reader: Client) -> None:
    both = {"base": commit_hash(SLOWER - 1), "head": commit_hash(SLOWER + 5)}
    whole = [row["id"] for row in compare(reader, **both)["traces"]]
    pages = [row["id"] for first in (0, 3) for row in compare(reader, **both, first=first, limit=3)["traces"]]
    assert pages == whole


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"base": "nothing"}, "no commit 'nothing'"),
        ({"base": "2025-01-01"}, "no commit up to 2025-01-01"),
        ({"base": "newest"}, "base has every commit of the head"),
        ({"base": commit_hash(9), "head": commit_hash(5)}, "base has every commit of the head"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_reason(
    reader: Client, params: dict[str, str], message: str
) -> None:
    answer = reader.get(URL, params=params)
    assert answer.status_code in {400, 404}
    assert message in answer.json()["error"]
    assert answer.json()["remedy"]
