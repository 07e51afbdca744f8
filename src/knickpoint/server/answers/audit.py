"""List the audit log."""

from __future__ import annotations

from knickpoint.model.audit import AuditKind
from knickpoint.server.schemas.audit import AuditEntryAnswer
from knickpoint.store import Store

__all__ = ["list_entries"]


def list_entries(
    store: Store, *, before: int | None, kind: AuditKind | None, who: str, limit: int
) -> list[AuditEntryAnswer]:
    """List at most ``limit`` entries, the newest first."""
    entries = store.audit.entries(before_id=before, kind=kind, who=who, limit=limit)
    return [AuditEntryAnswer.of(entry) for entry in entries]
