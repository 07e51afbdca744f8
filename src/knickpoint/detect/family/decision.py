"""Judge new values of many benchmarks at once: one decision with a stated rate of false positives."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.family.bar import Bar, find_bar
from knickpoint.detect.family.levels import ESTABLISHED, Levels, find_levels
from knickpoint.detect.family.past_deviations import in_another_order, past_deviations
from knickpoint.detect.family.scale import Scales, estimate_scales
from knickpoint.detect.family.serial import (
    autocorrelation,
    difference_variance,
    from_normal_score,
    normal_score,
    side_correlation,
)
from knickpoint.detect.family.short_history import FEWEST, judge_enormous, judge_short, relative_size
from knickpoint.detect.measured_series import check_frame, check_series, safe_unit
from knickpoint.detect.steps import stable_region
from knickpoint.model.errors import InputError
from knickpoint.model.judgement import HOPELESS, Judgement
from knickpoint.model.step import Check, Verdict
from knickpoint.model.unit import Better

__all__ = ["FamilyJudgement", "judge_family"]

NEWEST: Final = 200
"""Commits of the history that count."""

DEPTHS: Final[Mapping[int, int]] = {5: 60, 3: 12, 2: 0}
"""Samples of a side that count → values that a history needs for that, to have enough blocks of as many."""

ORDERS: Final = 6
"""Orders of the commits in which blocks of several values are replayed, where neighbours do not resemble each other."""

REORDERED: Final = 24
"""Values that a history needs for that: the blocks of a shorter one are always the same few values."""

_POWER_SCORE: Final = 0.8416
"""Normal score of 80 %: the probability with which the detectable change is found."""

_INTERVAL_SCORE: Final = 1.96
"""Normal score of 97.5 %: both sides of the 95 % interval around a change."""

_UPWARDS: Final[Mapping[Better, float]] = {Better.LOWER: 1.0, Better.HIGHER: -1.0, Better.UNKNOWN: math.nan}
"""The sign of a change for the worse; nan where both are."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FamilyJudgement:
    """The verdicts on new values of many benchmarks, in the order given.

    ``margins`` are the half-widths of the 95 % intervals of the sizes, nan without numbers. ``false_positives`` is the rate
    that holds for all verdicts together: the share of unchanged commits at which any benchmark is *regressed*; the same
    rate holds for *improved*. ``commits`` counts the past commits that were replayed, ``autocorrelation`` is that of the
    histories, and ``side_correlation`` how much the samples of the new side resemble each other beyond it. In each
    judgement ``low`` and ``high`` are the bars, and ``p_value`` is the share of unchanged commits of which any benchmark
    strays as far.
    """

    judgements: tuple[Judgement, ...]
    margins: tuple[float, ...]
    false_positives: float
    commits: int = 0
    autocorrelation: float = 0.0
    side_correlation: float = 0.0


def judge_family(
    histories: ArrayLike,
    samples: Sequence[ArrayLike],
    *,
    better: Sequence[Better] | Better = Better.UNKNOWN,
    kinds: Sequence[Hashable] | None = None,
    false_positives: float = 0.01,
    minimum_effect: float = 0.0,
    largest_effect: float = 0.5,
) -> FamilyJudgement:
    """Judge the new values of many benchmarks by one decision.

    ``histories`` is benchmarks x commits, oldest first, nan for missing; the newest 200 commits count. ``samples`` has the
    new values of each benchmark, any number of them. ``better`` is the direction of all, or one each. Benchmarks of the
    same of ``kinds`` have comparable relative noise; without kinds, all have.

    A benchmark is *regressed* or *improved* when the median of its samples lies beyond its bar and ``minimum_effect`` times
    its level away. The bars are set from the deviations of all benchmarks at the past commits, so that at most
    ``false_positives`` of unchanged commits have any regression. A verdict from one sample is conditional. It is
    *unstable* when the change that would be found is more than ``largest_effect`` of the level, when the newest value of the
    history lies beyond the bar, too, or when the new values leave a level of fewer than 5 values and are no further than the
    level before it; *no data* when the history has fewer than 5 values. Whatever the noise, it is *regressed* when all samples
    are 5 times worse than the worst value of the history.

    Raises:
        SeriesError: histories or samples are not finite or missing numbers.
        InputError: a share is out of its range, or there are not as many samples as histories.
    """
    _check_options(false_positives, minimum_effect, largest_effect)
    frame = check_frame(histories)[:, -NEWEST:]
    new = [_measured(values) for values in samples]
    if len(new) != len(frame):
        raise InputError(
            f"{len(frame)} histories and {len(new)} lists of samples",
            remedy="Give one list of samples for each history.",
        )
    directions = [better] * len(new) if isinstance(better, Better) else list(better)
    judged = [
        row
        for row, (past, values) in enumerate(zip(frame, new, strict=True))
        if np.count_nonzero(~np.isnan(past)) >= FEWEST and values.size
    ]
    judgements = [judge_short(past, values, way) for past, values, way in zip(frame, new, directions, strict=True)]
    margins = [math.nan] * len(new)
    if not judged:
        return FamilyJudgement(tuple(judgements), tuple(margins), false_positives)
    # Units near 1, so that no square overflows.
    units = np.array([safe_unit(frame[row][~np.isnan(frame[row])]) for row in judged])
    family = _Family(
        find_levels(frame[judged] / units[:, None]),
        [new[row] / unit for row, unit in zip(judged, units, strict=True)],
        [directions[row] for row in judged],
        [kinds[row] if kinds is not None else None for row in judged],
        frame.shape[1],
        false_positives,
    )
    for place, (row, unit) in enumerate(zip(judged, units, strict=True)):
        found, margin = family.judgement(place, minimum_effect, largest_effect)
        found = _in_unit(found, float(unit), frame[row])
        judgements[row], margins[row] = (
            judge_enormous(found, frame[row], new[row], directions[row]),
            margin * float(unit),
        )
    return FamilyJudgement(
        tuple(judgements), tuple(margins), false_positives, family.commits, family.phi, family.resemblance
    )


@dataclass(frozen=True)
class _Family:
    """Benchmarks with enough history, their new samples, and the bars that follow from all of them."""

    levels: list[Levels]
    samples: list[Array]
    directions: list[Better]
    kinds: list[Hashable]
    columns: int
    false_positives: float

    @cached_property
    def scales(self) -> Scales:
        return estimate_scales(self.levels, self.kinds)

    @cached_property
    def phi(self) -> float:
        """The autocorrelation of the histories."""
        return autocorrelation(self.levels)

    @cached_property
    def longest(self) -> int:
        """The number of values of the longest history."""
        return max(row.values.size for row in self.levels)

    @cached_property
    def depths(self) -> list[int]:
        """How many samples of each benchmark count: no more than the histories have independent blocks of."""
        most = next(depth for depth, least in DEPTHS.items() if self.longest >= least)
        return [min(values.size, most) for values in self.samples]

    @cached_property
    def resemblance(self) -> float:
        """How much the samples of the new side resemble each other."""
        depth = max(self.depths)
        if depth < 2:
            return 0.0
        return side_correlation([row.values for row in self.levels], self.samples, depth)

    @cached_property
    def commits(self) -> int:
        """How many past commits were replayed."""
        bar = self._bars(1)[0]
        return bar.commits if bar else 0

    @cached_property
    def _all_bars(self) -> dict[int, tuple[Bar | None, Bar | None]]:
        return {}

    def _bars(self, depth: int) -> tuple[Bar | None, Bar | None]:
        """Return the bars for changes for the worse and for the better, of blocks of ``depth`` samples."""
        if depth not in self._all_bars:
            repeats = ORDERS if depth > 1 and not self.phi and self.longest >= REORDERED else 1
            scores = np.hstack([self._scores(depth, repeat) for repeat in range(repeats)])
            signs = np.array([_UPWARDS[way] for way in self.directions])[:, None]
            worse = np.where(np.isnan(signs), np.abs(scores), signs * scores)
            weight = (1 - self.phi) / (1 + self.phi) * 2 / (1 + depth)
            count = len(self.levels)
            self._all_bars[depth] = (
                find_bar(worse, count, self.false_positives, weight, repeats=repeats),
                find_bar(-signs * scores, count, self.false_positives, weight, repeats=repeats),
            )
        return self._all_bars[depth]

    def _scores(self, depth: int, repeat: int) -> Array:
        """Return the deviations of blocks of the past: in the order of the commits first, then in others."""
        levels = self.levels
        if repeat:
            levels = in_another_order(levels, np.random.default_rng(repeat).permutation(self.columns))
        return past_deviations(levels, self.scales, self.columns, depth, self.phi)

    def error(self, place: int, depth: int) -> float:
        """Return the standard error of the median of ``depth`` samples less the centre."""
        count = int(self.scales.count[place])
        ratio = difference_variance(count, depth, 0, count, self.phi) if count > 1 else 2.0
        return math.sqrt(float(self.scales.variance[place]) * ratio)

    def distance(self, place: int, side: int) -> tuple[float, float, Bar | None]:
        """Return the bar of one benchmark as a distance from its centre, the error, and the bar that it comes from.

        ``side`` is 0 for the worse, 1 for the better. The samples of a side that resemble each other say less than as many
        commits of the history, but never less than one value.
        """
        freedom = self.scales.freedom[place : place + 1]
        single, alone = self._bars(1)[side], self.error(place, 1)
        far = self._reach(single, freedom) * alone
        depth = self.depths[place]
        if depth == 1:
            return far, alone, single
        spread = self.error(place, depth) ** 2
        spread += self.resemblance * max(alone**2 - spread, 0.0)
        several, error = self._bars(depth)[side], math.sqrt(spread)
        if several is None:
            return far, alone, single
        near = self._reach(several, freedom) * error
        return (near, error, several) if near < far else (far, alone, single)

    def _reach(self, bar: Bar | None, freedom: Array) -> float:
        """Return the bar in standard errors; without any past, one and a half times that of normal noise."""
        unknown = 1.5 * math.sqrt(2 * math.log(len(self.levels) / self.false_positives))
        return float(from_normal_score(bar.score if bar else unknown, freedom)[0])

    def judgement(self, place: int, minimum_effect: float, largest_effect: float) -> tuple[Judgement, float]:
        """Return the verdict on one benchmark, and the half-width of the interval of its change."""
        direction, samples = self.directions[place], self.samples[place]
        centre, level = float(self.scales.centre[place]), float(np.median(samples))
        size = level - centre
        sign = _UPWARDS[direction]
        for_worse = math.isnan(sign) or size * sign > 0
        (worse, error, bar), (better, _, other) = self.distance(place, 0), self.distance(place, 1)
        if math.isnan(sign):
            better = worse
        reach, law = (worse, bar) if for_worse else (better, other)
        least = minimum_effect * abs(centre)
        freedom = float(self.scales.freedom[place])
        detectable = max(worse, least) + _quantile(_POWER_SCORE, freedom) * error
        margin = _quantile(_INTERVAL_SCORE, freedom) * error
        # A change lies beyond the bar, and is large enough to matter.
        beyond, matters = abs(size) > reach, abs(size) >= least and size != 0
        checks = (
            Check("distance from the level", abs(size), ">", reach, beyond),
            Check("distance over the level", relative_size(abs(size), centre), ">=", minimum_effect, matters),
            Check("detectable change over the level", relative_size(detectable, centre), "<=", largest_effect,
                  relative_size(detectable, centre) <= largest_effect),
        )  # fmt: skip
        changed = beyond and matters
        doubt = self._doubt(place, level, reach, bar, for_worse=for_worse) if changed else ""
        verdict, reason = _decide(checks, direction, changed=changed, for_worse=for_worse, doubt=doubt)
        score = float(normal_score(np.array([abs(size) / error]), freedom)[0]) if error > 0 else math.inf * bool(size)
        down, up = (better, worse) if math.isnan(sign) or sign > 0 else (worse, better)
        conditional = verdict in {Verdict.REGRESSED, Verdict.IMPROVED} and samples.size == 1
        found = Judgement(
            verdict=verdict,
            conditional=conditional,
            reason=reason + ("; it rests on one sample, measure again to confirm" if conditional else ""),
            region=None,
            samples=int(samples.size),
            level=level,
            centre=centre,
            size=size,
            relative_size=relative_size(size, centre),
            low=centre - down,
            high=centre + up,
            detectable=detectable,
            detectable_relative=relative_size(detectable, centre),
            p_value=law.family_rate(score) if law and size else 1.0,
            evidence=checks,
        )
        return found, margin

    def _doubt(self, place: int, level: float, reach: float, bar: Bar | None, *, for_worse: bool) -> str:
        """Return why a change may not be that of the new commit, "" where nothing speaks for that."""
        size = level - float(self.scales.centre[place])
        if for_worse and self._inherited(place, size, reach, bar):
            return "the newest value of the history lies beyond the bar already: the base moved"
        if self._returned(place, level, reach):
            return "the newest level of the history is too short to be believed, and the new values are no further than the one before"
        return ""

    def _returned(self, place: int, level: float, reach: float) -> bool:
        """Return whether the new values only leave a level that has just begun, and do not go beyond the one before it.

        What lasted for a few values may have been an excursion, which ends with the next value, whoever commits that.
        """
        levels, centre = self.levels[place], float(self.scales.centre[place])
        if levels.current.size >= ESTABLISHED:
            return False
        before = float(np.median(levels.established))
        reach *= max(1.0, abs(before / centre)) if centre else 1.0
        return (level - before) * math.copysign(1.0, level - centre) <= reach

    def _inherited(self, place: int, size: float, reach: float, bar: Bar | None) -> bool:
        """Return whether the newest value of the history lies as far off, and the new ones no further."""
        newest = float(self.levels[place].values[-1]) - float(self.scales.centre[place])
        alone = max(reach, self._reach(bar, self.scales.freedom[place : place + 1]) * self.error(place, 1))
        return newest * size > 0 and abs(newest) > reach and abs(size) - abs(newest) <= alone


def _decide(
    checks: tuple[Check, ...], direction: Better, *, changed: bool, for_worse: bool, doubt: str
) -> tuple[Verdict, str]:
    """Return verdict and reason; ``doubt`` is why a change may not be that of the new commit."""
    if doubt:
        return Verdict.UNSTABLE, doubt
    if changed:
        text = "beyond what unchanged commits do"
        if direction is Better.UNKNOWN:
            text += "; the better direction is unknown, so a change counts as a regression"
        return (Verdict.REGRESSED if for_worse else Verdict.IMPROVED), text
    if not checks[2].passed:
        if not checks[2].value < HOPELESS:
            return Verdict.UNSTABLE, "the noise of the history is too large to find a change"
        return (
            Verdict.UNSTABLE,
            f"the noise is so large that only changes from {_percent(checks[2].value)} on are found",
        )
    failed = next((check for check in checks if not check.passed), checks[0])
    return Verdict.UNCHANGED, f"the {failed.name} is {failed.value:.4g}, not {failed.relation} {failed.bound:.4g}"


def _quantile(score: float, freedom: float) -> float:
    """Return the quantile of Student's t that has a normal score."""
    return float(from_normal_score(score, np.array([freedom]))[0])


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %" if math.isfinite(share) else "∞"


def _measured(values: ArrayLike) -> Array:
    """Return the measured samples among one value or a list of values."""
    found = check_series(np.atleast_1d(np.asarray(values, dtype=np.float64)))
    return found[~np.isnan(found)]


def _in_unit(found: Judgement, unit: float, history: Array) -> Judgement:
    """Return the verdict with its numbers in the unit of the history, and with the region that it compares with."""
    first = checked = found.evidence[0]
    if first.bound is not None:
        checked = replace(first, value=first.value * unit, bound=first.bound * unit)
    reason = found.reason
    if found.verdict is Verdict.UNCHANGED and not first.passed:
        reason = f"the {checked.name} is {checked.value:.4g}, not > {checked.bound:.4g}"
    return replace(
        found,
        reason=reason,
        region=stable_region(history, 0, history.size - 1),
        level=found.level * unit,
        centre=found.centre * unit,
        size=found.size * unit,
        low=found.low * unit,
        high=found.high * unit,
        detectable=found.detectable * unit,
        evidence=(checked, *found.evidence[1:]),
    )


def _check_options(false_positives: float, minimum_effect: float, largest_effect: float) -> None:
    """Raise ``InputError`` where an option is out of its range."""
    if not 0 < false_positives < 0.5:
        raise InputError(
            f"false_positives is {false_positives}", remedy="Give a share between 0 and 0.5; 0.01 is one in a hundred."
        )
    for name, effect in (("minimum_effect", minimum_effect), ("largest_effect", largest_effect)):
        if not effect >= 0:
            raise InputError(f"{name} is {effect}", remedy="Give a share of the level, 0 or more; 0.05 is 5 %.")
