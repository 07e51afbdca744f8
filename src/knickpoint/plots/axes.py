"""The axes of a plot: which values it spans, and the ticks with their texts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.quantity_text import Scale, number_text, scale_for, value_text

_LARGEST: Final = 1e300
"""Larger values are drawn as this one, so that no difference of two overflows."""
_FAR: Final = 3.0
"""Values further away from the others than this many times their spread do not widen the axis."""
_MARGIN: Final = 0.06
_FINE: Final = 1e-4
"""Where ticks differ by less than this part of their value, their texts are differences from the first tick."""
_SAME: Final = 4.0
"""Values that differ by no more than so many steps of floating point are the same level."""
_LONGEST_UNIT: Final = 6
"""A longer unit stands above the axis once, not at every tick."""
_MOST_DIGITS: Final = 15


@dataclass(frozen=True, slots=True)
class Tick:
    """A value at the axis, and its text."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class ValueAxis:
    """The values from ``low`` to ``high``.

    ``note`` stands above the axis: a long unit, or the value that the texts of the ticks are differences from.
    """

    low: float
    high: float
    ticks: tuple[Tick, ...]
    note: str = ""

    def place(self, value: float) -> float:
        """Return the place of ``value`` between 0 (low) and 1 (high); outside of these beyond the axis."""
        bounded = min(max(value, -_LARGEST), _LARGEST)
        return (bounded / 2 - self.low / 2) / (self.high / 2 - self.low / 2)


def value_axis(values: NDArray[np.float64], levels: tuple[float, ...], unit: str, *, most_ticks: int) -> ValueAxis:
    """Return the axis for finite ``values`` in ``unit``; it always spans the ``levels``.

    A few values far away from the others do not widen it.
    """
    low, high = _bounds(values, levels)
    if high - low <= _SAME * float(np.spacing(max(abs(low), abs(high)))):
        room = max(abs(low), abs(high)) * 0.05 or 1.0
        low, high = low - room, high + room
    margin = (high - low) * _MARGIN
    # An axis of values that are not negative shows nothing below 0.
    bottom = 0.0 if low >= 0 > low - margin else low - margin
    return _with_ticks(bottom, high + margin, unit, most_ticks)


def _bounds(values: NDArray[np.float64], levels: tuple[float, ...]) -> tuple[float, float]:
    bounded = np.clip(values, -_LARGEST, _LARGEST) if len(values) else np.zeros(1)
    known = [min(max(level, -_LARGEST), _LARGEST) for level in levels if math.isfinite(level)]
    usual_low, usual_high = np.percentile(bounded, (5, 95))
    inner_low, inner_high = min([float(usual_low), *known]), max([float(usual_high), *known])
    spread = inner_high - inner_low
    near = bounded[(bounded >= inner_low - _FAR * spread) & (bounded <= inner_high + _FAR * spread)]
    if not spread:
        near = bounded
    low, high = (float(near.min()), float(near.max())) if len(near) else (inner_low, inner_high)
    return min([low, *known]), max([high, *known])


def _with_ticks(low: float, high: float, unit: str, most: int) -> ValueAxis:
    scale = scale_for(max(abs(low), abs(high)), unit)
    bottom, top = low / scale.divisor, high / scale.divisor
    for intervals in range(max(1, most), 3 * max(1, most)):  # a single tick tells no scale
        step = _nice((top - bottom) / intervals)
        first = math.ceil(bottom / step)
        numbers = [index * step for index in range(first, first + intervals + 2) if index * step <= top]
        if len(numbers) > 1:
            break
    largest = max((abs(number) for number in numbers), default=0.0)
    if step >= _FINE * largest:
        short = len(scale.unit) <= _LONGEST_UNIT
        unit_of_tick = scale.unit if short else ""
        ticks = [Tick(number * scale.divisor, _text(number, step, unit_of_tick)) for number in numbers]
        return ValueAxis(low, high, tuple(ticks), "" if short else scale.unit)
    return _fine_ticks(low, high, unit, numbers, scale.divisor)


def _fine_ticks(low: float, high: float, unit: str, numbers: list[float], divisor: float) -> ValueAxis:
    """Return ticks whose texts are differences from the first one, which the note names in full."""
    base = numbers[0] * divisor
    scale = scale_for(max(abs(number * divisor - base) for number in numbers), unit)
    shown = scale if len(scale.unit) <= _LONGEST_UNIT else Scale(scale.divisor, "")
    ticks = []
    for number in numbers:
        difference = number * divisor - base
        text = "base" if number == numbers[0] else f"+{value_text(difference, unit, shown)}"
        ticks.append(Tick(number * divisor, text))
    whole = scale_for(abs(base), unit)
    return ValueAxis(low, high, tuple(ticks), f"base: {number_text(base / whole.divisor, _MOST_DIGITS)} {whole.unit}")


def _text(number: float, step: float, unit: str) -> str:
    size = max(abs(number), step)
    if size >= 1e15 or size < 1e-6:
        text = number_text(number, 3)
    else:
        places = min(12, max(0, -math.floor(math.log10(step) + 1e-9)))
        text = f"{number:,.{places}f}".replace("-", "−") if number else "0"
    return f"{text} {unit}".rstrip()


def _nice(step: float) -> float:
    """Return 1, 2 or 5 times a power of ten that is at least ``step``."""
    if not step > 0 or not math.isfinite(step):
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= step * (1 - 1e-9))


# Reduce long series to what a plot can show, without losing a peak.


_WITH_ENDS: Final = 4
"""The least number of points that has room for the first and the last value in addition to the extremes."""


def thin(values: NDArray[np.float64], points: int) -> NDArray[np.int64]:
    """Return the indices of at most ``points`` of ``values`` that look the same when drawn.

    The values are cut into runs, and the least and the greatest of each are kept, so that no spike is lost; the
    first and the last value as well where ``points >= 4``. Needs ``points >= 2`` and finite values.
    """
    if len(values) <= points:
        return np.arange(len(values), dtype=np.int64)
    ends_kept = np.array([0, len(values) - 1] if points >= _WITH_ENDS else [], dtype=np.int64)
    runs = (points - len(ends_kept)) // 2
    begins = np.arange(runs, dtype=np.int64) * len(values) // runs
    run = np.repeat(np.arange(runs), np.diff(np.append(begins, len(values))))
    order = np.lexsort((values, run))
    ends = np.append(begins[1:], len(values)) - 1
    return np.unique(np.concatenate([ends_kept, order[begins], order[ends]]))
