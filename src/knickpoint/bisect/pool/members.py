"""The two sides of a pool: what an agent offers and a device does, and what is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from knickpoint.bisect.job import Device, ProbeJob

__all__ = ["DeviceState", "DeviceStatus", "JobRequest", "Offer"]


class DeviceState(Enum):
    """What a device does; the values are those of ``knick devices --format json``.

    DRAINING: it ends its probe and takes no further one. GONE: no agent has joined for it.
    """

    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"
    DRAINED = "drained"
    GONE = "gone"

    @property
    def takes_jobs(self) -> bool:
        """Whether jobs may go to the device, now or after its probe."""
        return self in {DeviceState.IDLE, DeviceState.BUSY}


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """A device as people see it: what it does, since when, and the probes that it makes."""

    device: Device
    state: DeviceState
    since: datetime
    probes: tuple[str, ...] = ()
    progress: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """What an agent offers: a device. ``agent`` is the identity of its process, the same when it joins again."""

    device: Device
    agent: str


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job as it is submitted: it names a recipe of the configuration, and its digest, and brings no command."""

    job: ProbeJob
    digest: str
