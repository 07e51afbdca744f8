"""The interface of every pool of devices: jobs in, results out, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.model.bisection import ProbeResult

__all__ = ["DevicePool"]


class DevicePool(Protocol):
    """Makes probes on devices.

    A device that dies, hangs or loses its network costs one probe: its result has the outcome LOST, and the caller submits
    the job again under a new id. A result is returned once.
    """

    def devices(self) -> tuple[Device, ...]:
        """Return the devices that take jobs now, by name."""

    def submit(self, job: ProbeJob) -> None:
        """Take a job; it waits until a device that fits is free. The same probe id twice is one job."""

    def cancel(self, probe: str) -> None:
        """Drop a job, and end it where it runs, unless other jobs share its probe; it has no result."""

    def wait(self, seconds: float) -> Sequence[ProbeResult]:
        """Return the results since the last call, as soon as there is one, or none after ``seconds``."""

    def close(self) -> None:
        """End the jobs that this pool submitted, and release its processes and connections."""
