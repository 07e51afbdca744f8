"""Assignment: which waiting jobs go to which devices now; pure.

The order among jobs is by priority, then by what their requesters have used so far, then by time of submission. So a
bisection that asks for a thousand probes does not hold up a second one: each gets its share of the devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from knickpoint.bisect.job import Device, ProbeJob

__all__ = ["Assignment", "assign", "can_share"]


@dataclass(frozen=True, slots=True)
class Assignment:
    """One probe to start: its device, and the jobs that its result serves; the first one is the job to make."""

    device: str
    jobs: tuple[ProbeJob, ...]


def assign(
    waiting: Sequence[ProbeJob],
    devices: Sequence[Device],
    free: Mapping[str, int],
    usage: Mapping[str, float],
    *,
    seconds: float = 1.0,
    most: int | None = None,
) -> tuple[Assignment, ...]:
    """Return the probes to start.

    ``waiting`` is in the order of submission. ``free`` has the number of free slots by name of the device. ``usage`` has the
    device seconds that each requester has used so far, probes under way included; ``seconds`` is what one more probe is
    expected to take. At most ``most`` probes start.

    Takes O(starts × jobs × devices).
    """
    left = list(waiting)
    slots = {device.name: free.get(device.name, 0) for device in devices}
    spent = dict(usage)
    found: list[Assignment] = []
    while left and (most is None or len(found) < most):
        open_devices = [device for device in devices if slots[device.name] > 0]
        fitting = [job for job in left if any(device.fits(job) for device in open_devices)]
        if not fitting:
            break
        # The next job: min() takes the first of equals, so that the order of submission decides.
        job = min(fitting, key=lambda job: (-job.priority, spent.get(job.requester, 0.0)))
        device = _device_for(job, open_devices, fitting)
        # Jobs of others that want the same are served by the same probe.
        jobs = (job, *_sharers(job, left, device))
        left = [job for job in left if all(job.probe != taken.probe for taken in jobs)]
        slots[device.name] -= 1
        for taken in jobs:
            spent[taken.requester] = spent.get(taken.requester, 0.0) + seconds / len(jobs)
        found.append(Assignment(device.name, jobs))
    return tuple(found)


def can_share(job: ProbeJob, jobs: Sequence[ProbeJob], device: Device) -> bool:
    """Return whether a probe of ``jobs`` on a device serves ``job`` as well: it measures the same, and reads it alike.

    Two jobs of one requester never share: they are two measurements of one commit, and one value counts once.
    """
    first = jobs[0]
    # The cheap comparisons come first: there are many jobs, and few are alike.
    return (
        job.target == first.target
        and all(job.requester != other.requester and job.probe != other.probe for other in jobs)
        and job.key == first.key
        and _reading(job) == _reading(first)
        and device.fits(job)
    )


def _reading(job: ProbeJob) -> tuple[object, ...]:
    """Return what decides how the results of a probe are read and named."""
    return replace(job.ingest, sources={}), dict(job.added_params)


def _sharers(job: ProbeJob, waiting: Sequence[ProbeJob], device: Device) -> list[ProbeJob]:
    found = [job]
    for other in waiting:
        if other.requester != job.requester and can_share(other, found, device):
            found.append(other)
    return found[1:]


def _device_for(job: ProbeJob, devices: Sequence[Device], waiting: Sequence[ProbeJob]) -> Device:
    """Return the device that the fewest waiting jobs could use, so that scarce devices stay free for those that need them."""
    choices = [device for device in devices if device.fits(job)]
    if len(choices) == 1:
        return choices[0]
    return min(choices, key=lambda device: (sum(device.fits(other) for other in waiting), device.name))
