"""Coordinate a bisection: plan, submit, record, plan again, until the search concludes."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from time import monotonic
from typing import Final

import numpy as np

from knickpoint.bisect.coordinator.bisection import (
    Bisection,
    BisectionAnswer,
    BisectionProgress,
    Journal,
    JournalEntry,
    estimate_levels,
    read_evidence,
)
from knickpoint.bisect.coordinator.narration import (
    begin_line,
    end_line,
    moot_line,
    planned_line,
    result_line,
)
from knickpoint.bisect.job import DevicePool, ProbeJob
from knickpoint.bisect.search.conclusion import conclude_of, excluded_text
from knickpoint.bisect.search.planning import moot_of, plan_of
from knickpoint.bisect.search.problem import (
    Budget,
    Conclusion,
    ConclusionKind,
    Problem,
)
from knickpoint.bisect.search.standing import Standing
from knickpoint.model.bisection import BisectionState, ProbeResult
from knickpoint.model.plain_text import counted
from knickpoint.model.posterior import Posterior

_WAIT_SECONDS: Final = 0.5
"""How long one wait for results takes at most, so that a stop is noticed."""

_POSSIBLE: Final = 1e-3
"""A commit with less probability than this is not named among those that are left."""

_SHORT: Final = 10
"""Digits of a hash in a reason."""

_CANCELLING: Final = 2
"""Changes that cancel each other are at least so many commits."""

_STATES: Final = {
    ConclusionKind.CULPRIT: BisectionState.CULPRIT,
    ConclusionKind.RANGE: BisectionState.RANGE,
    ConclusionKind.SEVERAL: BisectionState.RANGE,
    ConclusionKind.NOT_REPRODUCIBLE: BisectionState.NOT_REPRODUCIBLE,
    ConclusionKind.GAVE_UP: BisectionState.GAVE_UP,
}


def coordinate(
    bisection: Bisection,
    pool: DevicePool,
    journal: Journal,
    *,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[BisectionProgress], None] = lambda _: None,
) -> BisectionAnswer:
    """Run ``bisection`` on ``pool`` to its end and return the answer.

    What the journal has already counts; probes that had begun and have no result are submitted again under their ids.
    ``stop`` is asked at least twice a second; ``progress`` is called after each change. However this ends, the probes
    under way are cancelled.

    Raises:
        StoreError: the journal cannot be written, or another process took the bisection over.
    """
    run = _Run(bisection, pool, journal, {entry.probe: entry for entry in journal.load()})
    try:
        run.submit_unfinished()
        run.say(begin_line(bisection, len(run.entries) - len(run.under_way)))
        while (answer := run.answer(stopped=stop())) is None:
            run.cancel_moot()
            run.start_planned()
            if run.at_a_loss:
                answer = run.gave_up(run.loss)
                break
            run.show(progress)
            run.wait(progress)
        run.drop_all()
    finally:
        for probe in run.under_way:
            pool.cancel(probe)
    run.say(end_line(bisection, answer))
    run.show(progress)
    return answer


@dataclass(frozen=True, slots=True)
class _Found:
    """What a search has found: the places and their probability, the posterior, and what is to say about it."""

    posterior: Posterior
    reason: str
    places: tuple[int, ...] = ()
    probability: float = 0.0
    several: bool = False


@dataclass
class _Run:
    """A bisection under way, with its probes by id in the order in which they began."""

    bisection: Bisection
    pool: DevicePool
    journal: Journal
    entries: dict[str, JournalEntry]
    started: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        """Sum up what earlier processes of the same bisection spent, and evaluate what they found."""
        self.spent_before = sum(entry.result.seconds for entry in self.entries.values() if entry.result)
        self.base = _problem(self.bisection)
        self.numbers = count(1 + max((_number(probe) for probe in self.entries), default=0))
        self.changed = True
        self._evaluate()

    def _evaluate(self) -> None:
        """Evaluate the results so far; the posterior is the long part of a step, and made once for each result."""
        self.evidence = read_evidence(self.bisection, tuple(self.entries.values()))
        problem = replace(self.base, skipped=frozenset(self.evidence.reasons))
        self.standing = Standing(problem, self.evidence.observations)

    @property
    def posterior(self) -> Posterior:
        """What is known now."""
        return self.standing.belief.posterior

    @property
    def under_way(self) -> dict[str, JournalEntry]:
        """The probes without a result."""
        return {probe: entry for probe, entry in self.entries.items() if entry.result is None}

    def submit_unfinished(self) -> None:
        """Submit what an earlier process began; where it still runs, the pool knows it by its id."""
        for entry in self.under_way.values():
            self.pool.submit(self.bisection.job(entry))

    def answer(self, *, stopped: bool) -> BisectionAnswer | None:
        """Return the answer if there is one by now."""
        if stopped:
            return self._answer(BisectionState.STOPPED, _Found(self.posterior, "stopped"))
        unmeasured = self._unmeasured_end()
        if unmeasured:
            return self._answer(BisectionState.GAVE_UP, _Found(self.posterior, unmeasured))
        conclusion = conclude_of(self.standing, self._budget())
        if conclusion is None:
            return None
        several = conclusion.kind is ConclusionKind.SEVERAL and not conclusion.open
        reason = self._reason(conclusion)
        found = _Found(conclusion.posterior, reason, conclusion.places, conclusion.probability, several)
        return self._answer(_STATES[conclusion.kind], found)

    def cancel_moot(self) -> None:
        """Cancel what is under way and no longer worth its answer."""
        running = self.under_way
        left = Counter(moot_of(self.standing, [entry.planned for entry in running.values()]))
        for probe, entry in running.items():
            if left[entry.planned] > 0:
                left[entry.planned] -= 1
                self.say(moot_line(entry))
                self._drop(probe)

    def start_planned(self) -> None:
        """Begin the probes that the search plans for the free devices."""
        free = self._free_devices()
        running = [entry.planned for entry in self.under_way.values()]
        for planned in plan_of(self.standing, running, free) if free else ():
            entry = JournalEntry(
                f"{self.bisection.id}-{next(self.numbers)}", planned, self.bisection.target(planned.place)
            )
            self.journal.begin(entry.probe, planned, entry.target)
            self.say(planned_line(self.bisection, planned))
            self.entries[entry.probe] = entry
            self.changed = True
            self.pool.submit(self.bisection.job(entry))

    def say(self, line: str) -> None:
        """Keep a line of the log, for people who want to know what the search decides."""
        self.journal.log(line)

    @property
    def at_a_loss(self) -> bool:
        """Whether nothing is under way although a device is free: the search knows nothing that is worth measuring."""
        return not self.under_way and bool(self._free_devices())

    @property
    def loss(self) -> str:
        """Why no measurement can decide, with a reason for which commits cannot be measured."""
        reasons = self.evidence.reasons
        if not reasons:
            return "no measurement can decide it"
        ((reason, _),) = Counter(reasons[place] for place in sorted(reasons)).most_common(1)
        if not self.evidence.observations:
            return f"no commit can be measured: {reason}"
        return f"no measurement can decide it, as {counted(len(reasons), 'commit')} cannot be measured: {reason}"

    def gave_up(self, reason: str) -> BisectionAnswer:
        """Return the answer that leaves open what is open now."""
        reason = "; ".join(filter(None, (reason, excluded_text(self.standing))))
        now = self.posterior
        left = tuple(int(place) + 1 for place in np.flatnonzero(now.marginal > _POSSIBLE))
        return self._answer(BisectionState.GAVE_UP, _Found(now, reason, left, float(now.marginal.sum())))

    def wait(self, progress: Callable[[BisectionProgress], None]) -> None:
        """Wait for results; record, evaluate and show each."""
        for result in self.pool.wait(_WAIT_SECONDS):
            self._record(result)
            self.show(progress)

    def show(self, progress: Callable[[BisectionProgress], None]) -> None:
        """Show where the bisection stands, if that has changed."""
        if not self.changed:
            return
        self.changed = False
        now, devices = self.posterior, self.pool.devices()
        entries = tuple(self.entries.values())
        left = self._seconds_left(now, len(devices))
        state = BisectionProgress(entries, now, devices, self.evidence.trace, left)
        self.journal.state(state)
        progress(state)

    def drop_all(self) -> None:
        """Cancel what is still under way."""
        for probe in self.under_way:
            self._drop(probe)

    def _record(self, result: ProbeResult) -> None:
        entry = self.entries.get(result.probe)
        if entry is None or entry.result is not None:
            return  # cancelled meanwhile, or known already
        self.journal.record(result)
        self.entries[result.probe] = replace(entry, result=result)
        self.changed = True
        self._evaluate()
        self.say(result_line(self.bisection, self.entries[result.probe], self.evidence.trace, self.posterior))

    def _drop(self, probe: str) -> None:
        self.pool.cancel(probe)
        self.journal.drop(probe)
        del self.entries[probe]
        self.changed = True

    def _free_devices(self) -> list[str]:
        """Return the devices that fit, each as often as it has slots that this bisection does not use."""
        asked = self.bisection
        like = ProbeJob("", asked.target(0), asked.recipe, asked.locations, asked.id, use=asked.use)
        busy = Counter(entry.planned.device for entry in self.under_way.values())
        return [
            device.name
            for device in self.pool.devices()
            if device.fits(like)
            for _ in range(device.slots - busy[device.name])
        ]

    def _budget(self) -> Budget:
        recipe = self.bisection.recipe
        spent = sum(entry.result is not None for entry in self.entries.values())
        seconds = self.spent_before + monotonic() - self.started
        return Budget(recipe.probes_allowed(self.base.candidates), recipe.most_minutes * 60, spent, seconds)

    def _unmeasured_end(self) -> str:
        """Name the end that cannot be measured, "" if both can or their levels are known from the history."""
        ends = (("good", 0, self.base.before), ("bad", self.base.candidates, self.base.after))
        for name, place, level in ends:
            if place in self.evidence.reasons and not level.count:
                return f"the {name} end cannot be measured: {self.evidence.reasons[place]}"
        return ""

    def _reason(self, conclusion: Conclusion) -> str:
        match conclusion.kind:
            case ConclusionKind.SEVERAL:
                return self._several(conclusion)
            case ConclusionKind.GAVE_UP:
                return "; ".join(filter(None, (self._spent_budget(), excluded_text(self.standing))))
            case ConclusionKind.NOT_REPRODUCIBLE:
                return self._without_change(conclusion) if self.bisection.measures else self._contradicting_ends()
        return conclusion.open

    def _without_change(self, conclusion: Conclusion) -> str:
        """Compare the ends in words, and name the longest stretch without a measurement: changes there could cancel."""
        measured = sorted({0, self.base.candidates, *(o.place for o in self.evidence.observations)})
        first, last = max(pairwise(measured), key=lambda pair: pair[1] - pair[0])
        if last - first < _CANCELLING:
            return conclusion.open
        stretch = f"{self.bisection.places[first][:_SHORT]}..{self.bisection.places[last][:_SHORT]}"
        return f"{conclusion.open}; the longest stretch that is open is {stretch} ({counted(last - first, 'commit')})"

    def _several(self, conclusion: Conclusion) -> str:
        if conclusion.open:
            return f"several of them made a change, and {conclusion.open}"
        names = [self.bisection.places[place][:_SHORT] for place in conclusion.places]
        return f"each of {', '.join(names[:-1])} and {names[-1]} made a change"

    def _spent_budget(self) -> str:
        budget = self._budget()
        if budget.spent_probes >= budget.probes:
            return f"the budget of {counted(budget.probes, 'probe')} is spent"
        return f"the budget of {self.bisection.recipe.most_minutes:g} minutes is spent"

    def _contradicting_ends(self) -> str:
        answers = [(o.place, bool(o.passed)) for o in self.evidence.observations]
        good, bad = ([passed for place, passed in answers if place == end] for end in (0, self.base.candidates))
        good_passes, bad_passes = (sum(passed) * 2 > len(passed) for passed in (good, bad))
        if bad_passes:
            return (
                "the bad end passes" if good_passes else "the good end fails and the bad end passes: are they swapped?"
            )
        return "the good end fails"

    def _answer(self, state: BisectionState, found: _Found) -> BisectionAnswer:
        entries = tuple(self.entries.values())
        before, after = estimate_levels(self.evidence, entries, found.places) if found.places else (None, None)
        return BisectionAnswer(
            state,
            found.places,
            found.probability,
            found.posterior,
            found.reason,
            self.evidence.trace,
            before,
            after,
            entries,
            found.several,
        )

    def _seconds_left(self, now: Posterior, devices: int) -> float | None:
        """Estimate the time left: a probe halves what is open, and the culprit and its parent are verified."""
        seconds = [entry.result.seconds for entry in self.entries.values() if entry.result is not None]
        if not seconds or not devices:
            return None
        likely = now.marginal[now.marginal > 0] / (now.marginal.sum() or 1.0)
        bits = float(-(likely * np.log2(likely)).sum())
        return statistics.median(seconds) * (bits + 2) / max(1.0, math.log2(devices + 1))


def _problem(bisection: Bisection) -> Problem:
    """Return the problem that the search solves."""
    exact = bisection.error == 0
    return Problem(
        len(bisection.commits),
        prior=None if bisection.priors is None else np.array(bisection.priors, dtype=np.float64),
        before=bisection.before,
        after=bisection.after,
        movement=bisection.movement,
        error=None if bisection.measures else bisection.error,
        unknown_error=not bisection.measures and not exact,
        probability=bisection.recipe.probability,
        least=bisection.recipe.find,
        same_machine=bisection.recipe.same_machine,
    )


def _number(probe: str) -> int:
    number = probe.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0
