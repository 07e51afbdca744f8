"""``knick suspects``: the commits that may have caused a regression."""

from __future__ import annotations

import json

import pytest

from .conftest import Knick


@pytest.mark.usefixtures("judged")
def test_suspects_are_listed_after_a_run_with_the_part_of_no_commit(knick: Knick) -> None:
    key = json.loads(knick("regressions", "--format", "json", "--limit", "1").output)[0]["regression"]
    assert "not ranked yet" in knick("suspects", key).output
    assert knick("run").code == 0
    printed = knick("suspects", key).output
    assert "No commit of this list:" in printed
    assert "All commits weigh the same." in printed
    rows = json.loads(knick("suspects", key[1:], "--format", "json").output)
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    assert sum(row["probability"] for row in rows) < 1


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(("text", "reason"), [("P1", "is no id of a regression"), ("R999", "no regression")])
def test_what_is_no_regression_is_refused(knick: Knick, text: str, reason: str) -> None:
    refused = knick("suspects", text)
    assert refused.code == 2
    assert reason in refused.errors
