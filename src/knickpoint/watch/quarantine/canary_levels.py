"""Judge one value of a canary against the values that the machine had before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from knickpoint.detect import judge
from knickpoint.detect.region_noise import rare_share
from knickpoint.model.judgement import Judgement
from knickpoint.model.step import Verdict

__all__ = ["FEWEST", "NEAREST", "canary_move", "noise_of", "usual_reach"]

FEWEST: Final = 8
"""Values that a machine must have of a canary before it can move: with fewer, its noise is not known."""

NEAREST: Final = 60
"""Values that a value is compared with: the newest at the present level of the machine."""

_ALPHA: Final = 0.002
"""Probability of a false sign where all is well: a canary is asked at each commit, and each sign takes results out."""

_RARE_STRAY: Final = 0.001
"""Share of the commits at which a canary strays beyond its reach; two strays in a row are a move, however far they go."""

_TAIL: Final = 0.1
"""Share of the distances that the tail is fitted to."""

_HEAVIEST: Final = 0.5
"""Largest exponent of a tail. Noise with 3 degrees of freedom has a third; with a half, its variance is infinite."""

_FEWEST_FOR_TAIL: Final = 20
"""Distances that a tail needs; with fewer, it is one of two values."""

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


def usual_reach(level: Sequence[float], strays: Sequence[float]) -> float:
    """Return how far a canary strays from its level at one commit in a thousand, by the tail of its past; 0 for too few values.

    The largest tenth of the distances continues as a power law (Weissman 1978) with the exponent of Hill (1975). The largest
    one of all takes no part, and the exponent has a limit: a single disturbance must not hide smaller ones after it.
    ``strays`` are the distances of values that are no part of ``level``.
    """
    values = np.asarray(level, dtype=np.float64)
    if values.size + len(strays) < _FEWEST_FOR_TAIL:
        return 0.0
    near = np.abs(values - np.median(values[-NEAREST:]))
    distances = np.sort(np.concatenate([near, np.asarray(strays, dtype=np.float64)]))[:-1]
    beyond = max(1, round(distances.size * _TAIL))
    begin = distances[-beyond - 1]
    if not begin > 0:
        return 0.0
    exponent = min(_HEAVIEST, float(np.log(distances[-beyond:] / begin).mean()))
    return float(begin * (beyond / distances.size / _RARE_STRAY) ** exponent)


def noise_of(level: Sequence[float]) -> float:
    """Return how far values stray from their median as a share of it, in four cases of five; nan for too few values."""
    region = np.asarray(level[-NEAREST:], dtype=np.float64)
    centre = float(np.median(region)) if region.size >= FEWEST else 0.0
    return float(np.quantile(np.abs(region - centre), 0.8) / abs(centre)) if centre else float("nan")
