"""Values, levels and changes as text for people, in the words of the dashboard (``frontend/src/text``)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from knickpoint.model.alert import SINCE_BEST, is_day
from knickpoint.model.step import Flipping
from knickpoint.model.unit import read_unit

_SECONDS: Final = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_SYMBOLS: Final = {"us": "µs"}
_TIME_ALIASES: Final = {
    "nsec": "ns", "nanoseconds": "ns", "µs": "us", "μs": "us", "usec": "us", "microseconds": "us", "msec": "ms",
    "milliseconds": "ms", "sec": "s", "second": "s", "seconds": "s",
}  # fmt: skip
_BYTES: Final = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}
_PER_SECOND: Final = re.compile(r"/s(ec(ond)?)?")
_DIGITS: Final = 4
_MOST_DIGITS: Final = 15
_LONGEST_UNIT: Final = 24
_SMALLEST_PERCENT: Final = 0.01
_CERTAIN: Final = 0.995
_ALMOST_CERTAIN: Final = 0.9995
_MOST_SHARED_RATIO: Final = 100
"""Levels with a larger ratio are written in different scales."""
_RATIO_FROM: Final = 3
"""From this relative size on, "5× the time" reads better than "400 % slower"."""
_NAME_PARAMS: Final = ("benchmark", "test", "bench", "name", "test_name")
"""The params that name what was measured."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit in which a value reads best, and what the stored value is divided by for it."""

    divisor: float
    unit: str


@dataclass(frozen=True, slots=True)
class MovementWords:
    """The words for a rise and a fall of what a trace measures, and for the thing itself."""

    rise: str
    fall: str
    noun: str

    @property
    def judges(self) -> bool:
        """Whether the words say what is better, as slower and faster do and larger does not."""
        return self.rise in {"slower", "faster"}


_NOISE_WORDS: Final = MovementWords("noisier", "less noisy", "noise")


def scale_for(magnitude: float, unit: str) -> Scale:
    """Return the scale in which a value of this magnitude reads best: 143,000 ns as 143 µs."""
    size = abs(magnitude)
    if not size or not math.isfinite(size):
        return Scale(1.0, unit)
    head, slash, rest = unit.partition("/")
    tail = slash + rest
    time = head if head in _SECONDS else _TIME_ALIASES.get(head)
    # Seconds per second are a ratio, whose unit must not change.
    if time is not None and not _PER_SECOND.fullmatch(tail):
        name = _largest(size * _SECONDS[time], _SECONDS)
        return Scale(_SECONDS[name] / _SECONDS[time], _SYMBOLS.get(name, name) + tail)
    if head in _BYTES:
        name = _largest(size * _BYTES[head], _BYTES)
        return Scale(_BYTES[name] / _BYTES[head], name + tail)
    return Scale(1.0, unit)


def _largest(magnitude: float, steps: Mapping[str, float]) -> str:
    """Return the largest of ``steps``, which ascend, that is not larger than ``magnitude``; else the first one."""
    reached = [name for name, step in steps.items() if magnitude >= step]
    return reached[-1] if reached else next(iter(steps))


def _has_exponent(size: float) -> bool:
    return size >= 1e15 or 0 < size < 1e-6


def figure_text(value: float, form: str) -> str:
    """Return ``format(value, form)`` for people, as all texts have it: "−3.2" and not "-3.2", "5 %" and not "5%"."""
    return format(value, form).replace("-", "−").replace("%", " %")


def number_text(value: float, digits: int = _DIGITS, *, exponent: bool = False) -> str:
    """Return a number with ``digits`` significant digits; integers below a million keep all of theirs.

    Very large and very small ones have an exponent, and others do with ``exponent``, beside such a number.
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if not value:
        return "0"
    size = abs(value)
    if exponent or _has_exponent(size):
        text = f"{value:.{digits - 1}e}"
    elif value == int(value) and size < 1e6:
        text = f"{int(value):,}"
    else:
        places = min(12, max(0, digits - 1 - math.floor(math.log10(size))))
        text = f"{value:,.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "−")


def value_text(
    value: float, unit: str, scale: Scale | None = None, digits: int = _DIGITS, *, exponent: bool = False
) -> str:
    """Return a value with its unit, by default in the scale that reads best."""
    scale = scale or scale_for(value, unit)
    name = scale.unit if len(scale.unit) <= _LONGEST_UNIT else f"{scale.unit[: _LONGEST_UNIT - 1]}…"
    return f"{number_text(value / scale.divisor, digits, exponent=exponent)} {name}".rstrip()


def levels_text(before: float, after: float, unit: str) -> str:
    """Return "0.9 µs → 1.2 µs": two levels in one scale, unless they differ too much for it.

    Levels that differ by little have as many digits as show it; both have an exponent if one of them has.
    """
    sizes = (abs(before), abs(after))
    shared = max(sizes) <= _MOST_SHARED_RATIO * min(sizes)
    scale = scale_for(max(sizes), unit) if shared else None
    exponent = scale is not None and any(_has_exponent(size / scale.divisor) for size in sizes)
    for digits in range(_DIGITS, _MOST_DIGITS + 1):
        texts = [value_text(level, unit, scale, digits, exponent=exponent) for level in (before, after)]
        if texts[0] != texts[1] or before == after:
            break
    return " → ".join(texts)


def flipping_text(flipping: Flipping, unit: str) -> str:
    """Return "flips between 2 levels: 10.2 ms (62 % of the time) and 10.7 ms (38 %)"."""
    scale = scale_for(max(abs(level) for level in flipping.levels), unit)
    parts = [
        f"{value_text(level, unit, scale)} ({percent_text(share)}{'' if number else ' of the time'})"
        for number, (level, share) in enumerate(zip(flipping.levels, flipping.shares, strict=True))
    ]
    return f"flips between {len(parts)} levels: {', '.join(parts[:-1])} and {parts[-1]}"


def percent_text(fraction: float) -> str:
    """Return a fraction in percent without its sign: without decimals from 10 %, with up to two below 1 %.

    Below 0.01 % it has two significant digits.
    """
    size = abs(fraction) * 100
    if 0 < size < _SMALLEST_PERCENT:
        return f"{number_text(size, 2)} %"
    text = f"{size:,.{0 if size >= 10 else 1 if size >= 1 else 2}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def reference_text(reference: str) -> str:
    """Return the reference of a drift in words; ``reference`` is ``best``, a date or the name of a release."""
    if reference == SINCE_BEST:
        return "the best level before it"
    return f"the level before {reference}" if is_day(reference) else f"the level at {reference}"


def over_text(over: float, reference: str) -> str:
    """Return the distance of the end of a drift from ``reference``, as in ``4.2 % above the level at v1.2``.

    It is "" without a reference, or where the share ``over`` of that level is unknown or infinite.
    """
    if not reference or not math.isfinite(over):
        return ""
    return f"{percent_text(abs(over))} {'above' if over >= 0 else 'below'} {reference_text(reference)}"


def chance_text(chance: float) -> str:
    """Return a chance in percent: "97.3 %", or "more than 99.9 %"."""
    return "more than 99.9 %" if chance > _ALMOST_CERTAIN else f"{chance * 100:.1f} %"


def certainty_text(probability: float) -> str:
    """Return the probability of an answer: "98.5 %", or "more than 99 %", because no measurement is certain."""
    if probability >= _CERTAIN:
        return "more than 99 %"
    return f"{probability * 100:.1f}".removesuffix(".0") + " %"


def interval_text(before: float, low: float, high: float, unit: str) -> str:
    """Return "+9.8 % to +14 %": between what a size lies, over the level ``before``.

    It is in ``unit`` where that level is 0, or where the other one lies beyond 0.

    It is "" where the interval is unknown.
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    if before and not crosses_zero(before, before + low / 2 + high / 2):
        signs = [("+" if end > 0 else "−" if end < 0 else "") for end in (low, high)]
        texts = [f"{sign}{percent_text(end / before)}" for sign, end in zip(signs, (low, high), strict=True)]
    else:
        texts = [value_text(end, unit) for end in (low, high)]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def movement_words(unit: str) -> MovementWords:
    """Return the words for a rise and a fall of a value in ``unit``: slower and faster for times."""
    dimension = read_unit(unit).dimension
    if dimension == "time":
        return MovementWords("slower", "faster", "time")
    if dimension == "bytes":
        return MovementWords("larger", "smaller", "size")
    if dimension.endswith("/time"):
        return MovementWords("faster", "slower", "rate")
    return MovementWords("higher", "lower", "value")


def crosses_zero(before: float, after: float) -> bool:
    """Return True if two levels lie on the two sides of 0: a share of the one says nothing about the other."""
    return before < 0 < after or after < 0 < before


def change_text(size: float, relative_size: float, unit: str, *, noise: bool = False, before: float = math.nan) -> str:
    """Return "12 % slower", or "5× the time" for a large change; ``size`` has the sign of the movement.

    Of a change of the ``noise`` it is "70 % noisier": its levels are standard deviations. Where the level ``before`` is
    given and the other one lies beyond 0, it is "3 ms slower".
    """
    words = _NOISE_WORDS if noise else movement_words(unit)
    if not size:
        return "no change"
    word = words.rise if size > 0 else words.fall
    if not math.isfinite(relative_size):
        return f"{word}, from 0"
    if crosses_zero(before, before + size):
        return f"{value_text(abs(size), unit)} {word}"
    if relative_size < _RATIO_FROM:
        return f"{percent_text(relative_size)} {word}"
    ratio = 1 + relative_size
    return f"{number_text(round(ratio, 1 if ratio < 100 else 0), 6)}× the {words.noun}"


def trace_name(params: Mapping[str, str]) -> tuple[str, str]:
    """Return the name of the benchmark, and the other params as text: ``os=linux type=release``."""
    naming = next((name for name in _NAME_PARAMS if name in params), next(iter(params), ""))
    rest = " ".join(f"{name}={value}" for name, value in params.items() if name != naming)
    return params.get(naming, ""), rest
