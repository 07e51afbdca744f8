"""Alerts as plain values."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.alert import (
    Alert,
    AlertDirection,
    AlertKind,
    AlertSeverity,
    alert_from,
    alert_from_json,
    alert_settings,
    judging_settings,
    kind_of_finding,
    severity_of_finding,
)

_NAMES = st.lists(st.text(max_size=8), max_size=3).map(tuple)

ALERTS = st.builds(
    Alert,
    name=st.text(min_size=1, max_size=8),
    query=st.text(max_size=8),
    group_by=_NAMES,
    parameters=st.dictionaries(st.text(max_size=5), st.booleans() | st.integers() | st.text(max_size=5), max_size=3),
    direction=st.sampled_from(AlertDirection),
    minimum_change=st.floats(0, 1e9),
    kind=st.sampled_from(AlertKind),
    severity=st.sampled_from(AlertSeverity),
    owners=_NAMES,
    notify=_NAMES,
    every_minutes=st.floats(0, 1e6),
)


@given(ALERTS)
def test_an_alert_comes_back_from_its_stored_settings(alert: Alert) -> None:
    assert alert_from(alert.name, json.loads(json.dumps(alert_settings(alert)))) == alert
    assert alert_from_json(alert.name, json.dumps(alert_settings(alert))) == alert


def test_settings_of_a_later_version_are_left_out() -> None:
    assert alert_from("a", {"query": "os=linux", "unheard_of": 1}) == Alert("a", query="os=linux")


@pytest.mark.parametrize(
    "changed",
    [
        Alert("a", kind=AlertKind.CANARY),
        Alert("a", severity=AlertSeverity.HIGH),
        Alert("a", owners=("ann",)),
        Alert("a", notify=("mail",)),
        Alert("a", every_minutes=5.0),
    ],
    ids=["kind", "severity", "owners", "notify", "every_minutes"],
)
def test_what_happens_with_findings_does_not_change_what_is_found(changed: Alert) -> None:
    assert judging_settings(changed) == judging_settings(Alert("a"))


def test_the_smallest_change_is_part_of_the_judgement() -> None:
    assert judging_settings(Alert("a", minimum_change=2.0)) != judging_settings(Alert("a"))


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([], AlertKind.WORK),
        ([AlertKind.INFORMATIONAL], AlertKind.INFORMATIONAL),
        ([AlertKind.INFORMATIONAL, AlertKind.CANARY], AlertKind.CANARY),
        ([AlertKind.CANARY, AlertKind.WORK], AlertKind.WORK),
    ],
)
def test_one_alert_for_work_makes_a_finding_work(kinds: list[AlertKind], expected: AlertKind) -> None:
    assert kind_of_finding([Alert(str(number), kind=kind) for number, kind in enumerate(kinds)]) is expected


def test_the_severity_of_a_finding_is_the_highest_of_its_alerts_of_that_kind() -> None:
    alerts = [
        Alert("low", severity=AlertSeverity.LOW),
        Alert("normal"),
        Alert("loud", kind=AlertKind.INFORMATIONAL, severity=AlertSeverity.HIGH),
    ]
    assert severity_of_finding(alerts) is AlertSeverity.NORMAL
