"""Accept and reject proposals to change alerts for a caller, and take such decisions back."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from knickpoint.instance import Instance
from knickpoint.instance.alert_proposals import (
    accept_proposal,
    find_proposal,
    open_proposals,
    proposal_decision,
    reject_proposal,
    undo_proposal_decision,
)
from knickpoint.model.access import Permission
from knickpoint.model.alert import Alert
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.proposal import ProposalDecision
from knickpoint.server.errors import UnknownError
from knickpoint.server.permissions import require, require_everywhere
from knickpoint.server.schemas.quality import ProposalDecisionAnswer, ProposalRequest
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.watch.quality.report import Period, list_records

__all__ = ["decide_proposal", "list_proposal_decisions", "undo_proposal"]


def list_proposal_decisions(instance: Instance, alerts: Collection[str]) -> list[ProposalDecisionAnswer]:
    """List what people decided about proposals for ``alerts``, the newest first."""
    decisions = reversed(instance.store.findings.proposals.all())
    return [_answer(each) for each in decisions if each.alert in alerts]


def decide_proposal(
    instance: Instance, visible: VisibleRepositories, request: ProposalRequest
) -> ProposalDecisionAnswer:
    """Accept or reject a proposal.

    Raises:
        ForbiddenError: the caller is no admin of all that its alert watches.
        InputError: there is no such proposal, or it cannot be accepted.
    """
    alerts = [alert for alert in instance.alerts if alert.name == request.name.rpartition(":")[0]]
    _require_admin(visible, alerts)
    records = list_records(visible.store, visible.all(), Period(request.since, request.until))
    proposals = open_proposals(instance, alerts, records)
    proposal = find_proposal(proposals, request.name)
    decide = accept_proposal if request.accept else reject_proposal
    try:
        return _answer(decide(instance, proposal, who=visible.caller.name))
    except ConfigError as error:
        raise InputError(error.message, where=error.where, remedy=error.remedy) from error


def undo_proposal(instance: Instance, visible: VisibleRepositories, key: int) -> ProposalDecisionAnswer:
    """Take a decision about a proposal back, and return what it was.

    Raises:
        ForbiddenError: the caller is no admin of all that its alerts watch.
        UnknownError: there is no such decision.
        InputError: an alert was changed since.
    """
    try:
        decision = proposal_decision(instance, key)
    except InputError as error:
        visible.require(Permission.ADMIN, visible.all())
        raise UnknownError(error.message, where=f"decision {key}", remedy="GET /api/v1/alert-quality.") from None
    concerned = [*decision.after.values(), *(alert for alert in decision.before.values() if alert)]
    _require_admin(visible, concerned or [alert for alert in instance.alerts if alert.name == decision.alert])
    try:
        return _answer(undo_proposal_decision(instance, key, who=visible.caller.name))
    except ConfigError as error:
        raise InputError(error.message, where=error.where, remedy=error.remedy) from error


def _require_admin(visible: VisibleRepositories, alerts: Iterable[Alert]) -> None:
    """Check that the caller administers what ``alerts`` watch; without any, everything."""
    repositories = {alert.repository for alert in alerts} or {""}
    for repository in sorted(repositories):
        if repository:
            require(visible.caller, Permission.ADMIN, repository=repository)
        else:
            require_everywhere(visible.caller, Permission.ADMIN)


def _answer(decision: ProposalDecision) -> ProposalDecisionAnswer:
    return ProposalDecisionAnswer.of(decision)
