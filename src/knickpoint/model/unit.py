"""Units of measured values: which convert into each other, and which direction is better."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

__all__ = ["Better", "Unit", "convert", "read_unit"]


class Better(Enum):
    """Say which direction of a value is good news."""

    LOWER = "lower"
    HIGHER = "higher"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as it was written, with what it takes to convert it.

    ``dimension`` names what is measured ("time", "bytes", "1/time", …); units of one dimension convert
    into each other. ``factor`` turns a value into the dimension's base unit (seconds, bytes, 1/second).
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
_ALIASES: Final = {
    "nanosecond": "ns",
    "nanoseconds": "ns",
    "nsec": "ns",
    "µs": "us",
    "μs": "us",
    "usec": "us",
    "microsecond": "us",
    "microseconds": "us",
    "msec": "ms",
    "millisecond": "ms",
    "milliseconds": "ms",
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "minutes": "min",
    "hours": "h",
    "byte": "B",
    "bytes": "B",
    "KB": "kB",
    "kb": "kB",
    "kib": "KiB",
    "mib": "MiB",
}
_PER_OPERATION: Final = ("/iter", "/op", "/operation", "/call", "/ops")
_EACH_SECOND: Final = {
    "iter": 1.0,
    "ops": 1.0,
    "op": 1.0,
    "iterations": 1.0,
    "req": 1.0,
    "requests": 1.0,
    "rps": 1.0,
    "Hz": 1.0,
}
_PREFIX: Final = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}


def _per_second(text: str) -> Unit | None:
    for ending in ("/second", "/sec", "/s"):
        if not text.endswith(ending):
            continue
        amount = text[: -len(ending)]
        amount = _ALIASES.get(amount, amount)
        if amount in _BYTES:
            return Unit(text, "bytes/time", _BYTES[amount], Better.HIGHER)
        for prefix, factor in _PREFIX.items():
            if amount.startswith(prefix) and amount[len(prefix) :] in _EACH_SECOND:
                return Unit(text, f"{amount[len(prefix) :]}/time", factor, Better.HIGHER)
        return Unit(text, f"?{text}", 1.0, Better.HIGHER)
    return None


@lru_cache(maxsize=4096)
def read_unit(text: str) -> Unit:
    """Return what is known of the unit written as ``text``.

    ``ns/iter`` and ``ms/op`` are times; rates (``MB/s``, ``ops/sec``) are better when higher, times and
    sizes when lower; of anything else the direction is unknown. Never raises.
    """
    plain = text.strip()
    whole = plain
    for ending in _PER_OPERATION:
        if plain.endswith(ending):
            plain = plain[: -len(ending)]
            break
    name = _ALIASES.get(plain, plain)
    if name in _TIME:
        return Unit(whole, "time", _TIME[name], Better.LOWER)
    if name in _BYTES:
        return Unit(whole, "bytes", _BYTES[name], Better.LOWER)
    return _per_second(whole) or Unit(whole, f"?{whole}", 1.0, Better.UNKNOWN)


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
    return value * (source.factor / target.factor)
