"""Judge new values of many benchmarks at once: one decision with a stated rate of false positives."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.family.levels import ESTABLISHED, find_levels
from knickpoint.detect.family.limits import POWER_SCORES, UPWARDS, Limit, Limits, t_quantile
from knickpoint.detect.family.serial import normal_score
from knickpoint.detect.family.short_history import FEWEST, judge_enormous, judge_short, relative_size
from knickpoint.detect.measured_series import check_frame, check_series, safe_unit
from knickpoint.detect.steps import stable_region
from knickpoint.model.errors import InputError
from knickpoint.model.judged_benchmark import HOPELESS, Judgement
from knickpoint.model.step import Check, Verdict
from knickpoint.model.unit_names import Better

NEWEST: Final = 200
"""Commits of the history that count."""

_RARE_SCORE: Final = 3.09
"""Normal score of 99.9 %: new samples that scatter more are noisier than the history."""
_OF_A_MEDIAN: Final = math.sqrt(math.pi / 2)
"""Standard error of the median over that of the mean, for normal noise."""
_INTERVAL_SCORE: Final = 1.96
"""Normal score of 97.5 %: both sides of the 95 % interval around a change."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FamilyJudgement:
    """The verdicts on new values of many benchmarks, in the order given.

    ``margins`` are the half-widths of the 95 % intervals of the sizes, nan without numbers. ``false_positives`` is the
    rate that holds for all verdicts together: the share of unchanged commits at which any benchmark is *regressed*; the
    same rate holds for *improved*. ``commits`` counts the past commits that were replayed, ``autocorrelation`` is that
    of the histories, and ``side_correlation`` how much the samples of the new side resemble each other beyond it. In
    each judgement ``low`` and ``high`` are the bars, and ``p_value`` is the share of unchanged commits of which any
    benchmark strays as far.
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

    ``histories`` is benchmarks x commits, oldest first, nan for missing; the newest 200 commits count. ``samples`` has
    the new values of each benchmark, any number of them. ``better`` is the direction of all, or one each. Benchmarks of
    the same of ``kinds`` have comparable relative noise; without kinds, all have.

    A benchmark is *regressed* or *improved* when the median of its samples lies beyond its bar and ``minimum_effect``
    times its level away. The bars are set from the deviations of all benchmarks at the past commits, so that at most
    ``false_positives`` of unchanged commits have any regression. A verdict from one run is conditional. It is
    *unstable* when the change that would be found is more than ``largest_effect`` of the level, when the newest value
    of the history lies beyond the bar, too, or when the new values leave a level of fewer than 5 values and are no
    further than the level before it; *no data* when the history has fewer than 5 values. Whatever the noise, it is
    *regressed* when all samples are 5 times worse than the worst value of the history.

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
    family = Limits(
        find_levels(frame[judged] / units[:, None]),
        [new[row] / unit for row, unit in zip(judged, units, strict=True)],
        [directions[row] for row in judged],
        [kinds[row] if kinds is not None else None for row in judged],
        frame.shape[1],
        false_positives,
    )
    for place, (row, unit) in enumerate(zip(judged, units, strict=True)):
        found, margin = _judge(family, place, minimum_effect, largest_effect)
        found = _in_unit(found, float(unit), frame[row])
        found = _with_scatter(found, family.samples[place], float(family.scales.variance[place]))
        judgements[row], margins[row] = (
            judge_enormous(found, frame[row], new[row], directions[row]),
            margin * float(unit),
        )
    return FamilyJudgement(
        tuple(judgements), tuple(margins), false_positives, family.commits, family.phi, family.resemblance
    )


def _judge(family: Limits, place: int, minimum_effect: float, largest_effect: float) -> tuple[Judgement, float]:
    """Return the verdict on one benchmark, and the half-width of the interval of its change."""
    direction, samples = family.directions[place], family.samples[place]
    centre, level = float(family.scales.centre[place]), float(np.median(samples))
    freedom, size, sign = float(family.scales.freedom[place]), level - centre, UPWARDS[direction]
    for_worse = math.isnan(sign) or size * sign > 0
    worse, better = family.limit(place, 0), family.limit(place, 0 if math.isnan(sign) else 1)
    limit = worse if for_worse else better
    least = minimum_effect * abs(centre)
    scatter, error = _own_scatter(samples, float(family.scales.variance[place])), worse.error
    found_from = [
        _found_from(side, scatter, samples.size, freedom) + max(least - side.reach, 0.0) for side in (worse, limit)
    ]
    detectable = found_from[0]
    # A change lies beyond the bar, and is large enough to matter.
    agreed = limit.agreed((samples - centre) * math.copysign(1.0, size), scattered=scatter > 0)
    together = limit.depth > 1 or scatter > 0
    name = "distance from the level" + (" that the samples agree on" if together else "")
    beyond, matters = agreed > limit.reach, abs(size) >= least and size != 0
    checks = (
        Check(name, max(agreed, 0.0), ">", limit.reach, beyond),
        Check("distance over the level", relative_size(abs(size), centre), ">=", minimum_effect, matters),
        Check("detectable change over the level", relative_size(detectable, centre), "<=", largest_effect,
              relative_size(detectable, centre) <= largest_effect),
    )  # fmt: skip
    changed = beyond and matters
    doubt = _doubt(family, place, level, limit.reach, for_worse=for_worse) if changed else ""
    shares = (relative_size(each, centre) for each in (abs(size), *found_from, max(agreed, 0.0), limit.reach))
    hidden = "" if changed or checks[2].passed else _hidden(*shares)
    verdict, reason = _decide(checks, direction, changed=changed, for_worse=for_worse, doubt=doubt or hidden)
    score = float(normal_score(np.array([agreed / limit.unit]), freedom)[0]) if limit.unit > 0 else math.inf
    up, down = (worse, better) if math.isnan(sign) or sign > 0 else (better, worse)
    conditional = verdict in {Verdict.REGRESSED, Verdict.IMPROVED} and samples.size == 1
    found = Judgement(
        verdict=verdict,
        conditional=conditional,
        reason=reason + ("; it rests on one run, measure again to confirm" if conditional else ""),
        region=None,
        samples=int(samples.size),
        level=level,
        centre=centre,
        size=size,
        relative_size=relative_size(size, centre),
        low=centre - down.reach,
        high=centre + up.reach,
        detectable=detectable,
        detectable_relative=relative_size(detectable, centre),
        p_value=limit.bar.family_rate(score) if limit.bar and size and agreed > 0 else 1.0,
        evidence=checks,
    )
    margin = t_quantile(_INTERVAL_SCORE, freedom) * error
    if scatter:
        own = _OF_A_MEDIAN * scatter / math.sqrt(samples.size)
        margin = math.hypot(margin, t_quantile(_INTERVAL_SCORE, samples.size - 1) * own)
    return found, margin


def _found_from(limit: Limit, scatter: float, samples: int, freedom: float) -> float:
    """Return the change beyond ``limit`` that is found in four cases of five.

    ``scatter`` is that of the samples, 0 for usual.
    """
    power = t_quantile(POWER_SCORES[limit.depth], freedom) * scatter / (math.sqrt(samples) if limit.depth == 1 else 1)
    return max(limit.detectable, limit.reach + power)


def _hidden(size: float, found_from: float, found_this_way: float, agreed: float, reach: float) -> str:
    """Return the reason against a change of ``size`` if ``found_from`` is too much; all are shares of the level.

    A change that is larger is one for the better, found from ``found_this_way`` on, or the samples ``agreed`` on less.
    """
    if size < found_from or not math.isfinite(found_from):
        if not found_from < HOPELESS:
            return "too few runs, or too much noise, to find any change"
        return f"too noisy: only changes from {_percent(found_from)} are reliably detectable"
    if size < found_this_way:
        return f"too noisy: only improvements from {_percent(found_this_way)} are reliably detectable"
    return f"the new values agree on a change of {_percent(agreed)} only, and more than {_percent(reach)} would count"


def _own_scatter(samples: Array, variance: float) -> float:
    """Return the standard deviation of new samples where the noise of the history does not explain it, else 0.

    Normal samples with the ``variance`` of the history scatter as much in one case of a thousand (chi squared, by
    Wilson and Hilferty).
    """
    freedom = samples.size - 1
    if freedom < 1:
        return 0.0
    own, part = float(np.var(samples, ddof=1)), 2 / (9 * freedom)
    most = variance * (1 - part + _RARE_SCORE * math.sqrt(part)) ** 3
    return math.sqrt(own) if own > most else 0.0


def _with_scatter(found: Judgement, samples: Array, variance: float) -> Judgement:
    """Return the judgement with a note where the new samples scatter more than the history: its interval is wide."""
    scatter = _own_scatter(samples, variance)
    if not scatter:
        return found
    times = f"{scatter / math.sqrt(variance):.2g} times as far as" if variance > 0 else "unlike"
    return replace(found, reason=f"{found.reason}; the new samples scatter {times} the history")


def _doubt(family: Limits, place: int, level: float, reach: float, *, for_worse: bool) -> str:
    """Return the doubt that a change is that of the new commit, "" if there is none."""
    if for_worse and _inherited(family, place, level, reach):
        return "the newest value of the history lies beyond the bar already: the base moved"
    if _returned(family, place, level, reach):
        return (
            "the newest level of the history is too short to be trusted, and the new values are no further than the "
            "one before"
        )
    return ""


def _returned(family: Limits, place: int, level: float, reach: float) -> bool:
    """Return True if the new values only leave a level that has just begun, and do not go beyond the one before it.

    What lasted for a few values may have been an excursion, which ends with the next value, whoever commits that.
    """
    levels, centre = family.levels[place], float(family.scales.centre[place])
    if levels.current.size >= ESTABLISHED:
        return False
    before = float(np.median(levels.established))
    reach *= max(1.0, abs(before / centre)) if centre else 1.0
    return (level - before) * math.copysign(1.0, level - centre) <= reach


def _inherited(family: Limits, place: int, level: float, reach: float) -> bool:
    """Return True if the newest value of the history lies as far off, and the new ones no further.

    It has to be nearer to the new values than to the level: what several samples have to lie beyond, single values do
    at times.
    """
    centre = float(family.scales.centre[place])
    size, newest = level - centre, float(family.levels[place].values[-1]) - centre
    moved = newest * size > 0 and abs(newest) > max(reach, abs(size) / 2)
    return moved and abs(size) - abs(newest) <= max(reach, family.single(place))


def _decide(
    checks: tuple[Check, ...], direction: Better, *, changed: bool, for_worse: bool, doubt: str
) -> tuple[Verdict, str]:
    """Return verdict and reason; ``doubt`` is why a change is none, or may not be that of the new commit."""
    if doubt:
        return Verdict.UNSTABLE, doubt
    if changed:
        text = "beyond what unchanged commits do"
        if direction is Better.UNKNOWN:
            text += "; the better direction is unknown, so a change counts as a regression"
        return (Verdict.REGRESSED if for_worse else Verdict.IMPROVED), text
    failed = next((check for check in checks if not check.passed), checks[0])
    return Verdict.UNCHANGED, f"the {failed.name} is {failed.value:.4g}, not {failed.relation} {failed.bound:.4g}"


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
        reason = f"the {checked.name} is {checked.value:.4g}; more than {checked.bound:.4g} would count"
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
