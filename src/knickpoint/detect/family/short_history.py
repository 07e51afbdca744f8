"""Judge new values without knowing the noise of their history: only what is enormous is a change."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.steps import stable_region
from knickpoint.model.judged_benchmark import Judgement
from knickpoint.model.step import Check, Verdict
from knickpoint.model.unit_names import Better

FEWEST: Final = 5
"""Values that a history must have."""

ENORMOUS: Final = 5.0
"""Factor over the worst value of a history, whatever its noise, from which on a change is certain."""

Array = NDArray[np.float64]


def relative_size(size: float, centre: float) -> float:
    """Return a size over the level; infinite for a change from 0."""
    return size / abs(centre) if centre else math.copysign(math.inf, size) if size else 0.0


def judge_short(history: Array, samples: Array, direction: Better) -> Judgement:
    """Return the verdict without knowing the noise: only what is enormous is a change."""
    past = history[~np.isnan(history)]
    enough = (
        Check("values in the history", float(past.size), ">=", float(FEWEST), past.size >= FEWEST),
        Check("new samples", float(samples.size), ">=", 1.0, samples.size >= 1),
    )
    region = stable_region(history, 0, history.size - 1) if past.size else None
    if not samples.size:
        return Judgement.without_numbers(Verdict.NO_DATA, "no new sample was given", region=region, evidence=enough)
    factor = _least_factor(past, samples, direction)
    if not factor >= ENORMOUS:
        reason = f"the history has {past.size} of the {FEWEST} values that a verdict needs"
        return Judgement.without_numbers(
            Verdict.NO_DATA, reason, region=region, samples=int(samples.size), evidence=enough
        )
    centre, level = float(np.median(past)), float(np.median(samples))
    plain = Judgement.without_numbers(
        Verdict.REGRESSED,
        f"{_times(factor)} worse than each of the {past.size} values of the history, which are too few to know the "
        "noise",
        region=region,
        samples=int(samples.size),
        evidence=(*enough, Check("factor over the worst value", factor, ">=", ENORMOUS)),
    )
    size = level - centre
    return replace(plain, conditional=samples.size == 1, level=level, centre=centre, size=size,
                   relative_size=relative_size(size, centre))  # fmt: skip


def judge_enormous(found: Judgement, history: Array, samples: Array, direction: Better) -> Judgement:
    """Return the verdict on a change that is beyond doubt without any estimate of the noise, else ``found`` itself."""
    past = history[~np.isnan(history)]
    factor = _least_factor(past, samples, direction)
    matters = found.evidence[1].passed
    if found.verdict is Verdict.REGRESSED or not (factor >= ENORMOUS and matters):
        return found
    return replace(
        found,
        verdict=Verdict.REGRESSED,
        conditional=samples.size == 1,
        reason=f"{_times(factor)} worse than each of the {past.size} values of the history",
        evidence=(*found.evidence, Check("factor over the worst value", factor, ">=", ENORMOUS)),
    )


def _times(factor: float) -> str:
    return f"{factor:.3g} times" if math.isfinite(factor) else "infinitely"


def _least_factor(past: Array, samples: Array, direction: Better) -> float:
    """Return the ratio of the best of the samples to the worst value; nan if that means nothing."""
    if not past.size or past.min() <= 0 or samples.min() < 0:
        return math.nan
    with np.errstate(divide="ignore", over="ignore"):
        up = float(np.divide(samples.min(), past.max()))
        down = float(np.divide(past.min(), samples.max()))
    return {Better.LOWER: up, Better.HIGHER: down}.get(direction, max(up, down))
