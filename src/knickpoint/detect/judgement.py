"""Judge new samples against the level that the history ends with.

A step needs values after it. The newest commit, a patch or a canary has none, so :func:`judge` asks another question:
do these samples belong to the current stable region? They do not when they lie outside of its prediction interval,
further off than runs of its own values, and when the difference is large enough to matter. The guide page ``judge.md``
has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.batch import find_steps_without_evidence
from knickpoint.detect.measured_series import check_series, safe_unit
from knickpoint.detect.methods.default.method import detect_default
from knickpoint.detect.methods.default.model import FALSE_ALARMS
from knickpoint.detect.outliers import Outliers, critical_value, find_outliers_of_noise, rounding, student_quantile
from knickpoint.detect.region_noise import RegionNoise, estimate_noise, rare_share
from knickpoint.detect.steps import stable_region
from knickpoint.model.errors import InputError
from knickpoint.model.judged_benchmark import Judgement
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Check, StableRegion, Step, Verdict
from knickpoint.model.unit_names import Better
from knickpoint.native.student import student_p_value

FEWEST: Final = 5
"""Values that the region must have; fewer give no verdict."""

NEWEST: Final = 1_000
"""Values of a longer region that define its level and noise: they suffice, and the search for outliers takes O(n^2)."""

POWER: Final = 0.8
"""The probability with which the detectable effect is found."""

_Relation = Literal[">", "<=", ">="]


def _current_region(
    history: NDArray[np.float64], false_alarms: float, *, ordered: bool
) -> tuple[StableRegion | None, float]:
    """Return the stable region after the last step of ``history``, None where no value is measured, and its slope.

    The slope is what the level still moves by from value to value, because the history ends in a drift.
    """
    if np.isnan(history).all():
        return None, 0.0
    steps = detect_default(history, false_alarms=false_alarms, candidates=False).steps if ordered else ()
    return _region_behind(steps, history)


def _region_behind(steps: Sequence[Step], history: NDArray[np.float64]) -> tuple[StableRegion, float]:
    """Return the stable region behind all ``steps`` of ``history``, which has a value, and its slope."""
    if not steps:
        return stable_region(history, 0, history.size - 1), 0.0
    last, ends = steps[-1], [step.after.last for step in steps if step.kind is FindingKind.DRIFT]
    later = max(ends, default=-1) + 1
    if last.index < later < history.size and np.count_nonzero(~np.isnan(history[later:])) >= FEWEST:
        return stable_region(history, later, history.size - 1), 0.0  # the drift is over
    return last.after, last.estimate.slope if last.estimate else 0.0


def _measured_level(past: NDArray[np.float64], region: StableRegion, slope: float) -> NDArray[np.float64]:
    """Return the newest measured values of ``region``, as high as its drift has led by now."""
    part = past[region.first : region.last + 1]
    measured: NDArray[np.float64] = part[~np.isnan(part)][-NEWEST:]
    return measured + slope * np.arange(measured.size, 0, -1) if slope else measured


def _measured_samples(new: ArrayLike) -> NDArray[np.float64]:
    """Return the measured samples among one value or a list of values."""
    single = new is None or np.isscalar(new) or getattr(new, "ndim", 1) == 0
    listed: Any = [new] if single else new
    samples = check_series(listed)
    return samples[~np.isnan(samples)]


def _relative(size: float, centre: float) -> float:
    return size / abs(centre) if centre else math.copysign(math.inf, size) if size else 0.0


def _direction(better: Better, size: float) -> Verdict:
    if better is Better.UNKNOWN:
        return Verdict.REGRESSED
    return Verdict.IMPROVED if (size > 0) is (better is Better.HIGHER) else Verdict.REGRESSED


def _check(name: str, value: float, relation: _Relation, bound: float) -> Check:
    """Compare ``value`` with ``bound``."""
    compare: Callable[[float, float], bool] = {">": float.__gt__, "<=": float.__le__, ">=": float.__ge__}[relation]
    return Check(name, float(value), relation, float(bound), compare(float(value), float(bound)))


def _reason(verdict: Verdict, checks: tuple[Check, ...], better: Better, *, conditional: bool) -> str:
    if verdict is Verdict.UNSTABLE:
        return "the noise is so large that even a change beyond the largest bearable effect could stay unseen"
    if verdict is Verdict.UNCHANGED:
        failed = next((check for check in checks if check.relation and not check.passed), None)
        if failed is None:
            return "within the noise of the region"
        return f"the {failed.name} is {failed.value:.4g}, not {failed.relation} {failed.bound:.4g}"
    text = "beyond what the region's noise does"
    if better is Better.UNKNOWN:
        text += "; the better direction is unknown, so a change counts as a regression"
    if conditional:
        text += "; it rests on one value, measure again to confirm"
    return text


@dataclass(frozen=True, slots=True)
class _Comparison:
    """New samples beside the level of a region; all values are in one unit near 1.

    Attributes:
        noise: that of the region.
        samples: how many new samples there are.
        level: their median.
        error: standard error of the difference.
        reach: what a difference has to exceed: what the noise does, for the number of samples.
        half_width: that of the prediction interval.
        detectable: the smallest effect that is found with probability :data:`POWER`.
    """

    noise: RegionNoise
    samples: int
    level: float
    error: float
    reach: float
    half_width: float
    detectable: float

    @property
    def size(self) -> float:
        """Difference of the levels."""
        return self.level - self.noise.centre

    @property
    def p_value(self) -> float:
        """Two-sided p of the difference."""
        if self.error > 0:
            return student_p_value(self.size / self.error, self.noise.count - 1)
        return float(self.size == 0)

    def relative(self, size: float) -> float:
        """Return ``size`` as a share of the level of the region."""
        return _relative(size, self.noise.centre)


def _compare_levels(noise: RegionNoise, level: float, samples: int, alpha: float, minimum_effect: float) -> _Comparison:
    """Compare the median of new samples with the level of the region."""
    error, freedom = noise.standard_error(samples), noise.count - 1
    quantile = student_quantile(1 - alpha / 2, freedom)
    bars = [quantile * error, noise.usual_distance(samples)]
    if samples == 1:
        # A single sample has to be an outlier by the generalised ESD test.
        bars.append(critical_value(noise.values.size + 1, 0.05) * noise.scale)
    reach = max(bars)
    detectable = max(reach, minimum_effect * abs(noise.centre)) + student_quantile(POWER, freedom) * error
    return _Comparison(noise, samples, level, error, reach, quantile * error, detectable)


def _outliers_beside(region: NDArray[np.float64], value: float) -> tuple[NDArray[np.float64], Outliers]:
    """Return the values of ``region`` with ``value`` behind them, and the outliers among all of these."""
    values = np.append(region, value)
    return values, find_outliers_of_noise(values, most=_most_outliers(values.size), rounded_to=rounding(region))


def _most_outliers(count: int) -> int:
    return max(1, count // 10) + 1


def _outlier_check(noise: RegionNoise, level: float) -> Check:
    """Test whether the single new sample is an outlier among the values of the region."""
    values, found = _outliers_beside(noise.values, level)
    if values.size - 1 in found.indices:
        rank = found.indices.index(values.size - 1)
        is_outlier = rank < found.count
        return Check("generalised ESD of the sample", found.statistics[rank], ">", found.critical[rank], is_outlier)
    flat = not noise.scale > 0
    return Check("generalised ESD of the sample", math.inf if flat else 0.0, ">", 0.0, flat)


def _change_checks(comparison: _Comparison, minimum_effect: float, unit: float) -> list[Check]:
    """Return the checks that a change has to pass, with their numbers, in the unit of the series."""
    noise, size = comparison.noise, comparison.size
    runs = noise.run_distances(comparison.samples)
    straying = np.count_nonzero(runs * math.copysign(1.0, size) >= abs(size))
    checks = [
        Check("noise (standard deviation)", noise.scale * unit),
        Check("autocorrelation at lag 1", noise.phi),
        Check("outliers of the region, set aside", float(noise.outliers)),
        Check("standard error of the difference", comparison.error * unit),
        _check("distance from the level", abs(size) * unit, ">", comparison.half_width * unit),
        _check("distance over the level", abs(comparison.relative(size)), ">=", minimum_effect),
        _check("share of the region's runs that stray as far", straying / runs.size, "<=", rare_share(runs.size)),
    ]
    if comparison.samples == 1:
        checks.append(_outlier_check(noise, comparison.level))
    return checks


def _power_checks(comparison: _Comparison, minimum_effect: float, largest_effect: float) -> list[Check]:
    """Return the checks that a change of note would have been found; one that holds suffices."""
    detectable = comparison.relative(comparison.detectable)
    checks = [_check("detectable effect over the level", detectable, "<=", largest_effect)]
    if minimum_effect > 0:
        reach = comparison.relative(comparison.reach)
        checks.append(_check("reach of the noise over the level", reach, "<=", minimum_effect))
    return checks


def judge(
    history: ArrayLike,
    new: ArrayLike,
    *,
    better: Better | str = Better.UNKNOWN,
    alpha: float = 0.01,
    minimum_effect: float = 0.0,
    largest_effect: float = 0.5,
    false_alarms: float = FALSE_ALARMS,
    ordered: bool = True,
) -> Judgement:
    """Judge new samples against the current stable region of a history.

    ``history`` is 1-D in the order of the commits, ``nan`` for missing; the region is what follows its last step by the
    default method at ``false_alarms``, and goes along with a drift. ``new`` is one value or a 1-D array of samples.
    ``better`` is "lower", "higher" or "unknown". Where ``ordered`` is false the history is one level whose samples have
    no order, such as those of another build: it has no steps, and any order of them gives the same verdict. The verdict
    is

    - *no data* when no new sample is given, or the region has fewer than 5 values;
    - *regressed* or *improved* when the median of the samples lies outside the prediction interval at ``alpha``, its
      distance is at least ``minimum_effect`` times the level, at most 2 % of the region's own runs stray as far,
      and, for a single sample, the generalised ESD test calls it an outlier; when it is unknown which direction is
      better it is *regressed*. A verdict from a single sample is always conditional;
    - *unstable* when it is none of these, an effect of ``largest_effect`` times the level could stay unseen, and it is
      the noise that hides it: values that belong to the level may stray further than ``minimum_effect``;
    - *unchanged* otherwise. So a larger ``minimum_effect`` turns changes and unstable verdicts into unchanged ones, and
      never the other way round.

    Raises:
        SeriesError: history or samples are not finite or missing numbers in one dimension.
        InputError: ``better`` is none of the three, ``alpha`` is not between 0 and 0.5, an effect is negative, or
            ``false_alarms`` is not above 0 and at most 1,000.
    """
    direction = _checked_direction(better, alpha, minimum_effect, largest_effect)
    # The current level: the stable region that the history ends with.
    past = check_series(history)
    new_samples = _measured_samples(new)
    if not ordered:
        past = np.random.default_rng(0).permutation(np.sort(past))
    region, slope = _current_region(past, false_alarms, ordered=ordered)
    enough = (
        _check("values in the region", float(region.count if region else 0), ">=", FEWEST),
        _check("new samples", float(new_samples.size), ">=", 1),
    )
    if region is None or not all(check.passed for check in enough):
        reason = f"the region has fewer than {FEWEST} values" if new_samples.size else "no new sample was given"
        return Judgement.without_numbers(
            Verdict.NO_DATA, reason, region=region, samples=int(new_samples.size), evidence=enough
        )
    # Its noise, in units near 1 so that no square overflows, and the difference of the new samples from its level.
    measured = _measured_level(past, region, slope)
    unit = safe_unit(measured)
    noise = estimate_noise(measured / unit, ordered=ordered)
    with np.errstate(over="ignore"):
        level = float(np.median(new_samples / unit))
    comparison = _compare_levels(noise, level, int(new_samples.size), alpha, minimum_effect)
    # Verdict: a change, or else whether one that matters could have stayed unseen.
    change = [*enough, *_change_checks(comparison, minimum_effect, unit)]
    power = _power_checks(comparison, minimum_effect, largest_effect)
    size = comparison.size
    if size != 0 and all(check.passed for check in change):
        verdict = _direction(direction, size)
    else:
        verdict = Verdict.UNCHANGED if any(check.passed for check in power) else Verdict.UNSTABLE
    checks = (*change, *power)
    conditional = verdict in {Verdict.REGRESSED, Verdict.IMPROVED} and comparison.samples == 1
    return Judgement(
        verdict=verdict,
        conditional=conditional,
        reason=_reason(verdict, checks, direction, conditional=conditional),
        region=region,
        samples=comparison.samples,
        level=level * unit,
        centre=noise.centre * unit,
        size=size * unit,
        relative_size=comparison.relative(size),
        low=(noise.centre - comparison.half_width) * unit,
        high=(noise.centre + comparison.half_width) * unit,
        detectable=comparison.detectable * unit,
        detectable_relative=comparison.relative(comparison.detectable),
        p_value=comparison.p_value,
        evidence=checks,
    )


def may_be_changes(histories: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return per row of ``histories`` whether :func:`judge` may call the single value of ``values`` a change of it.

    ``histories`` is series x commits, each in order, ``nan`` for missing and with a value; ``values`` has one for each,
    without ``nan``. False is certain, and takes a third of the time: the value is not an outlier of the current region.
    """
    found = find_steps_without_evidence(histories, "default", {"false_alarms": FALSE_ALARMS})
    return np.array(
        [
            _may_be_change(history, *_region_behind(steps, history), value)
            for history, steps, value in zip(histories, found, values.tolist(), strict=True)
        ],
        dtype=np.bool_,
    )


def _may_be_change(history: NDArray[np.float64], region: StableRegion, slope: float, value: float) -> bool:
    """Return True if ``value`` may be an outlier of the newest values of ``region``."""
    if region.count < FEWEST:
        return False
    measured = _measured_level(history, region, slope)
    unit = safe_unit(measured)
    with np.errstate(over="ignore"):
        values, found = _outliers_beside(measured / unit, value / unit)
    stopped = len(found.indices) < min(_most_outliers(values.size), values.size - 2)  # most values are equal
    return stopped or values.size - 1 in found.indices[: found.count]


def _checked_direction(better: Better | str, alpha: float, minimum_effect: float, largest_effect: float) -> Better:
    """Return the better direction, and raise ``InputError`` for an option out of its range."""
    try:
        direction = Better(better)
    except ValueError:
        raise InputError(
            f"better is {better!r}", remedy="Give lower, higher or unknown: which direction is good news."
        ) from None
    if not 0 < alpha < 0.5:
        raise InputError(f"alpha is {alpha}", remedy="Give a number between 0 and 0.5, such as 0.01.")
    for name, effect in (("minimum_effect", minimum_effect), ("largest_effect", largest_effect)):
        if not effect >= 0:
            raise InputError(f"{name} is {effect}", remedy="Give a share of the level, 0 or more; 0.05 is 5 %.")
    return direction
