"""Distributions of values around their level, and what changed from one to another, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from knickpoint.model.quantity_text import number_text, percent_text, scale_for, value_text

_COUNTS: Final = ("no modes", "one mode", "two modes", "three modes", "several modes")
_FEWEST_DIGITS: Final = 3
_MOST_DIGITS: Final = 9

Modes = Sequence[tuple[str, str]]
"""The levels that values lie around with their shares, as texts."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """How values are distributed: a tenth of them lies below ``low``, a tenth above ``high``.

    ``modes`` are the levels that they lie around, ascending, each with its share of the values: one where they do not
    fall apart.
    """

    low: float
    high: float
    modes: tuple[tuple[float, float], ...]


def distribution_text(before: Distribution, after: Distribution, unit: str) -> str:
    """Describe the main levels before and after, and the modes that came or went.

    As in `10 to 90 %: 9.8–10.3 → 9.6–12.9 ms; a second mode at 12.8 ms with 30 % of the values`.
    """
    ends = [(side.low, side.high) for side in (before, after)]
    size = max(abs(end) for side in ends for end in side)
    scale, digits = scale_for(size, unit), _digits(size, ends)
    ranges = " → ".join("–".join(number_text(end / scale.divisor, digits) for end in side) for side in ends)
    parts = [f"10 to 90 %: {ranges} {value_text(0, unit, scale).partition(' ')[2]}".rstrip()]
    was, now = (
        [(value_text(level, unit, scale, digits), percent_text(share)) for level, share in side.modes]
        for side in (before, after)
    )
    return "; ".join(filter(None, [*parts, _modes_text(was, now, _main(before, after))]))


def _digits(size: float, ends: Sequence[tuple[float, float]]) -> int:
    """Return with how many significant digits of a number of ``size`` the shorter of two ranges shows."""
    spans = [high - low for low, high in ends if high > low]
    needed = 2 + math.ceil(math.log10(size / min(spans))) if spans and size > 0 else _FEWEST_DIGITS
    return min(_MOST_DIGITS, max(_FEWEST_DIGITS, needed))


def _main(before: Distribution, after: Distribution) -> int | None:
    """Return the mode of ``after`` that is the only one of ``before``: one much nearer to it than to other modes.

    Else None.
    """
    known, levels = before.modes[0][0], [level for level, _ in after.modes]
    nearest = min(range(len(levels)), key=lambda number: abs(levels[number] - known))
    others = [abs(level - levels[nearest]) for number, level in enumerate(levels) if number != nearest]
    return nearest if all(abs(levels[nearest] - known) <= other / 4 for other in others) else None


def _modes_text(before: Modes, after: Modes, main: int | None) -> str:
    """Name the present modes if there are or were several; ``main`` is the one of ``after`` that is known."""
    if len(before) == len(after) == 1:
        return ""
    if len(after) == 1:
        return f"{_COUNTS[min(len(before), len(_COUNTS) - 1)]} before, one now"
    if len(before) > 1:
        sides = (", ".join(f"{level} ({share})" for level, share in side) for side in (before, after))
        return f"modes: {' → '.join(sides)}"
    new = [mode for number, mode in enumerate(after) if number != main]
    if len(new) == 1:
        return f"a second mode at {new[0][0]} with {new[0][1]} of the values"
    listed = ", ".join(f"{level} ({share})" for level, share in new)
    return (
        f"further modes at {listed}"
        if main is not None
        else f"{_COUNTS[min(len(new), len(_COUNTS) - 1)]} where one was: {listed}"
    )


# What a measure of spread that resists outliers amounts to, for normal noise.


MAD: Final = 1.4826
"""Factor from the median distance from the median to the standard deviation of normal noise."""
