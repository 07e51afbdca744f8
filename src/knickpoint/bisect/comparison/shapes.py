"""See shapes beside levels: runs in a second mode, and samples far from the middle of their run.

What is read from differences depends on their sizes alone, so that the test by exchanged sides may use it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.quantity_text import percent_text

_LEAST_ROUNDS: Final = 12
_LEAST_APART: Final = 3
_LEAST_SHARE: Final = 0.04
_MOST_SHARE: Final = 0.6
"""Two modes that are independent of the side lie apart in half of the rounds at most; in nearly all, it is a step."""

_CLEAR: Final = 2.5
"""How many times the largest difference within a mode the smallest one between modes has to be."""

_TIGHT: Final = 0.3
"""Scatter of the differences between modes over their size, up to which they are one mode and not a tail."""

_LEAST_SAMPLES: Final = 20
_TAIL: Final = 0.95
_CLEAR_SAMPLES: Final = 3.0

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SampleShape:
    """The shape of the samples of one run.

    ``tail`` is the logarithm of their 95th percentile over their median. ``share`` of them are in a second mode whose
    middle is ``distance`` from that of the first, relative to it; 0 without one.
    """

    tail: float
    share: float = 0.0
    distance: float = 0.0

    @classmethod
    def of(cls, samples: Sequence[float]) -> SampleShape | None:
        """Describe samples; None for too few, and for such that are not positive."""
        if len(samples) < _LEAST_SAMPLES:
            return None
        values = np.sort(np.array(samples, dtype=np.float64))
        if not (np.isfinite(values).all() and values[0] > 0):
            return None
        logs = np.log(values)
        middle = float(np.median(logs))
        tail = float(np.quantile(logs, _TAIL)) - middle
        place = int(np.argmax(np.diff(logs))) + 1
        low, high = logs[:place], logs[place:]
        small = min(len(low), len(high))
        inner = max(float(np.std(low)), float(np.std(high)))
        if small < max(_LEAST_APART, _LEAST_SHARE * len(logs)) or high[0] - low[-1] < _CLEAR_SAMPLES * inner:
            return cls(tail)
        minor, major = (high, low) if len(high) <= len(low) else (low, high)
        return cls(tail, small / len(logs), math.expm1(float(np.median(minor) - np.median(major))))


@dataclass(frozen=True, slots=True)
class Modes:
    """The rounds in which the two sides were in different modes, and how far the modes lie apart.

    Where the distances are not alike, it is a ``tail`` instead of a mode.
    """

    apart: NDArray[np.bool_]
    gap: float
    tail: bool

    @classmethod
    def among(cls, differences: Array) -> Modes | None:
        """Find modes by the sizes of differences: small within a mode, and large between two; None without any."""
        sizes = np.abs(differences)
        known = np.sort(sizes[~np.isnan(sizes)])
        count = len(known)
        if count < _LEAST_ROUNDS:
            return None
        fewest = max(_LEAST_APART, math.ceil(_LEAST_SHARE * count))
        places = np.arange(math.ceil((1 - _MOST_SHARE) * count), count - fewest + 1)
        within = np.maximum(known[places - 1], 1e-300)
        ratios = known[places] / within
        best = int(np.argmax(ratios))
        if not ratios[best] >= _CLEAR:
            return None
        bound = float(known[places[best]])
        upper = known[places[best] :]
        tail = bool(np.std(upper) > _TIGHT * np.mean(upper))
        return cls(np.nan_to_num(sizes, nan=0.0) >= bound, float(np.median(upper)), tail)

    def signs(self, differences: Array) -> Array:
        """Say in which direction the head lies apart in each round; 0 for not at all, nan for a missing side."""
        return np.where(np.isnan(differences), np.nan, np.where(self.apart, np.sign(differences), 0.0))

    def mean_change(self, differences: Array) -> float:
        """Change of the mean by the rounds that lie apart."""
        return float(np.nanmean(self.signs(differences))) * self.gap

    def text(self, base: Array, head: Array, logs: Array) -> str:
        """Name the mode that appears or vanishes; ``logs`` are the differences, the sides logarithms of values."""
        signs = self.signs(logs)
        direction = 1.0 if np.nansum(signs) > 0 else -1.0
        rounds = signs == direction
        # The side that is far from its own middle in these rounds is the one in the rarer mode.
        strays = [float(np.nanmedian(np.abs(side[rounds] - np.nanmedian(side)))) for side in (base, head)]
        ours, theirs, known = int(rounds.sum()), int((signs == -direction).sum()), int((~np.isnan(signs)).sum())
        appears = strays[1] >= strays[0]
        place = math.expm1(self.gap * (direction if appears else -direction))
        counts = (theirs, ours) if appears else (ours, theirs)
        what = "a tail" if self.tail else "a second mode"
        word = "appears" if appears else "vanishes"
        return (
            f"{what} {word} at about {_signed(place)}: the base alone is there in {counts[0]} of {known} rounds, the"
            f" head alone in {counts[1]}"
        )


def _signed(share: float) -> str:
    return f"{'−' if share < 0 else '+'}{percent_text(share)}"


def sample_text(base: Sequence[SampleShape], head: Sequence[SampleShape]) -> str:
    """Describe how the shape of the samples changed between the runs of both sides."""
    before, after = (float(np.median([each.share for each in side])) for side in (base, head))
    if (before or after) and not 0.5 < (before + 1e-9) / (after + 1e-9) < 2:
        known = head if after > before else base
        distance = float(np.median([each.distance for each in known if each.share]))
        word = "appears" if after > before else "vanishes"
        share = max(before, after)
        return f"a second mode of {percent_text(share)} of the samples {word}, at about {_signed(distance)}"
    tails = [math.expm1(float(np.median([each.tail for each in side]))) for side in (base, head)]
    return (
        "the tail of the samples changed: the 95th percentile lies"
        f" {_signed(tails[0])} from the median at the base, {_signed(tails[1])} at the head"
    )
