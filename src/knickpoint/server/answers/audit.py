"""List the audit log."""

from __future__ import annotations

from knickpoint.model.access import Caller, Permission
from knickpoint.model.audit import AuditKind
from knickpoint.model.errors import ForbiddenError
from knickpoint.server.schemas.audit import AuditEntryAnswer
from knickpoint.store import Store

__all__ = ["list_entries"]


def list_entries(
    store: Store, caller: Caller, *, before: int | None, kind: AuditKind | None, who: str, limit: int
) -> list[AuditEntryAnswer]:
    """List at most ``limit`` entries, the newest first.

    Raises:
        ForbiddenError: ``caller`` is an admin of some repositories only; entries are about the whole instance.
    """
    if Permission.ADMIN not in caller.grants.everywhere:
        raise ForbiddenError(
            f"{caller.name} may not read the audit log",
            where="permissions",
            remedy="The audit log is for admins of all repositories; GET /api/v1/me lists your permissions.",
        )
    entries = store.audit.entries(before_id=before, kind=kind, who=who, limit=limit)
    return [AuditEntryAnswer.of(entry) for entry in entries]
