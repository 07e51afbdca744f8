"""Judge new samples against the level that the history ends with.

A step needs values after it; the newest commit, a patch or a canary has none. So :func:`judge` asks another question:
do these samples belong to the current stable region? The guide page ``judge.md`` has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.measured_series import check_series, safe_unit
from knickpoint.detect.methods.default.method import detect_default
from knickpoint.detect.methods.default.model import FALSE_ALARMS
from knickpoint.detect.outliers import critical_value, find_outliers, student_quantile
from knickpoint.detect.steps import stable_region
from knickpoint.model.errors import InputError
from knickpoint.model.judgement import Judgement
from knickpoint.model.step import Check, StableRegion, Verdict
from knickpoint.model.unit import Better
from knickpoint.native.student import student_p_value

__all__ = ["judge"]

FEWEST: Final = 5
"""Values that the region must have; fewer give no verdict."""

NEWEST: Final = 1_000
"""Values of a longer region that tell its level and noise: enough of them, and the search for outliers takes O(n^2)."""

RARE: Final = 0.02
"""Share of the region's own runs that may stray as far as the new samples do."""

POWER: Final = 0.8
"""The chance with which the detectable effect is seen."""

_MAD: Final = 1.4826


@dataclass(frozen=True, slots=True)
class _Noise:
    """Hold the level of a region and how its values stray from it.

    ``values`` are all that were measured, outliers included; the other numbers leave the outliers out.
    """

    centre: float
    scale: float
    phi: float
    freedom: float
    values: NDArray[np.float64]
    outliers: int

    def error(self, samples: int) -> float:
        """Return the standard deviation of the median of so many samples less the centre, itself a median."""
        lags = np.arange(1, samples)
        together = float(1 + 2 * ((1 - lags / samples) * self.phi**lags).sum()) / samples
        level = (1 + self.phi) / (1 - self.phi) / self.freedom
        return self.scale * math.sqrt(together * _median_to_mean(samples) + level * _median_to_mean(int(self.freedom)))

    def runs(self, samples: int) -> NDArray[np.float64]:
        """Return how far the median of every run of so many values, at most half of the region, lies from the centre."""
        run = min(samples, self.values.size // 2)
        medians: NDArray[np.float64] = np.median(np.lib.stride_tricks.sliding_window_view(self.values, run), axis=1)
        return medians - self.centre

    def seen(self, samples: int) -> float:
        """Return what a distance must exceed, to either side, so that no more than the rare runs stray as far."""
        runs = self.runs(samples)
        beyond = int(_rare(runs.size) * runs.size)
        return float(max(np.sort(side)[-beyond - 1] for side in (runs, -runs)))


def _median_to_mean(samples: int) -> float:
    """Return the variance of the median of so many normal samples over that of their mean, to 3 % for odd numbers."""
    odd = samples - 1 + samples % 2
    return math.pi * odd / (2 * odd + math.pi - 2)


def _current_region(history: NDArray[np.float64], false_alarms: float, *, ordered: bool) -> StableRegion | None:
    if np.isnan(history).all():
        return None
    steps = detect_default(history, false_alarms=false_alarms).steps if ordered else ()
    return steps[-1].after if steps else stable_region(history, 0, history.size - 1)


def _samples(new: ArrayLike) -> NDArray[np.float64]:
    """Return the measured samples of one value or a list of them."""
    lone = new is None or np.isscalar(new) or getattr(new, "ndim", 1) == 0
    listed: Any = [new] if lone else new
    given = check_series(listed)
    return given[~np.isnan(given)]


def _study(values: NDArray[np.float64], *, ordered: bool) -> _Noise:
    """Estimate level, noise and autocorrelation, at most a tenth of the values set aside as outliers.

    Around a level of their own, n values show (1 + 3 phi) / n less autocorrelation than there is (Kendall 1954). Values
    without order have none.
    """
    found = find_outliers(values, most=max(1, values.size // 10), alpha=0.01, robust=True)
    kept = np.delete(values, list(found.indices[: found.count]))
    centre = float(np.median(kept))
    residual = kept - centre
    deviation = float(np.sqrt(np.square(residual).sum() / max(kept.size - 1, 1)))
    scale = max(deviation, _MAD * float(np.median(np.abs(residual))))
    clipped = np.clip(residual, -3 * scale, 3 * scale)
    total = float(np.square(clipped).sum())
    first = float((clipped[1:] * clipped[:-1]).sum()) / total if total > 0 else 0.0
    phi = min(max(first + (1 + 3 * first) / kept.size, 0.0), 0.8) if ordered else 0.0
    return _Noise(centre, scale, phi, float(kept.size), values, found.count)


def _rare(runs: int) -> float:
    """Return the share of so many runs that may stray as far: at least one of few."""
    return RARE + 1 / runs if runs < 1 / RARE else RARE


def _relative(size: float, centre: float) -> float:
    return size / abs(centre) if centre else math.copysign(math.inf, size) if size else 0.0


def _direction(better: Better, size: float) -> Verdict:
    if better is Better.UNKNOWN:
        return Verdict.REGRESSED
    return Verdict.IMPROVED if (size > 0) is (better is Better.HIGHER) else Verdict.REGRESSED


def _compare(value: float, relation: Literal[">", "<=", ">="], bound: float) -> bool:
    compare: Callable[[float, float], bool] = {
        ">": float.__gt__,
        "<=": float.__le__,
        ">=": float.__ge__,
    }[relation]
    return compare(float(value), float(bound))


def _check(name: str, value: float, relation: Literal[">", "<=", ">="], bound: float) -> Check:
    return Check(name, float(value), relation, float(bound), _compare(value, relation, bound))


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
        text += "; nobody said which direction is better, so a change counts as a regression"
    if conditional:
        text += "; it rests on one sample, measure again to confirm"
    return text


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

    ``history`` is 1-D in the order of the commits, ``nan`` for missing; the region is what follows its last step by
    the default method at ``false_alarms``. ``new`` is one value or a 1-D array of samples. ``better`` is "lower",
    "higher" or "unknown". Where ``ordered`` is false the history is one level whose samples have no order, such as
    those of another build: no step is looked for, and any order of them gives the same verdict. The verdict is

    - *no data* when no new sample is given, or the region has fewer than 5 values;
    - *regressed* or *improved* when the median of the samples lies outside the prediction interval at ``alpha``, its
      distance is at least ``minimum_effect`` times the level, at most 2 % of the region's own runs stray as far,
      and, for a single sample, the generalised ESD test calls it an outlier; when nobody knows which direction is
      better it is *regressed*. A finding from a single sample is always conditional;
    - *unstable* when it is none of these, an effect of ``largest_effect`` times the level could stay unseen, and it is
      the noise that hides it: values that belong to the level may stray further than ``minimum_effect``;
    - *unchanged* otherwise. So a larger ``minimum_effect`` turns changes and unstable verdicts into unchanged ones, and
      never the other way round.

    Raises:
        SeriesError: history or samples are not finite or missing numbers in one dimension.
        InputError: ``better`` is none of the three, ``alpha`` is not between 0 and 0.5, an effect is negative, or
            ``false_alarms`` is not above 0 and at most 1,000.
    """
    # The current level: the stable region that the history ends with.
    direction = _options(better, alpha, minimum_effect, largest_effect)
    past = check_series(history)
    fresh = _samples(new)
    if not ordered:
        past = np.random.default_rng(0).permutation(np.sort(past))
    region = _current_region(past, false_alarms, ordered=ordered)
    evidence = (
        _check("values in the region", float(region.count if region else 0), ">=", FEWEST),
        _check("new samples", float(fresh.size), ">=", 1),
    )
    if region is None or not all(check.passed for check in evidence):
        reason = f"the region has fewer than {FEWEST} values" if fresh.size else "no new sample was given"
        return Judgement.without_numbers(
            Verdict.NO_DATA, reason, region=region, samples=int(fresh.size), evidence=evidence
        )
    # Its noise, in units near 1 so that no square overflows, and the distance of the new samples from it.
    part = past[region.first : region.last + 1]
    measured = part[~np.isnan(part)][-NEWEST:]
    unit = safe_unit(measured)
    noise = _study(measured / unit, ordered=ordered)
    with np.errstate(over="ignore"):
        samples, level = int(fresh.size), float(np.median(fresh / unit))
    size = level - noise.centre
    error, freedom = noise.error(samples), noise.freedom - 1
    wide = student_quantile(1 - alpha / 2, freedom)
    runs = noise.runs(samples)
    strays = np.count_nonzero(runs * math.copysign(1.0, size) >= abs(size))
    # How far a change must reach: beyond what the noise does, and at least as far as what counts.
    bars = [wide * error, noise.seen(samples)]
    if samples == 1:
        bars.append(_lone_bar(noise))
    reach = max(bars)
    detectable = max(reach, minimum_effect * abs(noise.centre)) + student_quantile(POWER, freedom) * error
    # What has to hold for a change.
    checks = [
        *evidence,
        Check("noise (standard deviation)", noise.scale * unit),
        Check("autocorrelation at lag 1", noise.phi),
        Check("outliers of the region, set aside", float(noise.outliers)),
        Check("standard error of the difference", error * unit),
        _check("distance from the level", abs(size) * unit, ">", wide * error * unit),
        _check("distance over the level", abs(_relative(size, noise.centre)), ">=", minimum_effect),
        _check("share of the region's runs that stray as far", strays / runs.size, "<=", _rare(runs.size)),
    ]
    if samples == 1:
        checks.append(_outlier(noise, level))
    changed = size != 0 and all(check.passed for check in checks)
    # Without one: whether a change that counts could have stayed unseen.
    blind = _relative(detectable, noise.centre)
    hidden = [_check("detectable effect over the level", blind, "<=", largest_effect)]
    if minimum_effect > 0:
        hidden.append(_check("reach of the noise over the level", _relative(reach, noise.centre), "<=", minimum_effect))
    if changed:
        verdict = _direction(direction, size)
    else:
        verdict = Verdict.UNCHANGED if any(check.passed for check in hidden) else Verdict.UNSTABLE
    checks += hidden
    conditional = changed and samples == 1
    return Judgement(
        verdict=verdict,
        conditional=conditional,
        reason=_reason(verdict, tuple(checks), direction, conditional=conditional),
        region=region,
        samples=samples,
        level=level * unit,
        centre=noise.centre * unit,
        size=size * unit,
        relative_size=_relative(size, noise.centre),
        low=(noise.centre - wide * error) * unit,
        high=(noise.centre + wide * error) * unit,
        detectable=detectable * unit,
        detectable_relative=blind,
        p_value=student_p_value(size / error, freedom) if error > 0 else float(size == 0),
        evidence=tuple(checks),
    )


def _lone_bar(noise: _Noise) -> float:
    """Return how far a single sample must lie from the level for the generalised ESD test to call it an outlier."""
    return critical_value(noise.values.size + 1, 0.05) * noise.scale


def _outlier(noise: _Noise, level: float) -> Check:
    """Test whether the single new sample is an outlier among the region's values."""
    values = np.append(noise.values, level)
    found = find_outliers(values, most=max(1, values.size // 10) + 1, robust=True)
    if values.size - 1 in found.indices:
        place = found.indices.index(values.size - 1)
        inside = place < found.count
        return Check("generalised ESD of the sample", found.statistics[place], ">", found.critical[place], inside)
    flat = not noise.scale > 0
    return Check("generalised ESD of the sample", math.inf if flat else 0.0, ">", 0.0, flat)


def _options(better: Better | str, alpha: float, minimum_effect: float, largest_effect: float) -> Better:
    try:
        direction = Better(better)
    except ValueError:
        raise InputError(
            f"better is {better!r}", remedy="Say lower, higher or unknown: which direction is good news."
        ) from None
    if not 0 < alpha < 0.5:
        raise InputError(f"alpha is {alpha}", remedy="Give a number between 0 and 0.5, such as 0.01.")
    for name, effect in (("minimum_effect", minimum_effect), ("largest_effect", largest_effect)):
        if not effect >= 0:
            raise InputError(f"{name} is {effect}", remedy="Give a share of the level, 0 or more; 0.05 is 5 %.")
    return direction
