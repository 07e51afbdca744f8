"""Attribute a change to one of two repositories, from measurements of the four combinations of old and new.

Each answer is a linear model of the four levels, or a set of combinations that fail. The noise is unknown, and so are
the levels: they are integrated out, with what the history knows as the prior. So values count with their noise, and no
threshold is needed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.problem import Level


class Attribution(Enum):
    """Which repository made the change.

    BOTH: each of them moves the value by itself. INTERACTION: the value moves with both commits together, and not with
        either alone.
    """

    MAIN = "main"
    OTHER = "other"
    BOTH = "both"
    INTERACTION = "interaction"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class CellValue:
    """One measurement of a combination: which repositories are at the new commit, and a value, or whether it passed."""

    main_new: bool
    other_new: bool
    value: float = math.nan
    passed: bool | None = None

    @property
    def cell(self) -> int:
        """The number of the combination: 0 old and old, 1 new main, 2 new other, 3 new and new."""
        return int(self.main_new) + 2 * int(self.other_new)


_PRIOR: Final[Mapping[Attribution, float]] = {
    Attribution.MAIN: 0.40,
    Attribution.OTHER: 0.40,
    Attribution.BOTH: 0.10,
    Attribution.INTERACTION: 0.05,
    Attribution.NEITHER: 0.05,
}
_MAIN_EFFECT: Final = np.array([0.0, 1.0, 0.0, 1.0])
_OTHER_EFFECT: Final = np.array([0.0, 0.0, 1.0, 1.0])
_EFFECTS: Final[Mapping[Attribution, tuple[NDArray[np.float64], ...]]] = {
    Attribution.MAIN: (_MAIN_EFFECT,),
    Attribution.OTHER: (_OTHER_EFFECT,),
    Attribution.BOTH: (_MAIN_EFFECT, _OTHER_EFFECT),
    Attribution.INTERACTION: (_MAIN_EFFECT * _OTHER_EFFECT,),
    Attribution.NEITHER: (),
}
"""By answer: how much of each unknown effect is in the level of each combination."""

_SIZES: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Sizes of an effect, in units of the noise, that are equally likely where the history knows none."""

_EFFECT_SPREAD: Final = 0.3
"""Standard deviation of an effect, relative to its size: an effect of nothing is not an effect."""

_VAGUE_LEVEL: Final = 100.0
"""Standard deviation of the level of old and old, in units of the noise."""

_UNKNOWN: Final = Level()
_LEAST_ERROR: Final = 1e-3
_MOST_HISTORY: Final = 20
_CELLS: Final = 4


@dataclass(frozen=True, slots=True)
class _Account:
    """What is known before the first measurement.

    Values are treated as ``(value - centre) / unit``. ``shape`` and ``scale`` are those of the inverse gamma prior of
    the variance of the noise; ``sizes`` of an effect are equally likely; ``movement`` is +1, -1, or 0 for unknown.
    """

    centre: float
    unit: float
    shape: float
    scale: float
    sizes: Sequence[float]
    movement: int


@dataclass(frozen=True, slots=True)
class _Means:
    """The measurements by combination: how many, their means, and the sum of squares around the means."""

    counts: NDArray[np.float64]
    means: NDArray[np.float64]
    within: float


def attribute(
    values: Sequence[CellValue], *, before: Level = _UNKNOWN, after: Level = _UNKNOWN, error: float = 0.0
) -> dict[Attribution, float]:
    """Return the probability of each answer; together they are 1.

    Args:
        values: measurements of the four combinations, all of one kind; any number of each.
        before: what the history knows of the level of old and old.
        after: the same of new and new.
        error: where measurements pass or fail: how often one is wrong.
    """
    log = {answer: math.log(prior) for answer, prior in _PRIOR.items()}
    if values and values[0].passed is not None:
        evidence = {answer: _log_of_answers(answer, values, error) for answer in log}
    elif values:
        evidence = _log_of_values(values, before, after)
    else:
        evidence = dict.fromkeys(log, 0.0)
    joint = np.array([log[answer] + evidence[answer] for answer in log])
    weights = np.exp(joint - joint.max())
    return {answer: float(weight) for answer, weight in zip(log, weights / weights.sum(), strict=True)}


def attribution_of(
    values: Sequence[CellValue],
    *,
    before: Level = _UNKNOWN,
    after: Level = _UNKNOWN,
    error: float = 0.0,
    probability: float = 0.95,
) -> tuple[Attribution, float] | None:
    """Return the answer that is sure enough and its probability; None while more has to be measured.

    Each combination needs a measurement, and two where they are values: a single one says nothing about its noise.
    """
    counts = Counter(value.cell for value in values)
    exact = bool(values) and values[0].passed is not None
    if min((counts[cell] for cell in range(_CELLS)), default=0) < (1 if exact else 2):
        return None
    answers = attribute(values, before=before, after=after, error=error)
    best = max(answers, key=lambda answer: answers[answer])
    return (best, answers[best]) if answers[best] >= probability else None


def next_cell(cells: Sequence[int], impossible: frozenset[int] = frozenset()) -> int | None:
    """Return the combination to measure next, given those of earlier measurements: the one with the fewest.

    Old and old, and new and new come first of equals, because they show whether there is a change at all.
    """
    counts = Counter(cells)
    free = [cell for cell in (0, 3, 1, 2) if cell not in impossible]
    return min(free, key=lambda cell: counts[cell]) if free else None


def _log_of_answers(answer: Attribution, values: Sequence[CellValue], error: float) -> float:
    """Return the log likelihood of passed and failed measurements: any effect that is present makes them fail.

    Where neither repository made a change, all pass, or all fail.
    """
    fails = np.zeros(_CELLS, dtype=np.bool_)
    for effect in _EFFECTS[answer]:
        fails |= effect > 0
    if answer is Attribution.NEITHER:
        return float(np.logaddexp(_log_of(values, fails, error), _log_of(values, ~fails, error)) - math.log(2))
    return _log_of(values, fails, error)


def _log_of(values: Sequence[CellValue], fails: NDArray[np.bool_], error: float) -> float:
    wrong = min(max(error, _LEAST_ERROR), 0.5)
    return sum(math.log(wrong if value.passed == bool(fails[value.cell]) else 1 - wrong) for value in values)


def _log_of_values(values: Sequence[CellValue], before: Level, after: Level) -> dict[Attribution, float]:
    """Return the log evidence of measured values, integrated over levels, noise, and sizes and signs of the effects."""
    measured = np.array([value.value for value in values])
    cells = np.array([value.cell for value in values])
    account = _account(measured, before, after)
    means = _means_of(cells, (measured - account.centre) / account.unit)
    found: dict[Attribution, float] = {}
    for answer, effects in _EFFECTS.items():
        design = np.column_stack([np.ones(_CELLS), *effects])
        share = 1.0 / max(1, len(effects))
        spread = [
            _log_evidence(design, means, [share * sign * size for sign in signs], account)
            for size in (account.sizes if effects else account.sizes[:1])
            for signs in _signs(len(effects), account.movement)
        ]
        top = max(spread)
        found[answer] = top + math.log(sum(math.exp(each - top) for each in spread) / len(spread))
    return found


def _signs(effects: int, movement: int) -> list[tuple[int, ...]]:
    """Return the directions that the effects may have together.

    The direction of a single one is known with the movement.
    """
    if effects == 1 and movement:
        return [(movement,)]
    return list(product((1, -1), repeat=effects))


def _account(measured: NDArray[np.float64], before: Level, after: Level) -> _Account:
    """Return the account before the first measurement.

    Without a history, the unit is the spread of the values, and the noise may be much less than it.
    """
    levels = [level for level in (before, after) if level.count > 1 and level.deviation > 0]
    centre = before.mean if before.count else float(np.median(measured))
    if not levels:
        spread = float(np.ptp(measured)) or abs(float(measured[0])) or 1.0
        return _Account(centre, spread, 0.5, 0.5 * 0.1**2, _SIZES, 0)
    count = sum(level.count for level in levels)
    unit = math.sqrt(sum(level.count * level.deviation**2 for level in levels) / count)
    shape = min(count, _MOST_HISTORY) / 2
    moved = (after.mean - before.mean) / unit if before.count and after.count else 0.0
    sizes = (abs(moved),) if moved else _SIZES
    return _Account(centre, unit, shape, shape, sizes, int(np.sign(moved)))


def _means_of(cells: NDArray[np.int64], values: NDArray[np.float64]) -> _Means:
    """Sum up values by combination: nothing else of them counts."""
    counts = np.bincount(cells, minlength=_CELLS).astype(np.float64)
    means = np.bincount(cells, weights=values, minlength=_CELLS) / np.maximum(counts, 1.0)
    return _Means(counts, means, float(((values - means[cells]) ** 2).sum()))


def _log_evidence(design: NDArray[np.float64], means: _Means, effects: Sequence[float], account: _Account) -> float:
    """Return the log evidence of a linear model, up to what all models share.

    The effects have a normal prior around ``effects``, the level of old and old a vague one, the variance of the noise
    an inverse gamma prior. The covariance of the means, in units of the noise, is D + X V Xᵀ with 1 / count in D; with
    the variance integrated out, the values have a multivariate t distribution.
    """
    there = means.counts > 0
    rows, counts = design[there], means.counts[there]
    deviations = np.array([_VAGUE_LEVEL, *(abs(effect) * _EFFECT_SPREAD for effect in effects)])
    covariance = np.diag(1.0 / counts) + (rows * deviations**2) @ rows.T
    residuals = means.means[there] - rows[:, 1:] @ np.array(effects)
    _, log_determinant = np.linalg.slogdet(covariance)
    squares = float(residuals @ np.linalg.solve(covariance, residuals)) + means.within
    degrees = account.shape + float(counts.sum()) / 2
    return -float(log_determinant) / 2 - degrees * math.log(account.scale + squares / 2)
