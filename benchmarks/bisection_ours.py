"""Play the search of Knickpoint on the answers that its references see, one search at a time.

Levels are those of a history: values drawn with the same noise, whose means and deviations the search estimates. The
search sees no parameter of the noise besides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from bisection_answers import Answers, Noise
from knickpoint.bisect.search.conclusion import conclude_of
from knickpoint.bisect.search.planning import plan_of
from knickpoint.bisect.search.problem import (
    Budget,
    Conclusion,
    ConclusionKind,
    Level,
    Observation,
    PlannedProbe,
    Problem,
)
from knickpoint.bisect.search.standing import Standing
from knickpoint.bisect.settings import RecipeSettings
from knickpoint.model.bisection import ProbePurpose

__all__ = ["Cell", "Played", "play", "play_all", "worst_rounds"]

_LEVEL: Final = 100.0
"""The level before a change of which no history is known, in deviations."""

_MOST_PROBES: Final = 1_000
"""A search with certain ends that takes more is counted as one that gave up; others have the budget of a recipe."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of search.

    ``delta`` and ``error`` are those of :class:`Answers`; ``error`` None measures values. ``history`` is the number of
    values on each side of the finding. ``certain`` searches as the references do: one culprit for certain, ends for
    certain, and it ends when a candidate has the probability; otherwise with the usual priors, from the ends to the
    verification. ``change`` is false where no commit made a change; then everything is at the level of the good end,
    or, ``moved``, at that of the bad end. ``same_machine`` says that the history was measured on the devices of the
    search, as the references take it. ``noise`` is the kind of noise; with ``clean`` the history has normal noise all
    the same. Without ``known`` there is no history, and the level before is 100.
    """

    seed: int
    candidates: int
    devices: int = 1
    delta: float = 0.0
    error: float | None = None
    history: int = 20
    certain: bool = False
    change: bool = True
    moved: bool = False
    same_machine: bool = False
    noise: Noise = Noise.NORMAL
    clean: bool = False
    known: bool = True

    @property
    def answers(self) -> Answers:
        """The answers of its probes."""
        return Answers(self.seed, self.delta, self.error or 0.0, self.noise)

    def culprit(self, search: int) -> int:
        """Return the culprit of a search; one beyond the ends where no commit made the change."""
        if not self.change:
            return 0 if self.moved else self.candidates + 1
        return 1 + int(np.random.default_rng((self.seed, search)).integers(self.candidates))

    def problem(self, search: int) -> Problem:
        """Return what a search knows at its start."""
        if not self.known:
            return Problem(self.candidates)
        values = self.error is None
        before, after = (
            Level.of(self.answers.history(search, self.history, after=side, clean=self.clean)) if values else Level()
            for side in (False, True)
        )
        problem = Problem(
            self.candidates,
            before=before,
            after=after,
            movement=1 if values else 0,
            error=self.error,
            same_machine=self.same_machine,
        )
        return replace(problem, none=0.0, several=0.0) if self.certain else problem


@dataclass(frozen=True, slots=True)
class Played:
    """What one search took, and what it states: ``named`` has the places of a culprit, or of several.

    ``excluded`` is the size that an answer without a culprit excludes, relative to the level before.
    """

    tests: int
    rounds: int
    kind: ConclusionKind
    named: tuple[int, ...]
    culprit: int
    excluded: float = math.inf

    @property
    def wrong(self) -> bool:
        """Whether it names a commit that is not the culprit."""
        return any(place != self.culprit for place in self.named)

    @property
    def found(self) -> bool:
        """Whether the culprit is among the commits that it names."""
        return self.culprit in self.named


def play(cell: Cell, search: int) -> Played:
    """Play one search to its end, in rounds: a round is planned when all probes of the last one have ended."""
    problem, culprit = cell.problem(search), cell.culprit(search)
    devices = [f"d{number}" for number in range(cell.devices)]
    counts: dict[int, int] = {}
    observations = [_answer(cell, search, culprit, probe, counts) for probe in _given(cell, devices[0])]
    given, rounds = len(observations), 0
    most = _MOST_PROBES if cell.certain else RecipeSettings("any").probes_allowed(cell.candidates)
    while len(observations) < most:
        standing = Standing(problem, tuple(observations))
        conclusion = conclude_of(standing, Budget())
        batch = () if conclusion else plan_of(standing, (), devices)
        if conclusion or not batch:
            break
        if cell.certain and any(probe.purpose is ProbePurpose.VERIFY for probe in batch):
            break
        rounds += 1
        observations += [_answer(cell, search, culprit, probe, counts) for probe in batch]
    else:
        standing, conclusion = None, None
    named = _named(standing, conclusion, certain=cell.certain)
    kind = conclusion.kind if conclusion else ConclusionKind.CULPRIT if named else ConclusionKind.GAVE_UP
    excluded = math.inf if named or cell.known else Standing(problem, tuple(observations)).excluded_size
    return Played(len(observations) - given, rounds, kind, named, culprit, excluded)


def _given(cell: Cell, device: str) -> list[PlannedProbe]:
    """Return the probes that a search with certain ends has for nothing: a value of each end, so that it knows the device."""
    if not cell.certain or cell.error is not None or cell.same_machine:
        return []
    return [PlannedProbe(place, device, ProbePurpose.END) for place in (0, cell.candidates)]


def _named(standing: Standing | None, conclusion: Conclusion | None, *, certain: bool) -> tuple[int, ...]:
    """Return the commits that a search names; a range and a search that gave up name none."""
    if certain and standing:
        return (1 + int(standing.belief.posterior.single.argmax()),)
    if conclusion and conclusion.kind in {ConclusionKind.CULPRIT, ConclusionKind.SEVERAL}:
        return conclusion.places
    return ()


def _answer(cell: Cell, search: int, culprit: int, probe: PlannedProbe, counts: dict[int, int]) -> Observation:
    k = counts.get(probe.place, 0)
    counts[probe.place] = k + 1
    at = np.array([search]), np.array([probe.place]), np.array([k]), np.array([culprit])
    if cell.error is None:
        number = np.array([sum(counts.values())])
        value = float(cell.answers.values(*at, number)[0]) + (0.0 if cell.known else _LEVEL)
        return Observation(probe.place, probe.device, value, purpose=probe.purpose)
    return Observation(probe.place, probe.device, passed=bool(cell.answers.passed(*at)[0]), purpose=probe.purpose)


def _play_part(task: tuple[Cell, int, int]) -> list[Played]:
    cell, begin, end = task
    return [play(cell, search) for search in range(begin, end)]


def play_all(cells: Sequence[Cell], repeats: int, executor: Executor) -> list[list[Played]]:
    """Play each cell ``repeats`` times, in parts over the processes of ``executor``."""
    part = 25
    tasks = [(cell, begin, min(begin + part, repeats)) for cell in cells for begin in range(0, repeats, part)]
    done = dict(zip(tasks, executor.map(_play_part, tasks), strict=True))
    return [[each for task in tasks if task[0] == cell for each in done[task]] for cell in cells]


def worst_rounds(candidates: int, devices: int) -> int:
    """Return the most rounds that any culprit takes with exact answers, by walking the tree of all answers."""
    problem = Problem(candidates, none=0.0, several=0.0, error=0.0)
    names = [f"d{number}" for number in range(devices)]

    def walk(culprits: Sequence[int], observations: tuple[Observation, ...]) -> int:
        standing = Standing(problem, observations)
        conclusion = conclude_of(standing, Budget())
        if conclusion:
            assert conclusion.places == tuple(culprits)
            return 0
        batch = [probe.place for probe in plan_of(standing, (), names)]
        groups: dict[tuple[bool, ...], list[int]] = {}
        for culprit in culprits:
            groups.setdefault(tuple(place < culprit for place in batch), []).append(culprit)
        return 1 + max(
            walk(
                group,
                (*observations, *(Observation(place, "", passed=ok) for place, ok in zip(batch, passed, strict=True))),
            )
            for passed, group in groups.items()
        )

    return walk(range(1, candidates + 1), ())
