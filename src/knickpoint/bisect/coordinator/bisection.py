"""A bisection as it is asked for, while it runs, and as it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.bisect.search.problem import Level, PlannedProbe
from knickpoint.bisect.settings import DeviceUse, RecipeSettings
from knickpoint.ingest.settings import IngestSettings
from knickpoint.model.bisection import BisectionState, ProbeResult, Target
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
