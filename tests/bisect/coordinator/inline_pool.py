"""A pool that makes real probes in this process, one after the other, for tests that need no process for each probe."""

from __future__ import annotations

from collections.abc import Sequence

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.bisect.runner import Workspace, run_probe
from knickpoint.model.bisection import ProbeResult


class InlinePool:
    """Keeps the jobs in the order in which they came, and makes the first of them with each wait."""

    def __init__(self, workspace: Workspace, devices: Sequence[str] = ("one",)) -> None:
        self.workspace = workspace
        self.names = tuple(devices)
        self.waiting: dict[str, ProbeJob] = {}
        self.made: list[str] = []

    def devices(self) -> tuple[Device, ...]:
        return tuple(Device(name) for name in self.names)

    def submit(self, job: ProbeJob) -> None:
        self.waiting.setdefault(job.probe, job)

    def cancel(self, probe: str) -> None:
        self.waiting.pop(probe, None)

    def wait(self, seconds: float) -> Sequence[ProbeResult]:  # noqa: ARG002 - a probe takes as long as it takes
        if not self.waiting:
            return ()
        probe = next(iter(self.waiting))
        self.made.append(probe)
        return (run_probe(self.waiting.pop(probe), self.workspace, self.names[0]),)

    def close(self) -> None:
        self.waiting.clear()
