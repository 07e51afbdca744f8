"""Units of measured values: which convert into each other, and which direction is better."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

__all__ = ["Better", "Unit", "conversion", "convert", "read_unit"]


class Better(Enum):
    """Say which direction of a value is good news."""

    LOWER = "lower"
    HIGHER = "higher"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as it was written, with what it takes to convert it.

    ``dimension`` names what is measured ("time", "bytes", "ops/time", …); units of one dimension convert
    into each other. ``factor`` turns a value into the dimension's base unit (seconds, bytes, ops/second).
    A unit nobody knows is a dimension of its own, ``"?" + text``.
    """

    text: str
    dimension: str
    factor: float
    better: Better


_TIME: Final = {
    "ps": 1e-12,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
}
_BYTES: Final = {
    "B": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
}
_FREQUENCY: Final = {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}
_ALIASES: Final = {
    "picosecond": "ps",
    "picoseconds": "ps",
    "nanosecond": "ns",
    "nanoseconds": "ns",
    "nsec": "ns",
    "µs": "us",
    "μs": "us",
    "usec": "us",
    "microsecond": "us",
    "microseconds": "us",
    "msec": "ms",
    "millis": "ms",
    "millisecond": "ms",
    "milliseconds": "ms",
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "minute": "min",
    "minutes": "min",
    "hour": "h",
    "hours": "h",
    "byte": "B",
    "bytes": "B",
    "Byte": "B",
    "Bytes": "B",
    "KB": "kB",
    "kb": "kB",
    "mb": "MB",
    "gb": "GB",
    "kib": "KiB",
    "mib": "MiB",
    "gib": "GiB",
    "op": "ops",
    "operation": "ops",
    "operations": "ops",
    "iteration": "iter",
    "iterations": "iter",
    "iters": "iter",
    "i": "iter",
    "request": "req",
    "requests": "req",
    "reqs": "req",
    "item": "items",
}
_RATES: Final = {"rps": "req/s", "qps": "queries/s", "tps": "transactions/s", "fps": "frames/s"}
_COUNTS: Final = (
    "allocs",
    "allocations",
    "instructions",
    "instr",
    "cycles",
    "cache-misses",
    "branch-misses",
    "page-faults",
    "context-switches",
    "J",
    "W",
)
"""What is counted or used up, and better when less; each is a dimension of its own."""
_OPERATIONS: Final = ("iter", "iteration", "op", "operation", "call", "ops")
_COUNTED: Final = ("iter", "ops", "req", "items")
_ROUNDING: Final = 1e-12
"""Share of a ratio of two factors that is rounding."""
_PREFIXES: Final = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}


@lru_cache(maxsize=4096)
def read_unit(text: str) -> Unit:
    """Return what is known of the unit written as ``text``.

    ``ns/iter`` and ``ms/op`` are times; rates (``MB/s``, ``ops/us``, ``docs/sec``) are better when higher; times,
    sizes and what is used up (``allocs/op``, ``instructions``) when lower; of anything else the direction is
    unknown. Never raises.
    """
    whole = text.strip()
    plain = _RATES.get(whole, whole)
    amount, slash, denominator = plain.rpartition("/")
    if slash and denominator in _OPERATIONS:
        plain = amount
    name = _ALIASES.get(plain, plain)
    if name in _TIME:
        return Unit(whole, "time", _TIME[name], Better.LOWER)
    if name in _BYTES:
        return Unit(whole, "bytes", _BYTES[name], Better.LOWER)
    if name in _FREQUENCY:
        return Unit(whole, "frequency", _FREQUENCY[name], Better.HIGHER)
    if name in _COUNTS:
        return Unit(whole, name, 1.0, Better.LOWER)
    interval = _TIME.get(_ALIASES.get(denominator, denominator))
    if slash and interval is not None:
        dimension, factor = _amount(amount)
        return Unit(whole, f"{dimension}/time", factor / interval, Better.HIGHER)
    return Unit(whole, f"?{whole}", 1.0, Better.UNKNOWN)


def _amount(text: str) -> tuple[str, float]:
    """Return what a rate counts, and how many of it ``text`` is."""
    name = _ALIASES.get(text, text)
    if name in _BYTES:
        return "bytes", _BYTES[name]
    prefix, rest = name[:1], name[1:]
    rest = _ALIASES.get(rest, rest)
    if name not in _COUNTED and prefix in _PREFIXES and rest in _COUNTED:
        return rest, _PREFIXES[prefix]
    return name, 1.0


def conversion(source: Unit, target: Unit) -> float:
    """Return what turns a value in ``source`` into one in ``target``, units of one dimension.

    Where one unit is so many whole ones of the other, it is exactly that number or the float nearest to 1 over
    it: the factors of the units are rounded, and so is their ratio (1e-6 / 1e-9 is 999.9999999999999).
    """
    ratio = source.factor / target.factor
    whole = float(round(ratio)) if ratio >= 1 else 1 / round(1 / ratio)
    return whole if abs(whole - ratio) <= _ROUNDING * ratio else ratio


def convert(value: float, source: Unit, target: Unit) -> float:
    """Return ``value`` in ``target``; the same unit leaves it untouched to the last bit.

    Raises:
        ValueError: the dimensions differ; ask before converting.
    """
    if source.factor == target.factor and source.dimension == target.dimension:
        return value
    if source.dimension != target.dimension:
        raise ValueError(
            f"{source.text!r} ({source.dimension}) does not convert into {target.text!r} ({target.dimension})"
        )
    factor = conversion(source, target)
    parts = round(1 / factor)
    return value / parts if factor < 1 and 1 / parts == factor else value * factor
