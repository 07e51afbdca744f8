"""Read the past up to checkpoints: what is old is decided by the values that came soon after it.

A search of the whole series weighs every candidate by all values, so a step in the newest ones changes what is found
hundreds of values before. Here what is old is read from the values up to a checkpoint, by the search and the patterns
alike, and its reading stays until the next checkpoint is reached. The checkpoints depend on the number of values alone,
never on when the method ran; the longer a series, the farther they lie apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import MeasuredSeries
from knickpoint.detect.methods.default.acceptance import Acceptance, acceptance_by_length, search
from knickpoint.detect.methods.default.model import load_model
from knickpoint.detect.patterns.pattern import Pattern
from knickpoint.detect.steps import stable_region, with_regions
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Step
from knickpoint.native.segmentation import Segmentation
from knickpoint.native.segmentation.constants import SHORTEST

FIRST: Final = 112
"""Values of the first checkpoint; shorter series are read as a whole."""

_SPACES: Final = 7
"""Checkpoints between a number of values and its double: the first ones are 16 values apart."""

_UNREAD: Final = 16
"""Newest values that take no part in reading what is old."""

_HINDSIGHT: Final = 20
"""Values between what a checkpoint reads and the checkpoint."""

_HINDSIGHT_OF_MODES: Final = 40
"""As many for a change of the modes where the past flips, or has no steps: it needs some 30 values to be found."""

_FEW_STEPS: Final = 2
"""Steps from which on a series has several."""

_CLOSE: Final = 1.0
"""Log-odds below the bound from which on a candidate may be found by another reading."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the search and the patterns make of the values up to a checkpoint, or of all.

    It counts for the rows from ``first`` (changes of the modes: ``first_of_modes``) to before ``stop``.
    """

    first: int
    first_of_modes: int
    stop: int
    series: MeasuredSeries
    found: Segmentation
    acceptance: Acceptance
    pattern: Pattern


class Recognition(Protocol):
    """Recognises the pattern of searched values; without ``patterns`` every kept candidate is a step."""

    def __call__(
        self, values: Floats, series: MeasuredSeries, found: Segmentation, acceptance: Acceptance, *, patterns: bool
    ) -> Pattern:
        """Return the findings of ``values``."""


def last_checkpoint(size: int) -> int:
    """Return the last checkpoint of ``size`` measured values, 0 where they are read as a whole."""
    known = size - _UNREAD
    if known < FIRST:
        return 0
    octave = FIRST << ((known // FIRST).bit_length() - 1)
    spacing = octave // _SPACES
    return known // spacing * spacing


def is_far_below(found: Segmentation, bound: float) -> bool:
    """Return True if no candidate comes near the ``bound`` by length: then no other reading is asked."""
    return float(found.scores.max(initial=-np.inf)) < bound - _CLOSE


def read_stretches(
    values: Floats,
    series: MeasuredSeries,
    searched: tuple[Segmentation, Acceptance],
    false_alarms: float,
    recognition: Recognition,
) -> list[Reading]:
    """Return the reading of what is old, if any is, and that of the newest; ``searched`` is the search of all.

    The newest values are asked for patterns only where the search finds something in them, or something old has one.
    """
    found, acceptance = searched
    checkpoint = last_checkpoint(series.values.size)
    bound = acceptance_by_length(series.values.size, false_alarms).bound
    if not checkpoint or is_far_below(found, bound):
        pattern = recognition(values, series, found, acceptance, patterns=True)
        return [Reading(0, 0, series.length, series, found, acceptance, pattern)]
    border, length = int(series.rows[checkpoint - _HINDSIGHT]), int(series.rows[checkpoint - 1]) + 1
    part = MeasuredSeries(length, series.rows[:checkpoint], series.values[:checkpoint])
    earlier = search(part.values, load_model().forest, false_alarms)
    old = Reading(0, 0, border, part, *earlier, recognition(values[:length], part, *earlier, patterns=True))
    kept = series.rows[found.indices[found.rounds < 0]]
    newest = bool((kept >= border).any())
    pattern = recognition(values, series, found, acceptance, patterns=newest or bool(old.pattern.facts))
    flips = old.pattern.flipping or kept.size < _FEW_STEPS
    of_modes = int(series.rows[checkpoint - _HINDSIGHT_OF_MODES]) if flips else border
    return [old, Reading(border, of_modes, series.length, series, found, acceptance, pattern)]


def join_patterns(values: Floats, readings: Sequence[Reading]) -> Pattern:
    """Return the findings of all stretches as one pattern: that of all values where it says the same."""
    newest = readings[-1].pattern
    chosen: list[tuple[int, Step]] = []
    for number, reading in enumerate(readings):
        for step in reading.pattern.steps:
            free = not chosen or step.index - chosen[-1][1].index >= SHORTEST
            first = reading.first_of_modes if step.kind is FindingKind.MODE else reading.first
            if free and first <= step.index < reading.stop:
                chosen.append((number, step))
    if [(step.index, step.kind) for _, step in chosen] == [(step.index, step.kind) for step in newest.steps]:
        return newest
    steps = list(_with_seams(values, [(number, _carried_on(values, step, newest)) for number, step in chosen]))
    ranked = sorted(steps, key=lambda step: -step.score)
    orders = {step.index: order for order, step in enumerate(ranked)}
    patterns = [reading.pattern for reading in readings]
    return Pattern(
        tuple(replace(step, order=orders[step.index]) for step in steps),
        {name: fact for pattern in patterns for name, fact in pattern.facts.items()},
        next((pattern.reason for pattern in reversed(patterns) if pattern.reason), ""),
        next((pattern.flipping for pattern in reversed(patterns) if pattern.flipping), ()),
    )


def _carried_on(values: Floats, step: Step, newest: Pattern) -> Step:
    """Return a drift with the end and the size that it has among all values, where it goes on."""
    if step.kind is not FindingKind.DRIFT:
        return step
    for other in newest.steps:
        goes_on = other.kind is FindingKind.DRIFT and other.movement is step.movement
        if goes_on and other.index <= step.after.last < other.after.last and step.index < other.after.last:
            region = stable_region(values, step.index, other.after.last)
            return with_regions(replace(step, estimate=other.estimate, evidence=other.evidence), step.before, region)
    return step


def _with_seams(values: Floats, chosen: Sequence[tuple[int, Step]]) -> Iterator[Step]:
    """Yield the steps of several readings; where two of them meet, levels reach from one step to the next.

    Levels of changes of the noise are no levels of values, and stay.
    """
    noise = [step for _, step in chosen if step.kind is FindingKind.NOISE]
    others = [each for each in chosen if each[1].kind is not FindingKind.NOISE]
    seamed: list[Step] = []
    for (before, _), (number, step), (after, behind) in zip(
        [(0, None), *others], others, [*others[1:], (-1, None)], strict=False
    ):
        left, right = step.before, step.after
        if before != number:
            drifted = seamed and seamed[-1].kind is FindingKind.DRIFT and seamed[-1].after.last < step.previous
            first = 0 if not seamed else seamed[-1].after.last + 1 if drifted else seamed[-1].index
            left = stable_region(values, first, step.previous)
        if after != number and step.kind is not FindingKind.DRIFT:
            right = stable_region(values, step.index, behind.previous if behind else values.size - 1)
        seamed.append(with_regions(step, left, right) if (left, right) != (step.before, step.after) else step)
    yield from sorted([*noise, *seamed], key=lambda step: step.index)
