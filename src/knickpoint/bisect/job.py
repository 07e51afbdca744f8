"""The job of one probe, and the interface of every pool of devices: jobs in, results out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from knickpoint.bisect.settings import DeviceUse, RecipeSettings
from knickpoint.ingest.settings import IngestSettings
from knickpoint.model.bisection import ProbeResult, Target
from knickpoint.model.params import decode_key
from knickpoint.model.quantity_text import trace_name

# The job of one probe: what a device needs to know to make it, and nothing else.


@dataclass(frozen=True, slots=True)
class Device:
    """A machine that makes probes: its name, its params, what it is for, how many probes it makes at once."""

    name: str
    params: Mapping[str, str] = field(default_factory=dict)
    use: DeviceUse = DeviceUse.ALL
    slots: int = 1

    def fits(self, job: ProbeJob) -> bool:
        """Return True if the device has the params of the job, serves its use, and is the one that it names, if any."""
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
    names the bisection or schedule (``B12``, ``schedule nightly``), for fair shares. ``locations`` has the git address
    or path of each repository that takes part: the main one under "", others by name. ``device`` is the device that has
    to make it, "" for any that fits. ``priority``: larger goes first. ``ingest`` says how the results are read and
    their traces named, as in an import; its sources do not matter here. ``added_params`` join every trace key.
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
        """The key of what it measures: jobs with one key may share a probe, see ``model.bisection.Target``."""
        return self.target.key(self.recipe.digest)


BENCHMARKS: Final = "{benchmarks}"
"""In a measure command or a variable: a pattern of the benchmarks to run."""

OUT: Final = "{out}"
"""In the command of a profiler: the file to write."""

PROFILE_FILE: Final = ".knickpoint.profile"
"""That file, in the worktree; some profilers add the number of each process."""

BUILD: Final = "{build}"
"""In a build command: the number of the build, 1 where a commit is built once."""

BUILD_VARIABLE: Final = "KNICKPOINT_BUILD"


_SPECIAL: Final = re.compile(r"[.^$*+?()[\]{}|\\]")


def benchmark_pattern(traces: Sequence[str]) -> str:
    """Write a regular expression that finds the names of benchmarks, and no more than all tools read."""
    names = dict.fromkeys(trace_name(decode_key(trace))[0] for trace in traces)
    return f"({'|'.join(_SPECIAL.sub(lambda found: chr(92) + found[0], name) for name in names)})"


@dataclass(frozen=True, slots=True)
class Variation:
    """How one run of the measure command differs from the others of its job.

    ``prefix`` is a program that starts the command, ``environment`` are more variables. ``benchmarks`` is a regular
    expression of the benchmarks to run, where the command takes one.
    """

    prefix: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    benchmarks: str = ".*"

    def command(self, measure: Sequence[str]) -> tuple[str, ...]:
        """Return the command to run in place of ``measure``."""
        return (*self.prefix, *(word.replace(BENCHMARKS, self.benchmarks) for word in measure))

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the variables in place of ``environment``."""
        filled = {name: value.replace(BENCHMARKS, self.benchmarks) for name, value in environment.items()}
        return {**filled, **self.environment}


# The interface of every pool of devices: jobs in, results out, in any order.


class DevicePool(Protocol):
    """Makes probes on devices.

    A device that dies, hangs or loses its network costs one probe: its result has the outcome LOST, and the caller
    submits the job again under a new id. A result is returned once.
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
