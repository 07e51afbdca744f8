"""A bisection as it is asked for, while it runs and as it ends, and what the search learns from its journal."""

from __future__ import annotations

import difflib
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.bisect.search.problem import Level, Observation, PlannedProbe
from knickpoint.bisect.settings import DeviceUse, RecipeSettings
from knickpoint.detect.outliers import student_quantile
from knickpoint.ingest.settings import IngestSettings
from knickpoint.model.bisection import BisectionState, ProbeOutcome, ProbeResult, Target
from knickpoint.model.params import decode_key, key_text
from knickpoint.model.posterior import Posterior


@dataclass(frozen=True, slots=True)
class Bisection:
    """A request to find the commit that made a change.

    Attributes:
        id: unique in the instance, as in ``B12``; the ids of its probes begin with it.
        locations: the git address or absolute path of each repository that takes part: the main one under "".
        good: the full hash of the good end.
        commits: the full hashes after it, oldest first, up to and with the bad end; at least one.
        recipe: how a commit is built and measured, and what the search may spend.
        trace: the key of the trace that moved. "" takes the first trace of the first results; without results in the
            recipe, probes pass or fail.
        before: what the history knows of the level of the good end, and ``after`` that of the bad end.
        movement: +1 where the value rose, -1 where it fell, 0 where either is possible.
        priors: the probability of each of ``commits``, None where all are alike.
        pins: the commits of the other repositories, by name.
        varied: the name of the repository whose commits are searched, "" for the main one. With a name, ``fixed`` is
            the commit of the main repository in all probes.
        error: where probes pass or fail: how often an answer is wrong.
        use: which devices take its probes; ``priority``: larger goes first.
        ingest: how results are read and named; ``added_params`` join every trace key.
    """

    id: str
    locations: Mapping[str, str]
    good: str
    commits: tuple[str, ...]
    recipe: RecipeSettings
    trace: str = ""
    before: Level = field(default_factory=Level)
    after: Level = field(default_factory=Level)
    movement: int = 0
    priors: tuple[float, ...] | None = None
    pins: tuple[tuple[str, str], ...] = ()
    varied: str = ""
    fixed: str = ""
    error: float = 0.0
    use: DeviceUse = DeviceUse.BISECT
    priority: int = 0
    ingest: IngestSettings = field(default_factory=IngestSettings)
    added_params: Mapping[str, str] = field(default_factory=dict)

    @property
    def measures(self) -> bool:
        """Whether probes measure values; else they pass or fail."""
        return bool(self.recipe.results)

    @property
    def places(self) -> tuple[str, ...]:
        """The commits by place: the good end at 0, the bad end last."""
        return (self.good, *self.commits)

    def target(self, place: int) -> Target:
        """Return the target of a probe at ``place``: the commit and its pins."""
        if self.varied:
            pins = {**dict(self.pins), self.varied: self.places[place]}
            return Target(self.fixed, tuple(sorted(pins.items())))
        return Target(self.places[place], self.pins)

    def job(self, entry: JournalEntry) -> ProbeJob:
        """Return the job of the pool for ``entry``."""
        return ProbeJob(
            entry.probe,
            entry.target,
            self.recipe,
            self.locations,
            self.id,
            use=self.use,
            device=entry.planned.device,
            priority=self.priority,
            ingest=self.ingest,
            added_params=self.added_params,
        )


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A probe of a bisection: its id, what it was planned for, what it measures, and its result once there is one."""

    probe: str
    planned: PlannedProbe
    target: Target
    result: ProbeResult | None = None


@dataclass(frozen=True, slots=True)
class BisectionProgress:
    """Where a bisection stands: its probes in the order in which they began, and what is known.

    ``trace`` is the key that is followed, "" while it is not known. ``seconds_left`` is an estimate, None where there
    is nothing to estimate from.
    """

    entries: tuple[JournalEntry, ...]
    posterior: Posterior
    devices: tuple[Device, ...]
    trace: str = ""
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class LevelEstimate:
    """The level of one side of a culprit: the mean of the probes there, a 95 % interval of it, and their number.

    The interval is None where one probe is all there is.
    """

    mean: float
    interval: tuple[float, float] | None
    count: int
    unit: str = ""


@dataclass(frozen=True, slots=True)
class BisectionAnswer:
    """The end of a bisection.

    ``places`` are those of the culprits, or of the commits that are left; ``probability`` is that of what is stated.
    ``reason`` says in one line what is not decided, or why there is no culprit. ``before`` and ``after`` are the levels
    on both sides, None where nothing was measured or where no culprit separates them. With ``several``, each of
    ``places`` is a culprit of a change of its own; the state is RANGE then.
    """

    state: BisectionState
    places: tuple[int, ...]
    probability: float
    posterior: Posterior
    reason: str = ""
    trace: str = ""
    before: LevelEstimate | None = None
    after: LevelEstimate | None = None
    entries: tuple[JournalEntry, ...] = ()
    several: bool = False


# The journal: what a coordinator writes down before and after each probe, so that a kill loses and repeats nothing.


class Journal(Protocol):
    """Keeps the probes of one bisection.

    A method returns when what it writes would survive a kill. It may raise ``StoreError`` where another process took
    the bisection over: the coordinator cancels its probes then, and lets the error pass.
    """

    def load(self) -> Sequence[JournalEntry]:
        """Return the probes in the order in which they began, without those that were dropped."""

    def begin(self, probe: str, planned: PlannedProbe, target: Target) -> None:
        """Note a probe before it is submitted."""

    def record(self, result: ProbeResult) -> None:
        """Keep the result of a probe; one that is there already stays."""

    def drop(self, probe: str) -> None:
        """Note that a probe was cancelled, since its answer does not matter any more."""

    def log(self, line: str) -> None:
        """Keep a line for people."""

    def state(self, progress: BisectionProgress) -> None:
        """Show where the bisection stands, after each change."""


_MOST_LOST: Final = 3
"""After so many lost probes without a result, a place counts as one that cannot be measured."""

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the probes of a bisection say.

    ``reasons`` has, for each place that cannot be measured, why. ``trace`` is the key that is followed.
    """

    trace: str
    observations: tuple[Observation, ...]
    reasons: dict[int, str]


def read_evidence(bisection: Bisection, entries: Sequence[JournalEntry]) -> Evidence:
    """Return the evidence of the ended probes."""
    ended = [entry for entry in entries if entry.result is not None]
    trace = _followed(bisection.trace, ended) if bisection.measures else ""
    observations: list[Observation] = []
    reasons: dict[int, str] = {}
    lost: Counter[int] = Counter()
    for entry in ended:
        observation, reason = _observation(bisection, entry, trace)
        place = entry.planned.place
        if observation is not None:
            observations.append(observation)
        elif entry.result is not None and entry.result.outcome is ProbeOutcome.LOST:
            lost[place] += 1
            if lost[place] >= _MOST_LOST:
                reasons.setdefault(place, reason)
        else:
            reasons.setdefault(place, reason)
    measured = {observation.place for observation in observations}
    unmeasured = {place: reason for place, reason in reasons.items() if place not in measured}
    return Evidence(trace, tuple(observations), unmeasured)


def _followed(asked: str, ended: Sequence[JournalEntry]) -> str:
    """Return the key of the trace to follow: the one asked for, or the only one with all its params, or the first."""
    keys = next((tuple(entry.result.measured) for entry in ended if entry.result and entry.result.measured), ())
    if not asked:
        return keys[0] if keys else ""
    wanted = decode_key(asked).items()
    fitting = [key for key in keys if wanted <= decode_key(key).items()]
    return fitting[0] if asked not in keys and len(fitting) == 1 else asked


def _observation(bisection: Bisection, entry: JournalEntry, trace: str) -> tuple[Observation | None, str]:
    """Return the observation that a probe makes, or None and the reason why it makes none."""
    result, planned = entry.result, entry.planned
    assert result is not None
    match result.outcome:
        case ProbeOutcome.PASSED | ProbeOutcome.FAILED if not bisection.measures:
            passed = result.outcome is ProbeOutcome.PASSED
            return Observation(planned.place, result.device, passed=passed, purpose=planned.purpose), ""
        case ProbeOutcome.MEASURED if bisection.measures:
            measured = result.measured.get(trace)
            if measured is None:
                return None, _without_trace(trace, tuple(result.measured))
            return Observation(planned.place, result.device, measured.value, purpose=planned.purpose), ""
        case _:
            return None, result.reason or result.outcome.value


def _without_trace(trace: str, found: Sequence[str]) -> str:
    """Say that the results lack the trace, and which come close."""
    wanted = decode_key(trace).items()
    fitting = [key for key in found if wanted <= decode_key(key).items()]
    if fitting:
        return f"several traces have {key_text(trace)}: {_named(fitting)}; name more params"
    close = difflib.get_close_matches(trace, found, n=_NAMED, cutoff=0.3) or found
    return f"the results have no trace {key_text(trace)}; they have {_named(close)}"


def _named(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return " or ".join(map(key_text, keys[:_NAMED])) + more


# Estimate the levels before and after a culprit from the probes on both sides.


def estimate_levels(
    evidence: Evidence, entries: Sequence[JournalEntry], places: Sequence[int]
) -> tuple[LevelEstimate | None, LevelEstimate | None]:
    """Return the levels before the first of ``places`` and from the last of them on.

    None where no probe has a value.
    """
    values = [(o.place, o.value) for o in evidence.observations if o.passed is None]
    unit = next(
        (
            entry.result.measured[evidence.trace].unit
            for entry in entries
            if entry.result is not None and evidence.trace in entry.result.measured
        ),
        "",
    )
    before = [value for place, value in values if place < min(places)]
    after = [value for place, value in values if place >= max(places)]
    return _level(before, unit), _level(after, unit)


def _level(values: Sequence[float], unit: str) -> LevelEstimate | None:
    if not values:
        return None
    mean = statistics.fmean(values)
    if len(values) == 1:
        return LevelEstimate(mean, None, 1, unit)
    half = student_quantile(0.975, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return LevelEstimate(mean, (mean - half, mean + half), len(values), unit)
