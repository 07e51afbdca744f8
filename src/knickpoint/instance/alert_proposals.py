"""Accept and reject proposals to change alerts, and take such decisions back.

An accepted proposal changes alerts of the store by the rules of ``knick alerts set``. What was there before is kept
with the decision, so that one step takes it back. See ``docs/decisions/alerts.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from knickpoint.instance.alert_definition import changed_settings, read_alert, remove_alert, set_alert
from knickpoint.instance.alert_sources import AlertSource, sourced_alerts
from knickpoint.instance.instance import Instance
from knickpoint.model.access import AuditKind
from knickpoint.model.alert import Alert
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.plain_text import plain_line
from knickpoint.model.quality import FindingRecord, ProposalDecision
from knickpoint.watch.quality.proposals import Proposal, propose

_AGAIN: Final = 1.5
"""A rejected proposal comes back when it would leave out so many times what it would have left out then."""

_LONGEST_ABOUT: Final = 2000


def open_proposals(instance: Instance, alerts: Sequence[Alert], records: Sequence[FindingRecord]) -> list[Proposal]:
    """Return the proposals for ``alerts`` by the decisions about ``records``, without those that a person rejected."""
    rejected = {each.name: each.hidden for each in instance.store.findings.proposals.all() if not each.accepted}
    return [
        proposal
        for proposal in propose(records, alerts)
        if proposal.name not in rejected or proposal.hidden >= _AGAIN * rejected[proposal.name]
    ]


def find_proposal(proposals: Sequence[Proposal], name: str) -> Proposal:
    """Return the proposal ``name``.

    Raises:
        InputError: there is none.
    """
    for proposal in proposals:
        if proposal.name == name:
            return proposal
    known = ", ".join(each.name for each in proposals) or "none"
    raise InputError(f"there is no proposal {name!r}", where="proposal", remedy=f"The proposals are: {known}.")


def accept_proposal(instance: Instance, proposal: Proposal, *, who: str) -> ProposalDecision:
    """Change the alerts of the store as ``proposal`` says, and keep what was there; the audit log names ``who``.

    Raises:
        ConfigError: an alert is defined in a file, or one of the settings cannot be used.
    """
    store = instance.store
    with store.transaction():
        _check_kept(instance, proposal)
        stored = store.findings.alert_definitions.stored()
        before = {alert.name: stored[alert.name].alert if alert.name in stored else None for alert in proposal.changed}
        for alert in proposal.changed:
            table = changed_settings(alert, ())
            set_alert(instance, read_alert(instance, alert.name, table, where=f"alert {alert.name!r}"), who=who)
        after = {alert.name: alert for alert in proposal.changed}
        decision = replace(_decision(proposal, who), accepted=True, before=before, after=after)
        decision = store.findings.proposals.add(decision)
        store.audit.append(AuditKind.PROPOSAL_ACCEPTED, who, _described(decision))
    return decision


def reject_proposal(instance: Instance, proposal: Proposal, *, who: str) -> ProposalDecision:
    """Keep that a person rejected ``proposal``: it is not made again before much more speaks for it."""
    store = instance.store
    with store.transaction():
        for earlier in store.findings.proposals.all():
            if not earlier.accepted and earlier.name == proposal.name:
                store.findings.proposals.remove(earlier.id)
        decision = store.findings.proposals.add(_decision(proposal, who))
        store.audit.append(AuditKind.PROPOSAL_REJECTED, who, _described(decision))
    return decision


def proposal_decision(instance: Instance, key: int) -> ProposalDecision:
    """Return the decision ``key``.

    Raises:
        InputError: there is none.
    """
    for decision in instance.store.findings.proposals.all():
        if decision.id == key:
            return decision
    raise InputError(
        f"there is no decision {key} about a proposal", remedy="knick quality decisions lists those that stand."
    )


def undo_proposal_decision(instance: Instance, key: int, *, who: str) -> ProposalDecision:
    """Take the decision ``key`` back: a rejected proposal can be made again, an accepted one gets its alerts back.

    Raises:
        ConfigError: an alert of an accepted proposal was changed since.
        InputError: there is no such decision.
    """
    store = instance.store
    with store.transaction():
        decision = proposal_decision(instance, key)
        stored = store.findings.alert_definitions.stored()
        for name, alert in decision.after.items():
            if name not in stored or stored[name].alert != alert:
                raise ConfigError(
                    f"the alert {name!r} was changed since the proposal was accepted",
                    where=f"decision {key}",
                    remedy="Change it by hand, with knick alerts set or knick alerts remove.",
                )
        for name, earlier in decision.before.items():
            if earlier is None:
                remove_alert(instance, name, who=who)
            else:
                set_alert(instance, earlier, who=who)
        store.findings.proposals.remove(key)
        store.audit.append(AuditKind.PROPOSAL_UNDONE, who, _described(decision))
    return decision


def _check_kept(instance: Instance, proposal: Proposal) -> None:
    """Refuse a proposal whose alerts are defined in a file, or whose new alert would take the place of another one."""
    alerts = {each.alert.name: each for each in sourced_alerts(instance.config, instance.store)}
    known = alerts.get(proposal.alert.name)
    if known is not None and known.source in {AlertSource.CONFIGURATION, AlertSource.REPOSITORY}:
        raise ConfigError(
            f"the alert {proposal.alert.name!r} is defined in {known.place}",
            where=f"proposal {proposal.name}",
            remedy=f"Change it there: {proposal.change}.",
        )
    for alert in proposal.changed[1:]:
        if alert.name in alerts:
            raise ConfigError(
                f"the alert {alert.name!r} already exists",
                where=f"proposal {proposal.name}",
                remedy="Rename or remove it first.",
            )


def _decision(proposal: Proposal, who: str) -> ProposalDecision:
    return ProposalDecision(
        id=0,
        alert=proposal.alert.name,
        kind=proposal.kind,
        accepted=False,
        change=proposal.change,
        hidden=proposal.hidden,
        before={},
        after={},
        who=who,
        time=datetime.now(UTC),
    )


def _described(decision: ProposalDecision) -> str:
    return plain_line(f"{decision.name}: {decision.change}", _LONGEST_ABOUT)
