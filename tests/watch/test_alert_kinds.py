"""What the kind, the severity and the smallest change of an alert do with its findings."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.watch.conftest import QUICK, World, levels

from knickpoint.model.alert import Alert, AlertKind, AlertSeverity, alert_from
from knickpoint.model.errors import ConfigError
from knickpoint.model.statement import Change
from knickpoint.store.findings.alert_definitions import AlertRun
from knickpoint.store.findings.selection import Selection
from knickpoint.watch.alert_config.alert_health import health_of_alerts
from knickpoint.watch.alert_validation import check_alert, check_references

INFORMATIONAL = replace(QUICK, name="look", kind=AlertKind.INFORMATIONAL)
STEP = levels((20, 100), (20, 150))


def _listed(world: World, selection: Selection | None = None) -> list[Change]:
    return world.store.findings.changes(world.repository, selection=selection)


def _begun(world: World, *alerts: Alert) -> World:
    """Run ``alerts`` before the step arrives, so that it is work and not history."""
    world.alerts = alerts
    world.measure({"a": STEP[:20], "b": [10.0] * 20})
    world.run()
    world.measure({"a": STEP[20:], "b": [10.0] * 20}, first=20)
    return world


@pytest.mark.parametrize("kind", [AlertKind.INFORMATIONAL, AlertKind.CANARY])
def test_findings_that_are_no_work_are_listed_on_request_only(world: World, kind: AlertKind) -> None:
    _begun(world, replace(QUICK, kind=kind)).run()
    assert _listed(world) == []
    assert world.store.findings.count(world.repository) == 0
    (found,) = _listed(world, Selection(alert_kinds=frozenset({kind})))
    assert found.members[0].alert_kind is kind


def test_informational_findings_are_not_announced(world: World) -> None:
    summary = _begun(world, INFORMATIONAL).run()
    assert world.store.findings.announcements.after(0) == []
    assert summary.new_changes == ()


def test_a_finding_of_two_alerts_is_work_where_one_of_them_is(world: World) -> None:
    _begun(world, INFORMATIONAL, replace(QUICK, severity=AlertSeverity.LOW)).run()
    (found,) = _listed(world)
    assert found.members[0].alert_kind is AlertKind.WORK
    assert found.alert_severity is AlertSeverity.LOW
    assert len(world.store.findings.announcements.after(0)) == 1


@pytest.mark.parametrize(
    "changed",
    [
        replace(QUICK, kind=AlertKind.INFORMATIONAL),
        replace(QUICK, severity=AlertSeverity.HIGH),
        replace(QUICK, owners=("ann@example.org",)),
        replace(QUICK, notify=("mail",)),
        replace(QUICK, every_minutes=5.0),
    ],
    ids=["kind", "severity", "owners", "notify", "every_minutes"],
)
def test_settings_about_what_happens_with_findings_judge_no_trace_again(world: World, changed: Alert) -> None:
    _begun(world, QUICK).run()
    assert world.run(changed).judged == 0
    assert world.run(replace(QUICK, minimum_change=1.0)).judged == 2


def test_a_changed_kind_applies_to_the_findings_of_the_past(world: World) -> None:
    _begun(world, QUICK).run()
    world.store.findings.alerts_in_force.replace([replace(QUICK, kind=AlertKind.INFORMATIONAL)])
    assert _listed(world) == []
    world.store.findings.alerts_in_force.replace([QUICK])
    assert len(_listed(world)) == 1


def test_findings_that_become_work_by_a_setting_are_not_announced(world: World) -> None:
    _begun(world, INFORMATIONAL).run()
    world.run(replace(INFORMATIONAL, kind=AlertKind.WORK))
    assert len(_listed(world)) == 1
    assert world.store.findings.announcements.after(0) == []


def test_what_is_found_later_by_such_an_alert_is_announced(world: World) -> None:
    _begun(world, INFORMATIONAL).run()
    work = replace(INFORMATIONAL, kind=AlertKind.WORK)
    world.run(work)
    world.measure({"b": [30.0] * 20}, first=40)
    world.run(work)
    assert [each.trace_key for each in world.store.findings.announcements.after(0)] == [",benchmark=b,kind=b,"]


def test_changes_know_the_settings_of_their_alerts(world: World) -> None:
    owned = replace(QUICK, owners=("ann@example.org",), notify=("mail",))
    _begun(world, owned, INFORMATIONAL).run()
    (found,) = _listed(world)
    known = world.store.findings.alerts_of_changes([found.id, 999])
    assert known == {found.id: (INFORMATIONAL, owned)}


def test_a_changed_owner_is_known_at_once(world: World) -> None:
    _begun(world, QUICK).run()
    (found,) = _listed(world)
    changed = replace(QUICK, owners=("bob@example.org",))
    world.store.findings.alerts_in_force.replace([changed])
    assert world.store.findings.alerts_of_changes([found.id]) == {found.id: (changed,)}


def test_equal_changes_are_listed_by_the_severity_of_their_alerts(world: World) -> None:
    high = replace(QUICK, name="high", query="benchmark=a", severity=AlertSeverity.HIGH)
    low = replace(QUICK, name="low", query="benchmark=b", severity=AlertSeverity.LOW)
    world.alerts = (high, low)
    world.measure({"a": [10.0] * 20, "b": [10.0] * 20})
    world.run()
    world.measure({"a": [20.0] * 20, "b": [10.0] * 5 + [20.0] * 15}, first=20)
    world.run()
    assert [each.alert_severity for each in _listed(world)] == [AlertSeverity.HIGH, AlertSeverity.LOW]


def test_a_change_must_pass_the_smallest_change_in_the_unit_of_the_trace(world: World) -> None:
    _begun(world, replace(QUICK, minimum_change=40.0)).run()
    assert world.places("a") == [20]
    world.run(replace(QUICK, minimum_change=60.0))
    assert world.places("a") == []


@pytest.mark.parametrize("name", ["minimum_change", "every_minutes", "minimum_effect"])
@pytest.mark.parametrize("value", [float("nan"), -1.0, float("inf")])
def test_numbers_that_mean_nothing_are_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=name):
        check_alert(alert_from("quick", {"method": "threshold", name: value}))


@pytest.mark.parametrize(
    ("alert", "named"),
    [
        (replace(QUICK, owners=("carl",)), r"owners names 'carl'.*\[people.carl\].*ann"),
        (replace(QUICK, notify=("chat",)), r"notify names 'chat'.*\[channels.chat\].*mail"),
        (replace(QUICK, notify=("mail", "mail")), "notify names 'mail' twice"),
    ],
    ids=["owner", "channel", "twice"],
)
def test_owners_and_channels_that_do_not_exist_are_refused(alert: Alert, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        check_references(alert, people=["ann"], channels=["mail"])


def test_people_and_mail_addresses_may_be_owners() -> None:
    check_references(replace(QUICK, owners=("ann", "team@example.org")), people=["ann"], channels=[])


def test_a_failure_in_one_repository_is_not_hidden_by_a_later_success_in_another(world: World) -> None:
    other = world.store.commits.add_repository("other")
    for repository, failure in ((world.repository, "no values"), (other, "")):
        run = AlertRun("quick", datetime.now(UTC), 0.1, not failure, 1, 0, 0, 0, 0, failure, repository.id)
        world.store.findings.alert_runs.record([run])
    (health,) = health_of_alerts(world.store, [QUICK])
    assert health.failure == "no values"
