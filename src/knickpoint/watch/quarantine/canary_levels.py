"""Judge one value of a canary against the values that the machine had before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from knickpoint.detect import judge
from knickpoint.detect.region_noise import rare_share
from knickpoint.model.judgement import Judgement
from knickpoint.model.step import Verdict

__all__ = ["FEWEST", "NEAREST", "canary_move", "noise_of"]

FEWEST: Final = 8
"""Values that a machine must have of a canary before it can move: with fewer, its noise is not known."""

NEAREST: Final = 60
"""Values that a value is compared with: the newest at the present level of the machine."""

_ALPHA: Final = 0.002
"""Probability of a false sign where all is well: a canary is asked at each commit, and each sign takes results out."""

_MOVED: Final = frozenset({Verdict.REGRESSED, Verdict.IMPROVED})


def canary_move(level: Sequence[float], value: float, minimum_effect: float) -> Judgement | None:
    """Return the verdict on ``value`` where it lies off the values of ``level``, None where it does not.

    Most values are unremarkable, which counting decides; only the others are judged in full.
    """
    region = np.asarray(level[-NEAREST:], dtype=np.float64)
    if region.size < FEWEST:
        return None
    most = rare_share(region.size) * region.size
    if min(int((region >= value).sum()), int((region <= value).sum())) > most:
        return None
    judgement = judge(region, value, alpha=_ALPHA, minimum_effect=minimum_effect, ordered=False)
    return judgement if judgement.verdict in _MOVED else None


def noise_of(level: Sequence[float]) -> float:
    """Return how far values stray from their median as a share of it, in four cases of five; nan for too few values."""
    region = np.asarray(level[-NEAREST:], dtype=np.float64)
    centre = float(np.median(region)) if region.size >= FEWEST else 0.0
    return float(np.quantile(np.abs(region - centre), 0.8) / abs(centre)) if centre else float("nan")
