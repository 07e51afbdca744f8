"""Entries of the audit log."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.audit import AuditKind
from knickpoint.server.schemas.base import Answer

__all__ = ["AuditEntryAnswer"]


class AuditEntryAnswer(Answer):
    """One entry of the audit log."""

    id: int
    time: datetime
    kind: AuditKind
    who: str = Field(description="Name of the caller: a mail address or user name, `token:NAME`, or that of a CI job.")
    about: str = Field(description="What the caller did, in words.")
    address: str = Field(description="Network address that the request came from; empty for a command.")
