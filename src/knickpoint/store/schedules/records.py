"""The probes of schedules as the store has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

__all__ = ["ChosenCommit", "SchedulePurpose", "ScheduledProbe", "ScheduledProbeState"]


class ScheduledProbeState(Enum):
    """Where a probe stands.

    SKIPPED: the commit cannot be built or measured. FAILED: devices were lost again and again, or the results cannot be used.
    Neither is made again.
    """

    WAITING = "waiting"
    RUNNING = "running"
    MEASURED = "measured"
    SKIPPED = "skipped"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        """Whether nothing more happens by itself."""
        return self not in {ScheduledProbeState.WAITING, ScheduledProbeState.RUNNING}


class SchedulePurpose(Enum):
    """Why a commit is measured: it is NEW, it narrows the range of a finding (FILL), or a person REQUESTED it."""

    NEW = "new"
    FILL = "fill"
    REQUESTED = "requested"


@dataclass(frozen=True, slots=True)
class ChosenCommit:
    """A commit that a schedule chose: why, the commits of the other repositories, and the change whose range it fills."""

    commit: str
    pins: tuple[tuple[str, str], ...] = ()
    purpose: SchedulePurpose = SchedulePurpose.NEW
    change: int = 0


@dataclass(frozen=True, slots=True)
class ScheduledProbe:
    """A probe of a schedule; ``attempts`` counts how often a device began with it.

    ``due`` is from when on it may run, or while it runs the end of the lease of ``worker``. ``seconds`` is the time that it took
    of a device.
    """

    id: int
    repository_id: int
    schedule: str
    choice: ChosenCommit
    state: ScheduledProbeState
    attempts: int
    worker: str
    due: datetime
    chosen: datetime
    ended: datetime | None
    device: str
    seconds: float
    reason: str

    @property
    def name(self) -> str:
        """The id of this attempt among all probes of the instance."""
        return f"schedule-{self.schedule}-{self.id}.{self.attempts}"
