"""What the guide to outages says about an alert that finds too much."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Knick


def found(knick: Knick) -> set[tuple[str, str]]:
    rows = json.loads(knick("regressions", "--format", "json").output)
    return {(row["commit"], row["trace"]) for row in rows if row["condition"] != "gone"}


@pytest.mark.usefixtures("judged")
def test_an_alert_that_finds_too_much_is_counted_before_and_taken_back_afterwards(knick: Knick) -> None:
    usual = found(knick)
    counted = knick("alerts", "set", "wild", "method=threshold", "minimum_effect=0.001", "--dry-run")
    assert (counted.code, "113" in counted.output, found(knick)) == (0, True, usual)
    knick("alerts", "set", "wild", "method=threshold", "minimum_effect=0.001")
    knick("run")
    assert len(found(knick)) > 5 * len(usual)
    knick("alerts", "remove", "wild")
    knick("run")
    assert found(knick) == usual
