"""Measure the commit that a bisection found, and the one before it, again under the profiler of the recipe.

The profiles are imported beside the results of their commits, so that the change states its cause. No value of a
profiled run counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knickpoint.instance.instance import Instance
from knickpoint.instance.probes import import_probe_results
from knickpoint.model.bisection import BisectionState, ProbeOutcome, ProbePurpose, ProbeResult
from knickpoint.model.errors import InputError, KnickpointError, StoreError
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from knickpoint.bisect.coordinator import Bisection, BisectionAnswer
    from knickpoint.bisect.job import DevicePool, ProbeJob
    from knickpoint.model.commit import Repository

_WAIT_SECONDS: Final = 0.5
_MOST_LOST: Final = 3
"""Probes that may be lost with their devices."""
_BENCHMARK: Final = "benchmark"


def profile_found_commit(
    instance: Instance,
    repository: Repository,
    bisection: Bisection,
    answer: BisectionAnswer,
    pool: DevicePool,
    *,
    log: Callable[[str], None],
    stop: Callable[[], bool],
) -> None:
    """Keep profiles of both sides of a culprit, in turns on one device; a profiler that fails is a line in the log.

    ``stop`` may raise, which ends the probe under way.

    Raises:
        StoreError: the store cannot be written.
    """
    from knickpoint.bisect.profiling import ProfilerError, profiled_recipe, read_profiler

    recipe = bisection.recipe
    benchmark = decode_key(bisection.trace).get(_BENCHMARK, "") if bisection.trace else ""
    if not recipe.profiler or answer.state is not BisectionState.CULPRIT:
        return
    if not benchmark:
        log(f"not profiled: the trace {bisection.trace or 'of the search'} names no benchmark")
        return
    from knickpoint.bisect.job import benchmark_pattern

    try:
        profiler = read_profiler(recipe.profiler)
        profiled = profiled_recipe(profiler, recipe, benchmark_pattern([bisection.trace]))
        run = _Runs(instance, repository, replace(bisection, recipe=profiled), pool, benchmark, stop)
        for number in range(1, profiler.profiles + 1):
            for side in (0, 1) if number % 2 else (1, 0):
                log(f"profile {number} of {profiler.profiles}, {('before', 'after')[side]} the change")
                run.profile(answer.places[0] - 1 + side, number)
    except StoreError:
        raise
    except (ProfilerError, InputError) as error:
        log(f"not profiled with {recipe.profiler}: {error}")
    except KnickpointError as error:
        log(f"not profiled: {error}")
    else:
        log(f"kept {counted(2 * profiler.profiles, 'profile')} of {benchmark}")


@dataclass
class _Runs:
    """The profiled runs of one bisection: the device of the first one makes all."""

    instance: Instance
    repository: Repository
    bisection: Bisection
    pool: DevicePool
    benchmark: str
    stop: Callable[[], bool]
    device: str = ""
    lost: int = 0

    def profile(self, place: int, number: int) -> None:
        """Make a profile of the commit at a place, and import it.

        Raises:
            ProfilerError: there is none.
        """
        from knickpoint.bisect.coordinator import JournalEntry
        from knickpoint.bisect.profiling import ProfilerError, read_profiler
        from knickpoint.bisect.search.problem import PlannedProbe

        name = f"{self.bisection.id}-profile-{place}-{number}"
        while True:
            planned = PlannedProbe(place, self.device, ProbePurpose.VERIFY)
            probe = f"{name}-{self.lost}"
            result = self._made(self.bisection.job(JournalEntry(probe, planned, self.bisection.target(place))))
            if result.outcome is not ProbeOutcome.LOST or self.lost == _MOST_LOST:
                break
            self.lost, self.device = self.lost + 1, ""
        if not result.files:
            remedy = read_profiler(self.instance.config.bisect[self.bisection.recipe.name].profiler).remedy
            raise ProfilerError(result.reason or "it wrote no profile", remedy=remedy)
        self.device = result.device
        largest = max(result.files, key=lambda file: len(file.content))  # the others only started another process
        summary = import_probe_results(
            self.instance,
            self.repository.name,
            replace(result, files=(largest,)),
            execution=name,
            format=self.bisection.recipe.format,
            params={**self.bisection.added_params, _BENCHMARK: self.benchmark},
        )
        if summary.failed:
            raise ProfilerError(next(problem.message for file in summary.files for problem in file.problems))

    def _made(self, job: ProbeJob) -> ProbeResult:
        from knickpoint.bisect.profiling import ProfilerError

        self.pool.submit(job)
        try:
            while True:
                if self.stop():
                    raise ProfilerError("a person stopped the bisection")
                for result in self.pool.wait(_WAIT_SECONDS):
                    if result.probe == job.probe:
                        return result
        finally:
            self.pool.cancel(job.probe)
