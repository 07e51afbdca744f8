"""Compare two commits: prepare and build both, measure them in turns, and judge after each round."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from knickpoint.bisect.comparison.judgement import ComparisonRules, RoundsJudge
from knickpoint.bisect.comparison.paired_values import COMMAND_KEY, COMPLETE, MeasuredValue
from knickpoint.bisect.comparison.shapes import SampleShape
from knickpoint.bisect.job import BENCHMARKS, ProbeJob, Variation, benchmark_pattern
from knickpoint.bisect.runner import Workspace, run_probe
from knickpoint.bisect.runner.machine_slots import machine_slot
from knickpoint.bisect.settings import RecipeSettings
from knickpoint.ingest.settings import IngestSettings
from knickpoint.model.bisection import ProbeOutcome, ProbeResult, Target
from knickpoint.model.errors import KnickpointError
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import percent_text, trace_name
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better

_MOST_FAILURES: Final = 3
"""Runs of one side that may fail after the warm-up; each costs a round."""

_MOST_NEEDS: Final = 20
"""Benchmarks of which a report says what they would need."""

_PILOT: Final = 6
"""Rounds from which on the noise is known well enough to state a plan."""

_ALTERED: Final = 1.25
"""Factor by which a plan has to change before it is stated again."""

_SIDES: Final = ("base", "head")


class SideFailedError(KnickpointError):
    """One side cannot be built or measured: there is nothing to compare."""


class SideSkippedError(SideFailedError):
    """A step of one side ended with exit code 125: that commit cannot be judged."""


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What to compare: two full hashes of the repository at ``location``, and how they are built and measured.

    ``minutes`` is the time that rounds may take, 0 without a limit; a round that has begun comes to its end.
    """

    location: str
    base: str
    head: str
    recipe: RecipeSettings
    rules: ComparisonRules = field(default_factory=ComparisonRules)
    minutes: float = 0.0
    ingest: IngestSettings = field(default_factory=IngestSettings)
    added_params: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ComparisonEnd:
    """What was found, after how many rounds that count, and why there are no more.

    ``failures`` are the runs that cost a round, in one line each. ``needs`` says what each benchmark would need that
    could not be decided.
    """

    benchmarks: tuple[JudgedBenchmark, ...]
    rounds: int
    reason: str
    failures: tuple[str, ...] = ()
    interrupted: bool = False
    needs: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether there are benchmarks, and none waits for rounds that were not made.

        A limit that is reached leaves a verdict.
        """
        waiting = [each for each in self.benchmarks if not each.settled]
        if not waiting:
            return bool(self.benchmarks)
        return not self.interrupted and all(each.verdict is not Verdict.NO_DATA for each in waiting)


@dataclass(frozen=True, slots=True)
class Round:
    """What the runs of base and head gave, by trace, and the messages of the benchmarks that failed.

    At most ``expected`` rounds could be made in all. ``lost`` is the side whose run gave no values, "" if both did.
    """

    values: tuple[Mapping[str, MeasuredValue], Mapping[str, MeasuredValue]] = ({}, {})
    failed: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    expected: int = 0
    lost: str = ""


@dataclass
class Comparison:
    """A comparison that is under way; what is known so far can be read at any time, after an interruption too.

    ``progress`` is called with a line for each step and each round. ``noise`` gives what a history knows of the noise
    of benchmarks (:class:`RoundsJudge`), and ``keep`` is called with the results of each round by side. ``clock`` gives
    seconds. ``note`` is called with each round, the warm-up first; a comparison that is begun with these as ``earlier``
    goes on behind them.
    """

    request: ComparisonRequest
    workspace: Workspace
    device: str
    progress: Callable[[str], None] = lambda _: None
    noise: Callable[[Collection[str]], Mapping[str, float]] = lambda _: {}
    keep: Callable[[Mapping[str, ProbeResult]], None] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    failures: list[str] = field(default_factory=list)
    earlier: Sequence[Round] = ()
    note: Callable[[Round], None] = lambda _: None

    def __post_init__(self) -> None:
        """Begin with the earlier rounds."""
        self.judge = RoundsJudge(self.request.rules)
        self._random = random.Random(self.request.rules.seed)  # noqa: S311 - the order of measurements, no secret
        self._failed = dict.fromkeys(_SIDES, 0)
        self._probes = 0
        self._announced = 0
        self._round_seconds: list[float] = []
        self._seconds_each: list[float] = []
        recipe = self.request.recipe
        self._filtered = any(BENCHMARKS in text for text in (*recipe.measure, *recipe.environment.values()))
        for each in self.earlier:
            self._take(each)
            self._probes += len(_SIDES)
        for _ in self.earlier[1:]:
            self._draw_order()

    def end(self, reason: str, *, interrupted: bool = False, planned: bool = False) -> ComparisonEnd:
        """Return the end of the comparison as known now; it was ``planned`` where rounds or time are used up."""
        self.judge.conclude(planned=planned)
        known = self.judge.benchmarks
        return ComparisonEnd(known, self.judge.rounds, reason, tuple(self.failures), interrupted, tuple(self._needs()))

    def _needs(self) -> Iterator[str]:
        """Name what the benchmarks would need that are not decided, the nearest first."""
        open_ones = [each.trace for each in self.judge.benchmarks if not each.settled and each.samples]
        for trace in sorted(open_ones, key=self.judge.missing)[:_MOST_NEEDS]:
            missing = self.judge.missing(trace)
            yield (
                f"{trace_name(decode_key(trace))[0]} is not decided: to find or exclude a change of"
                f" {percent_text(self.request.rules.find)}, it needs about {counted(missing, 'more round')}"
                f"{self._duration(missing)}"
            )

    def _duration(self, rounds: int) -> str:
        """Estimate how long so many rounds take, "" before the first one."""
        if not self._round_seconds:
            return ""
        return f", {duration_text(rounds * statistics.median(self._round_seconds))}"

    def _announce_plan(self) -> None:
        """Announce how many rounds it takes to find or exclude the change to find, whenever that alters much."""
        rules, open_ones = self.request.rules, [each.trace for each in self.judge.benchmarks if not each.settled]
        rounds = max((self.judge.planned.get(each, 0) for each in open_ones), default=0)
        known = self.judge.rounds >= _PILOT or (not self.judge.rounds and self.judge.noise)
        if not known or not rounds or 1 / _ALTERED < (rounds / max(1, self._announced)) < _ALTERED:
            return
        self._announced = rounds
        self.progress(
            f"plan: {counted(rounds, 'round')}{self._duration(rounds)}, to find or exclude a change of"
            f" {percent_text(rules.find)} with a power of {percent_text(rules.power)}, at a rate of false positives of"
            f" {percent_text(rules.false_positives)} for all {counted(len(self.judge.benchmarks), 'benchmark')}"
            + (f"; at most {rules.most_rounds:,} are made" if rounds > rules.most_rounds else "")
        )

    def run(self) -> ComparisonEnd:
        """Make rounds until every benchmark is decided, or the rounds or the time are used up.

        Raises:
            SideFailedError: a side cannot be prepared, built or measured.
        """
        started = self.clock()
        if not reason_of_end(self.judge, self.request, 0.0):
            self._warm_up()
        while not (reason := reason_of_end(self.judge, self.request, self.clock() - started)):
            self._announce_plan()
            chosen = self._choose(
                60 * self.request.minutes - (self.clock() - started) if self.request.minutes else math.inf
            )
            with self._slot():
                began = self.clock()
                self._round(chosen)
                self._note_time(self.clock() - began, len(chosen) or len(self.judge.benchmarks))
        return self.end(reason, planned=not self.judge.finished)

    def _warm_up(self) -> None:
        """Build both sides before any measurement, which a build would disturb; the values of this round do not count."""
        with self._slot():
            warm = {side: self._measure(side) for side in _SIDES}
        for side, result in warm.items():
            self._check_first(side, result)
        if not self.judge.benchmarks:
            self._note_round(warm)
        if not self.judge.benchmarks:
            raise SideFailedError("the results have no value")

    def _note_round(self, results: Mapping[str, ProbeResult]) -> None:
        base, head = (results[side] for side in _SIDES)
        values = measured_values(base), measured_values(head)
        measured = Round(values, (base.failed, head.failed), self.judge.most)
        self._take(measured)
        self.note(measured)

    def _take(self, measured: Round) -> None:
        """Judge by a round; the first one is the warm-up."""
        if measured.lost:
            self._failed[measured.lost] += 1
            return
        self.judge.note_failures(*measured.failed)
        if not self.judge.benchmarks:
            self.judge.noise = self.noise(list(dict.fromkeys(key for values in measured.values for key in values)))
            self.judge.warm_up(*measured.values)
            return
        self.judge.expect(measured.expected)
        self.judge.add(*measured.values)

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """Keep probes of bisections and schedules from this machine; between two rounds, one that waits goes first."""
        line = "waits for a probe of another program on this machine"
        with machine_slot(self.workspace.directory, waits=lambda: self.progress(line)):
            yield

    def _choose(self, left: float) -> Sequence[str]:
        """Choose the benchmarks of the next round, empty for all, so that most are decided in the seconds ``left``.

        Each round takes its time for each benchmark. Those that need the fewest rounds go first, as far as their rounds
        fit into the time; if none fits, all share it. It depends on the sizes of differences and not on their signs,
        but for benchmarks that are decided.
        """
        judge = self.judge
        open_ones = sorted((each.trace for each in judge.benchmarks if not each.settled), key=judge.missing)
        if left < math.inf and self._seconds_each:
            seconds = statistics.median(self._seconds_each)
            measured_at_once = len(open_ones) if self._filtered else len(judge.benchmarks)
            judge.expect(judge.rounds + max(1, int(left / (seconds * max(1, measured_at_once)))))
            if self._filtered and judge.rounds >= COMPLETE:
                needed = list(accumulate(seconds * judge.missing(each) for each in open_ones))
                open_ones = open_ones[: sum(each <= left for each in needed)] or open_ones
        if not self._filtered or judge.rounds < judge.rules.least_rounds or len(open_ones) == len(judge.benchmarks):
            return ()
        return open_ones

    def _note_time(self, seconds: float, benchmarks: int) -> None:
        self._round_seconds.append(seconds)
        self._seconds_each.append(seconds / benchmarks)

    def _round(self, chosen: Sequence[str]) -> None:
        """Measure both sides once, in random order, and judge; a run that fails costs the round.

        Only the ``chosen`` benchmarks are measured, if there are any and the command can.
        """
        order = self._draw_order()
        name = f"round {self.judge.rounds + 1}"
        results = {}
        for side in order:
            result = self._measure(side, chosen)
            if chosen and not (is_measured(result) and set(chosen) & set(result.measured)):
                self._filtered = False
                self.progress(f"{name}: {BENCHMARKS} matched nothing, so all benchmarks are measured from now on")
                return
            if not is_measured(result):
                self._note_failure(side, name, result)
                return
            results[side] = result
        self.keep(results)
        self._note_round(results)
        decided = sum(each.settled for each in self.judge.benchmarks)
        self.progress(f"{name}: {decided:,} of {len(self.judge.benchmarks):,} benchmarks decided")

    def _draw_order(self) -> Sequence[str]:
        order = list(_SIDES)
        self._random.shuffle(order)
        return order

    def run_with(self, side: int, recipe: RecipeSettings) -> ProbeResult:
        """Run another command at a side, 0 for the base: nothing of it counts."""
        with self._slot():
            return self._measure(_SIDES[side], recipe=recipe)

    def _measure(self, side: str, chosen: Sequence[str] = (), recipe: RecipeSettings | None = None) -> ProbeResult:
        """Run the command of one side once, for the ``chosen`` benchmarks."""
        request = self.request
        self._probes += 1
        commit = request.base if side == "base" else request.head
        job = ProbeJob(
            f"compare-{self._probes}",
            Target(commit),
            recipe or request.recipe,
            {"": request.location},
            "compare",
            ingest=request.ingest,
            added_params=request.added_params,
        )
        steps = ("prepare", "build", "fetch artefact")

        def step(text: str) -> None:
            if text in steps:
                self.progress(f"{side} {commit[:12]}: {text}")

        variation = Variation(benchmarks=benchmark_pattern(chosen)) if chosen else None
        return run_probe(job, self.workspace, self.device, progress=step, variation=variation)

    def _check_first(self, side: str, result: ProbeResult) -> None:
        if not is_measured(result):
            failed = SideSkippedError if result.declined else SideFailedError
            raise failed(
                f"the {side} cannot be measured: {result.reason}",
                where=result.target.commit[:12],
                remedy=_last_lines(result.output),
            )

    def _note_failure(self, side: str, name: str, result: ProbeResult) -> None:
        line = f"{name}: the {side} gave no values: {result.reason}"
        self.failures.append(line)
        self.progress(line)
        lost = Round(lost=side)
        self._take(lost)
        self.note(lost)
        if self._failed[side] >= _MOST_FAILURES:
            raise SideFailedError(
                f"the {side} failed {_MOST_FAILURES} times: {result.reason}",
                where=result.target.commit[:12],
                remedy=_last_lines(result.output),
            )


def reason_of_end(judge: RoundsJudge, request: ComparisonRequest, seconds: float = math.inf) -> str:
    """Name the reason against another round after so many seconds, "" for none."""
    if judge.finished:
        return "every benchmark is decided"
    if judge.rounds >= request.rules.most_rounds:
        return "no more are made (--most-rounds)"
    used_up = request.minutes and seconds > 60 * request.minutes
    return f"the time of {request.minutes:g} minutes is used up" if used_up else ""


def is_measured(result: ProbeResult) -> bool:
    """Whether a probe has values, or at least the time of its command."""
    return result.outcome in {ProbeOutcome.MEASURED, ProbeOutcome.PASSED}


def measured_values(result: ProbeResult) -> dict[str, MeasuredValue]:
    """Return the values by trace key, with their directions; without results, the time of the command."""
    if result.outcome is ProbeOutcome.PASSED:
        return {COMMAND_KEY: MeasuredValue(statistics.median(result.command_seconds), "s", Better.LOWER)}
    return {
        key: MeasuredValue(
            measured.value, measured.unit, result.better.get(key, Better.UNKNOWN), SampleShape.of(measured.samples)
        )
        for key, measured in result.measured.items()
    }


def duration_text(seconds: float) -> str:
    """Render a duration in the largest unit that leaves at least 2 of it: ``90 s``, ``34 minutes``."""
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def _last_lines(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()][-3:]
    return f"It printed at its end: {' | '.join(lines)}" if len(lines) > 1 else ""
