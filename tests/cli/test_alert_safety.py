"""Alerts on the command line: nothing that people work on goes without their consent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Knick

NARROW = ("query=benchmark=parse*", "minimum_effect=0.5")


def listed(knick: Knick) -> list[tuple[str, str]]:
    return [(row["id"], str(row["statuses"])) for row in json.loads(knick("changes", "--format", "json").output)]


@pytest.mark.usefixtures("judged")
def test_the_first_alert_leaves_the_default_one_in_force(knick: Knick) -> None:
    before = listed(knick)
    assert knick("alerts", "set", "small", *NARROW).code == 0
    knick("run")
    assert listed(knick) == before


@pytest.mark.usefixtures("judged")
def test_ending_the_default_alert_needs_consent_and_is_reported_afterwards(knick: Knick) -> None:
    before = listed(knick)
    refused = knick("alerts", "set", "small", *NARROW, "--replace-default")
    assert (refused.code, "would no longer be watched" in refused.errors, listed(knick)) == (2, True, before)
    assert knick("alerts", "set", "small", *NARROW, "--replace-default", "--yes").code == 0
    assert "are no longer watched by any alert" in knick("doctor").output
    assert "are no longer watched by any alert" in knick("run").output
    assert knick("alerts", "remove", "small").code == 0
    knick("run")
    assert "no longer watched" not in knick("doctor").output


@pytest.mark.usefixtures("judged")
def test_applying_a_configuration_that_ends_alerts_needs_consent(knick: Knick) -> None:
    knick("alerts", "apply")
    config = Path("knickpoint.toml")
    config.write_text(f'{config.read_text()}[alerts.small]\nquery = "benchmark=parse*"\n', encoding="utf-8")
    refused = knick("alerts", "apply")
    assert (refused.code, "knick alerts set default" in refused.errors) == (2, True)
    assert "removed" in knick("alerts", "apply", "--dry-run").output
    assert knick("alerts", "apply", "--yes").code == 0
    assert "removed" not in knick("alerts", "apply", "--dry-run").output


@pytest.mark.usefixtures("judged")
def test_an_alert_that_others_cover_is_removed_without_a_question(knick: Knick) -> None:
    knick("alerts", "set", "small", *NARROW)
    assert knick("alerts", "remove", "small").code == 0
    assert knick("alerts", "remove", "default").code == 0
