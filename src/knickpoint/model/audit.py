"""The audit log: who signed in, made tokens, changed the configuration, and decided."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

__all__ = ["AuditEntry", "AuditKind"]


class AuditKind(Enum):
    """What an entry of the audit log records."""

    SIGNED_IN = "signed-in"
    SIGN_IN_REFUSED = "sign-in-refused"
    SIGNED_OUT = "signed-out"
    TOKEN_CREATED = "token-created"  # noqa: S105  # a kind, not a secret
    TOKEN_REVOKED = "token-revoked"  # noqa: S105  # a kind, not a secret
    CONFIGURATION_CHANGED = "configuration-changed"
    DECIDED = "decided"
    BOUNDARY_MOVED = "boundary-moved"
    MISSED_MARKED = "missed-marked"
    MISSED_UNMARKED = "missed-unmarked"
    TICKETS_CHANGED = "tickets-changed"
    ALERTS_APPLIED = "alerts-applied"
    ALERT_SET = "alert-set"
    ALERT_REMOVED = "alert-removed"
    PROPOSAL_ACCEPTED = "proposal-accepted"
    PROPOSAL_REJECTED = "proposal-rejected"
    PROPOSAL_UNDONE = "proposal-undone"
    RENAME_ACCEPTED = "rename-accepted"
    RENAME_WITHDRAWN = "rename-withdrawn"
    QUARANTINE_LIFTED = "quarantine-lifted"
    BISECTION_ASKED = "bisection-asked"
    BISECTION_STOPPED = "bisection-stopped"
    DELIVERIES_CHANGED = "deliveries-changed"
    ENTRIES_DELETED = "entries-deleted"
    RUNS_REMOVED = "runs-removed"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry of the audit log: at ``time``, ``who`` did what ``kind`` and ``about`` say.

    ``who`` is the name of a caller. ``address`` is the network address that the request came from, "" for a command.
    All texts are one line without control characters.
    """

    id: int
    time: datetime
    kind: AuditKind
    who: str
    about: str
    address: str = ""
