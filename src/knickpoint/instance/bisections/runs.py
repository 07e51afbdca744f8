"""Run bisections: claim one, coordinate it, import its measurements, attach the answer to its finding.

While a bisection runs, a thread renews its lease and notices when a person stops it. A worker that ends in order
releases its bisection; after a kill, the lease ends. Either way another worker goes on from the journal.

The commits that it found, and those before them, are measured again under the profiler of the recipe. Profiles are
imported beside the results of their commits, so that the change states its cause. No value of a profiled run counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

from knickpoint.instance.bisections.second_repository import moved_beside, pins_of
from knickpoint.instance.bisections.store_journal import StoreJournal
from knickpoint.instance.instance import Instance
from knickpoint.instance.probes import import_probe_results, measured_elsewhere
from knickpoint.model.bisection import PROBE_FACT, BisectionState, ProbeOutcome, ProbePurpose, ProbeResult, Target
from knickpoint.model.errors import BusyError, InputError, KnickpointError, StoreError
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.bisect.coordinator import Bisection, BisectionAnswer, BisectionProgress
    from knickpoint.bisect.job import DevicePool, ProbeJob
    from knickpoint.bisect.search.problem import Level
    from knickpoint.model.commit import Repository
    from knickpoint.store.bisections import BisectionAnswer as StoredAnswer
    from knickpoint.store.bisections import BisectionRequest, StoredBisection, WaitingResults


_WAIT_SECONDS: Final = 0.5
_MOST_LOST: Final = 3
"""Probes that may be lost with their devices."""
_BENCHMARK: Final = "benchmark"


def profile_found_commits(
    instance: Instance,
    repository: Repository,
    bisection: Bisection,
    answer: BisectionAnswer,
    pool: DevicePool,
    *,
    trace: str,
    log: Callable[[str], None],
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Keep profiles of both sides of each culprit, or of the range that is left, in turns on one device.

    The profiler is that of the recipe; one that fails is a line in the log. They are of the benchmark of ``trace``,
    which a search that passes or fails has too. ``stop`` may raise, which ends the probe under way. Returns how many
    profiles were kept.

    Raises:
        StoreError: the store cannot be written.
    """
    from knickpoint.bisect.job import benchmark_pattern
    from knickpoint.bisect.profiling import ProfilerError, profiled_ends, profiled_recipe, read_profiler

    recipe, ends = bisection.recipe, profiled_ends(answer)
    benchmark = decode_key(trace).get(_BENCHMARK, "")
    if not recipe.profiler or not ends:
        return 0
    if not benchmark:
        log(f"not profiled: the trace {trace} names no benchmark")
        return 0
    kept = 0
    try:
        profiler = read_profiler(recipe.profiler)
        profiled = profiled_recipe(profiler, recipe, benchmark_pattern([trace]))
        run = _Runs(instance, repository, replace(bisection, recipe=profiled), pool, benchmark, profiler.remedy, stop)
        for places in ends:
            change = f"the change in {bisection.places[places[1]][:_SHORT]}" if len(ends) > 1 else "the change"
            for number in range(1, profiler.profiles + 1):
                for side in (0, 1) if number % 2 else (1, 0):
                    log(f"profile {number} of {profiler.profiles}, {('before', 'after')[side]} {change}")
                    run.profile(places[side], number)
                    kept += 1
    except StoreError:
        raise
    except (ProfilerError, InputError) as error:
        log(f"not profiled with {recipe.profiler}: {error}")
    except KnickpointError as error:
        log(f"not profiled: {error}")
    else:
        log(f"kept {counted(kept, 'profile')} of {benchmark}")
    return kept


@dataclass
class _Runs:
    """The profiled runs of one bisection: the device of the first one makes all."""

    instance: Instance
    repository: Repository
    bisection: Bisection
    pool: DevicePool
    benchmark: str
    remedy: str
    stop: Callable[[], bool]
    device: str = ""
    lost: int = 0

    def profile(self, place: int, number: int) -> None:
        """Make a profile of the commit at a place, and import it.

        Raises:
            ProfilerError: there is none.
        """
        from knickpoint.bisect.coordinator import JournalEntry
        from knickpoint.bisect.profiling import ProfilerError
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
            raise ProfilerError(result.reason or "it wrote no profile", remedy=self.remedy)
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


LEASE_SECONDS: Final = 60.0
"""How long a bisection stays with a worker that is silent."""
_RENEWALS: Final = 6
"""How often a lease is renewed before it would end."""
_SHORT: Final = 10


class _ReleasedError(Exception):
    """This process ends or has lost the lease; another one goes on."""


def run_bisection(
    instance: Instance,
    stored: StoredBisection,
    pool: DevicePool,
    *,
    worker: str,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[BisectionProgress], None] = lambda _: None,
) -> StoredBisection:
    """Claim a bisection and run it to its end; return it as it is then.

    ``stop`` says that this process ends: the bisection then goes on elsewhere. One that another worker holds is
    returned as it is.

    Raises:
        KnickpointError: the store, the repository or the pool fails; the bisection goes on later.
    """
    bisections = instance.store.bisections
    claimed = bisections.claim(worker, datetime.now(UTC), LEASE_SECONDS, only=stored.id)
    if claimed is None:
        return bisections.get(stored.id)
    return run_claimed_bisection(instance, claimed, pool, worker=worker, stop=stop, progress=progress)


def run_claimed_bisection(
    instance: Instance,
    claimed: StoredBisection,
    pool: DevicePool,
    *,
    worker: str,
    stop: Callable[[], bool],
    progress: Callable[[BisectionProgress], None] = lambda _: None,
) -> StoredBisection:
    """Run a bisection that ``worker`` has claimed; return it as it is then, ended or released.

    Raises:
        KnickpointError: as :func:`run_bisection`; the bisection is released.
    """
    try:
        return _run(instance, claimed, pool, worker=worker, stop=stop, progress=progress)
    finally:
        instance.store.bisections.release(claimed.id, worker)


def _run(
    instance: Instance,
    claimed: StoredBisection,
    pool: DevicePool,
    *,
    worker: str,
    stop: Callable[[], bool],
    progress: Callable[[BisectionProgress], None],
) -> StoredBisection:
    from knickpoint.bisect.coordinator.coordinate import coordinate
    from knickpoint.instance.bisections.second_repository import coordinate_both, other_range
    from knickpoint.store.bisections import BisectionAnswer as StoredAnswer
    from knickpoint.watch.bisections import put_on_finding

    bisections = instance.store.bisections
    try:
        request = bisection_of(instance, claimed)
    except InputError as error:
        gave_up = StoredAnswer(BisectionState.GAVE_UP, error.message)
        return put_on_finding(instance.store, claimed, gave_up, worker)
    journal = StoreJournal(
        bisections.journal(claimed.id, worker), request.trace, lambda: import_waiting_results(instance)
    )
    slots = claimed.request.slots
    repository = _repository(instance, claimed.request.repository_id)
    moved = moved_beside(instance, repository, (slots[0], slots[-1]))
    other, beside = None, ""
    try:
        other = other_range(request, moved)
    except InputError as error:
        # The main repository is searched all the same; the answer says what it leaves out, and what to do.
        beside = f"{error.message}. {error.remedy}"
    try:
        if beside:
            journal.log(beside)
        with _Lease(instance, claimed.id, worker).kept() as lease:

            def stopped() -> bool:
                return lease.check(ends=stop())

            if other is None:
                answer = coordinate(request, pool, journal, stop=stopped, progress=progress)
                trace = claimed.request.trace_key
                profile_found_commits(
                    instance, repository, request, answer, pool, trace=trace, log=journal.log, stop=stopped
                )
            else:
                answer = coordinate_both(request, other, pool, journal, stop=stopped, progress=progress)
    except (_ReleasedError, BusyError):
        bisections.release(claimed.id, worker)
        return bisections.get(claimed.id)
    import_waiting_results(instance)
    bisections.renew(claimed.id, worker, datetime.now(UTC) + timedelta(seconds=LEASE_SECONDS))
    journal.journal.state(answer.posterior, bisections.get(claimed.id).devices, None)
    reason = "; ".join(filter(None, (_reason(answer, request.places), beside)))
    stored_answer = _stored_answer(bisections.get(claimed.id), replace(answer, reason=reason))
    return put_on_finding(instance.store, claimed, stored_answer, worker)


def bisection_of(instance: Instance, stored: StoredBisection) -> Bisection:
    """Return the request of a stored bisection, as a coordinator takes it.

    Raises:
        InputError: as :func:`bisection_from`.
    """
    return bisection_from(instance, stored.name, stored.request)


def bisection_from(instance: Instance, name: str, asked: BisectionRequest) -> Bisection:
    """Return a request under a name, as a coordinator takes it.

    Raises:
        InputError: the recipe is gone or does something else than when it was asked for, or a commit is unknown.
    """
    from knickpoint.bisect.coordinator import Bisection
    from knickpoint.bisect.coordinator.revision_range import capped
    from knickpoint.instance.probes import absolute_recipe, git_location

    recipe = instance.config.bisect.get(asked.recipe)
    if recipe is None or recipe.digest != asked.digest:
        raise InputError(
            f"the recipe {asked.recipe} has changed since the bisection was requested"
            if recipe
            else f"the recipe {asked.recipe} no longer exists"
        )
    repository = _repository(instance, asked.repository_id)
    commits = {each.slot: each.commit.hash for each in instance.store.commits.get(repository, asked.slots)}
    if missing := [slot for slot in asked.slots if slot not in commits]:
        raise InputError(f"{len(missing)} commits of the range are no longer in {repository.name}")
    good, *rest = (commits[slot] for slot in asked.slots)
    locations = {"": git_location(instance, repository.name)}
    locations |= {name: git_location(instance, name) for name in recipe.also}
    shares = cast("Sequence[float] | None", asked.facts.get("shares"))
    return Bisection(
        id=name,
        locations=locations,
        good=good,
        commits=tuple(rest),
        recipe=absolute_recipe(instance, recipe),
        trace=asked.trace_key if recipe.results else "",
        before=_level(asked.facts.get("before")),
        after=_level(asked.facts.get("after")),
        movement=cast("int", asked.facts.get("movement", 0)),
        priors=capped(shares) if shares else None,
        pins=pins_of(instance, repository, asked.slots[-1], recipe.also),
        ingest=instance.ingest,
        added_params=cast("Mapping[str, str]", asked.facts.get("added_params", {})),
    )


def import_waiting_results(instance: Instance) -> int:
    """Import the results of probes that wait for it; return how many probes these were.

    What cannot be imported is in quarantine like any other file, and the probe names the reason.

    Raises:
        StoreError: the store cannot be written.
        HistoryError: a repository cannot be read.
    """
    count = 0
    while found := instance.store.bisections.waiting_results():
        for waiting in found:
            instance.store.bisections.finish_import(waiting.probe_id, _import(instance, waiting))
            count += 1
    return count


def _import(instance: Instance, waiting: WaitingResults) -> str:
    """Import the results of one probe; return why they could not be, "" where they are in, or stay in the journal.

    What another machine measured has levels of its own. It stays in the journal, where it is not a trace that a query
    averages with those of the history, or that an alert judges.
    """
    store = instance.store
    repository = _repository(instance, waiting.repository_id)
    (first, *_) = (store.bisections.get(int(name[1:])) for name in waiting.bisections)
    asked = first.request
    recipe = instance.config.bisect.get(asked.recipe)
    commits = {each.slot: each.commit.hash for each in store.commits.get(repository, [waiting.slot])}
    if recipe is None or waiting.slot not in commits:
        return "the recipe or the commit is gone"
    ends = (asked.slots[0], asked.slots[-1])
    if not recipe.same_machine and any(
        measured_elsewhere(instance, repository.name, ends, file, format=recipe.format) for file in waiting.files
    ):
        return ""
    result = ProbeResult(
        waiting.identity,
        Target(commits[waiting.slot], waiting.pins),
        waiting.device,
        ProbeOutcome.MEASURED,
        waiting.started,
        0.0,
        files=waiting.files,
    )
    try:
        summary = import_probe_results(
            instance,
            repository.name,
            result,
            execution=waiting.identity,
            format=recipe.format,
            params=cast("Mapping[str, str]", asked.facts.get("added_params", {})),
            environment={PROBE_FACT: " ".join(waiting.bisections)},
        )
    except StoreError:
        raise
    except KnickpointError as error:
        return str(error)
    return next((problem.message for file in summary.files for problem in file.problems if summary.failed), "")


@dataclass
class _Lease:
    """Keeps a bisection from other workers while this one runs it."""

    instance: Instance
    key: int
    worker: str
    lost: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)

    def check(self, *, ends: bool) -> bool:
        """Return True if a person stopped the bisection.

        Raises:
            _ReleasedError: the lease is lost, or this process ends.
        """
        if self.lost.is_set() or ends:
            raise _ReleasedError
        return self.stopped.is_set()

    @contextmanager
    def kept(self) -> Iterator[_Lease]:
        """Renew the lease in a thread while a ``with`` lasts."""
        done = threading.Event()
        thread = threading.Thread(target=self._renew, args=(done,), name=f"lease of B{self.key}", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            done.set()
            thread.join()

    def _renew(self, done: threading.Event) -> None:
        until = datetime.now(UTC) + timedelta(seconds=LEASE_SECONDS)
        while not done.is_set():
            try:
                now = datetime.now(UTC)
                if self.instance.store.bisections.get(self.key).stopped_by:
                    self.stopped.set()
                if (until - now).total_seconds() < LEASE_SECONDS * (1 - 1 / _RENEWALS):
                    until = now + timedelta(seconds=LEASE_SECONDS)
                    self.instance.store.bisections.renew(self.key, self.worker, until)
            except BusyError:
                self.lost.set()
                return
            except KnickpointError:
                if datetime.now(UTC) >= until:
                    self.lost.set()
                    return
            done.wait(1.0)


def _reason(answer: BisectionAnswer, places: Sequence[str]) -> str:
    """Return the reason of an answer in a line; where the search gave up, with the range that is the most probable."""
    if answer.state is not BisectionState.GAVE_UP or not answer.places:
        return answer.reason
    first, last = min(answer.places), max(answer.places)
    left = f"{places[first - 1][:_SHORT]}..{places[last][:_SHORT]} ({counted(len(answer.places), 'commit')})"
    return f"{answer.reason}; with a probability of {figure_text(answer.probability, '.0%')}, the change is in {left}"


def _stored_answer(stored: StoredBisection, answer: BisectionAnswer) -> StoredAnswer:
    """Return the answer of a coordinator in terms of the store: slots, and the range that is left."""
    from knickpoint.model.change_point import SuspectRange
    from knickpoint.store.bisections import BisectionAnswer as StoredAnswer

    slots, state = stored.request.slots, answer.state
    found = None
    if state in {BisectionState.CULPRIT, BisectionState.RANGE} and answer.places:
        first, last = min(answer.places), max(answer.places)
        found = SuspectRange(stored.request.line, slots[max(0, first - 1)], slots[last])
    named = state is BisectionState.CULPRIT or answer.several
    culprits = tuple(slots[place] for place in answer.places) if named else ()
    reason = f"{stored.stopped_by} stopped it." if state is BisectionState.STOPPED else answer.reason
    return StoredAnswer(state, reason, culprits, found, answer.probability)


def _repository(instance: Instance, key: int) -> Repository:
    return next(each for each in instance.store.commits.repositories() if each.id == key)


def _level(stated: object) -> Level:
    from knickpoint.bisect.search.problem import Level

    if not isinstance(stated, list):
        return Level()
    mean, deviation, count = stated
    return Level(float(mean), float(deviation), int(count))
