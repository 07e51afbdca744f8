"""Schedules: which commits are measured, what waits, and the budget of filling."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.server.schemas.base import Answer, ChangeId

__all__ = ["ScheduleAnswer", "ScheduledProbeAnswer"]


class ScheduledProbeAnswer(Answer):
    """A probe of a schedule: a commit that is measured, or was."""

    schedule: str
    commit: str = Field(description="Hash of the commit.")
    purpose: str = Field(description="Why it was chosen: `new`, `fill` or `requested`.")
    change: ChangeId | None = Field(description="The change whose suspect range it narrows; null without one.")
    pins: dict[str, str] = Field(
        description="The commits of other repositories that it is measured with, by repository."
    )
    state: str = Field(description="`waiting`, `running`, `measured`, `skipped` or `failed`.")
    attempts: int = Field(description="How often a device began with it.")
    device: str
    seconds: float = Field(description="Time that it took of a device.")
    chosen: datetime
    reason: str = Field(description="Why it waits, or has no results; empty without a reason.")


class ScheduleAnswer(Answer):
    """A schedule as it stands now."""

    name: str
    repository: str
    branch: str
    policy: str = Field(description="Which commits it measures, in words.")
    new: int = Field(description="Commits newer than the last one that it measured.")
    due: datetime | None = Field(description="When the next commit is measured at the latest; null where none is new.")
    states: dict[str, int] = Field(description="Number of its probes by state.")
    fill_hours: float = Field(description="Device hours that filling suspect ranges may take in 24 hours.")
    fill_spent_hours: float = Field(description="Device hours that filling took in the last 24 hours.")
    problem: str = Field(description="Why it cannot be run, or that it falls behind; empty where all is well.")
    remedy: str
    last: ScheduledProbeAnswer | None = Field(description="Its probe that ended last; null before the first.")
    newest: list[ScheduledProbeAnswer] = Field(description="Its newest probes, at most 20.")
