"""The job of one probe: what a device needs to know to make it, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from knickpoint.bisect.settings import DeviceUse, RecipeSettings
from knickpoint.ingest.settings import IngestSettings
from knickpoint.model.bisection import Target

__all__ = ["Device", "ProbeJob"]


@dataclass(frozen=True, slots=True)
class Device:
    """A machine that makes probes: its name, its params, what it is for, how many probes it makes at once."""

    name: str
    params: Mapping[str, str] = field(default_factory=dict)
    use: DeviceUse = DeviceUse.ALL
    slots: int = 1

    def fits(self, job: ProbeJob) -> bool:
        """Return whether it has the params that the job asks for, serves its use, and is the device that it names, if any."""
        wanted = job.recipe.params
        return (
            (not job.device or job.device == self.name)
            and self.use in {DeviceUse.ALL, job.use}
            and all(self.params.get(name) == value for name, value in wanted.items())
        )


@dataclass(frozen=True, slots=True)
class ProbeJob:
    """One probe to make.

    ``probe`` is its id, unique in the instance; a job that is submitted again with it is the same probe. ``requester``
    names the bisection or schedule (``B12``, ``schedule nightly``), for fair shares. ``locations`` has the git address or path of
    each repository that takes part: the main one under "", others by name. ``device`` is the device that has to make it,
    "" for any that fits. ``priority``: larger goes first. ``ingest`` says how the results are read and their traces named,
    as in an import; its sources do not matter here. ``added_params`` join every trace key.
    """

    probe: str
    target: Target
    recipe: RecipeSettings
    locations: Mapping[str, str]
    requester: str
    use: DeviceUse = DeviceUse.BISECT
    device: str = ""
    priority: int = 0
    ingest: IngestSettings = field(default_factory=IngestSettings)
    added_params: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The key of what it measures: jobs of one key may share one probe, see :class:`~knickpoint.model.bisection.Target`."""
        return self.target.key(self.recipe.digest)
