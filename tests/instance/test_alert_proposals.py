"""Proposals that people accept or reject: the alerts change by the rules of all alerts, and go back in one step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from knickpoint.instance import Instance, create_instance, open_instance
from knickpoint.instance.alert_definition import set_alert
from knickpoint.instance.alert_proposals import accept_proposal, reject_proposal, undo_proposal_decision
from knickpoint.model.access import AuditKind
from knickpoint.model.alert import Alert
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.quality import ProposalKind
from knickpoint.watch.quality.proposals import Proposal

STORED = Alert("all", owners=("ada",), minimum_effect=0.01)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    create_instance(tmp_path / "instance").close()
    with (tmp_path / "instance" / "knickpoint.toml").open("a") as file:
        file.write('\n[people.ada]\nmail = "ada@example.org"\n')
    with open_instance(tmp_path / "instance") as opened:
        yield opened


def raised(alert: Alert, effect: float = 0.05) -> Proposal:
    changed = (replace(alert, minimum_effect=effect),)
    return Proposal(ProposalKind.RAISE, alert, changed, hidden=10, all_hidden=12, real=0, all_real=5, traces=3)


def split(alert: Alert) -> Proposal:
    changed = (replace(alert, query="kind!=flaky"), Alert(f"{alert.name}-modes", query="kind=flaky", method="modes"))
    return replace(raised(alert), kind=ProposalKind.SPLIT, changed=changed)


def stored(instance: Instance) -> dict[str, Alert]:
    return {name: each.alert for name, each in instance.store.findings.alert_definitions.stored().items()}


def audited(instance: Instance) -> list[AuditKind]:
    return [entry.kind for entry in instance.store.audit.entries(limit=10)]


def test_an_accepted_proposal_changes_the_alert_and_is_taken_back_in_one_step(instance: Instance) -> None:
    set_alert(instance, STORED, who="ada")
    decision = accept_proposal(instance, split(STORED), who="ada")
    assert stored(instance)["all"] == replace(STORED, query="kind!=flaky")
    assert stored(instance)["all-modes"].method == "modes"
    assert audited(instance)[0] is AuditKind.PROPOSAL_ACCEPTED
    undo_proposal_decision(instance, decision.id, who="ada")
    assert stored(instance) == {"all": STORED}
    assert instance.store.findings.proposals.all() == []
    assert audited(instance)[0] is AuditKind.PROPOSAL_UNDONE


def test_the_default_alert_comes_back_when_its_proposal_is_taken_back(instance: Instance) -> None:
    (default,) = instance.alerts
    decision = accept_proposal(instance, raised(default), who="ada")
    assert instance.alerts[0].minimum_effect == 0.05
    undo_proposal_decision(instance, decision.id, who="ada")
    assert list(instance.alerts) == [default]


def test_an_alert_that_was_changed_since_is_not_overwritten(instance: Instance) -> None:
    decision = accept_proposal(instance, raised(STORED), who="ada")
    set_alert(instance, replace(STORED, minimum_effect=0.2), who="grace")
    with pytest.raises(ConfigError, match="was changed since"):
        undo_proposal_decision(instance, decision.id, who="ada")
    assert stored(instance)["all"].minimum_effect == 0.2


def test_a_proposal_is_checked_as_every_alert_is_and_changes_nothing_when_it_is_refused(instance: Instance) -> None:
    with pytest.raises(ConfigError, match="'bob'"):
        accept_proposal(instance, raised(replace(STORED, owners=("bob",))), who="ada")
    set_alert(instance, Alert("all-modes"), who="ada")
    with pytest.raises(ConfigError, match="the alert 'all-modes' already exists"):
        accept_proposal(instance, split(STORED), who="ada")
    assert list(stored(instance)) == ["all-modes"]
    assert instance.store.findings.proposals.all() == []


def test_a_newer_rejection_takes_the_place_of_the_older_one(instance: Instance) -> None:
    reject_proposal(instance, raised(STORED), who="ada")
    later = reject_proposal(instance, replace(raised(STORED), hidden=30), who="ada")
    assert instance.store.findings.proposals.all() == [later]
    assert stored(instance) == {}
    undo_proposal_decision(instance, later.id, who="ada")
    with pytest.raises(InputError, match="there is no decision"):
        undo_proposal_decision(instance, later.id, who="ada")
