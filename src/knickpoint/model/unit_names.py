"""The names of units of time, size, energy and rate, and the factor of each to the base unit."""

from __future__ import annotations

from itertools import product
from typing import Final

__all__ = [
    "ALIASES",
    "BYTES",
    "COUNTS",
    "ENERGY",
    "FOLDED",
    "FREQUENCY",
    "INTERVALS",
    "OPERATIONS",
    "POWER",
    "PREFIXES",
    "RATES",
    "TIME",
]

TIME: Final = {
    "ps": 1e-12,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
}
"""Seconds."""
INTERVALS: Final = {**TIME, "day": 86400.0, "days": 86400.0}
"""Seconds of the intervals of rates."""
PREFIXES: Final = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_DECIMAL: Final = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY: Final = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_BIT: Final = 1 / 8
BYTES: Final = (
    {"B": 1.0, "bit": _BIT}
    | {f"{prefix}B": factor for prefix, factor in (_DECIMAL | _BINARY).items()}
    | {f"{prefix}bit": factor * _BIT for prefix, factor in (_DECIMAL | _BINARY).items()}
)
"""Bytes. ``Mb`` is not among them: some mean bits by it and some mean bytes."""
FREQUENCY: Final = {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}
ENERGY: Final = {"J": 1.0, "nJ": 1e-9, "uJ": 1e-6, "mJ": 1e-3, "kJ": 1e3, "MJ": 1e6, "Wh": 3600.0, "kWh": 3.6e6}
POWER: Final = {"W": 1.0, "uW": 1e-6, "mW": 1e-3, "kW": 1e3}
COUNTS: Final = (
    "allocs",
    "allocations",
    "instructions",
    "instr",
    "cycles",
    "cache-misses",
    "branch-misses",
    "page-faults",
    "context-switches",
)
"""Counted events and resources, better when lower; each is a separate dimension."""
OPERATIONS: Final = ("iter", "iteration", "op", "operation", "call", "ops")
"""Denominators that mean one operation of the benchmark; the numerator is the unit."""

_SCALES: Final = {
    "kilo": "k",
    "mega": "M",
    "giga": "G",
    "tera": "T",
    "kibi": "Ki",
    "mebi": "Mi",
    "gibi": "Gi",
    "tebi": "Ti",
}


def _long_sizes() -> dict[str, str]:
    """Return the long names of sizes: ``megabytes``, ``MBytes``, ``Kbits`` and the like."""
    names = {"bits": "bit"}
    for scale, prefix in _SCALES.items():
        for ending, symbol in (("byte", "B"), ("bit", "bit")):
            names |= dict.fromkeys((f"{scale}{ending}", f"{scale}{ending}s"), prefix + symbol)
    for prefix, ending in product((*_DECIMAL, *_BINARY, "K"), ("byte", "bytes", "Byte", "Bytes", "bit", "bits")):
        symbol = "bit" if ending.startswith("bit") else "B"
        names[prefix + ending] = (prefix if prefix != "K" else "k") + symbol
    return names


ALIASES: Final = {
    "picosecond": "ps",
    "picoseconds": "ps",
    "nanosecond": "ns",
    "nanoseconds": "ns",
    "nanos": "ns",
    "nsec": "ns",
    "nsecs": "ns",
    "µs": "us",
    "μs": "us",
    "usec": "us",
    "usecs": "us",
    "micros": "us",
    "microsecond": "us",
    "microseconds": "us",
    "msec": "ms",
    "msecs": "ms",
    "millis": "ms",
    "millisecond": "ms",
    "milliseconds": "ms",
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "minute": "min",
    "minutes": "min",
    "hr": "h",
    "hrs": "h",
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
    "tb": "TB",
    "kib": "KiB",
    "mib": "MiB",
    "gib": "GiB",
    "tib": "TiB",
    **_long_sizes(),
    "hertz": "Hz",
    "joule": "J",
    "joules": "J",
    "µJ": "uJ",
    "μJ": "uJ",
    "watt": "W",
    "watts": "W",
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
    "FLOP": "flop",
    "FLOPs": "flop",
    "clk": "cycles",
    "clks": "cycles",
    "insn": "instructions",
    "insns": "instructions",
}
"""Other ways to write a name."""

_SHORTEST_FOLDED: Final = 3
_MINIMUM: Final = "min"
"""In other letters this is a minimum rather than a minute."""

FOLDED: Final = {
    **{
        written.casefold(): name
        for written, name in (
            *((name, name) for name in (*TIME, *BYTES, *FREQUENCY, *COUNTS, "ops", "req")),
            *ALIASES.items(),
        )
        if len(written) >= _SHORTEST_FOLDED and written != _MINIMUM
    },
    "hz": "Hz",
    "ms": "ms",
    "us": "us",
    "ns": "ns",
    "kb": "kB",
    "mb": "MB",
    "gb": "GB",
    "tb": "TB",
}
"""Names in small letters, for those that are written in any others (``Milliseconds``, ``MS``)."""

RATES: Final = {
    "rps": "req/s",
    "qps": "queries/s",
    "tps": "transactions/s",
    "fps": "frames/s",
    "ips": "iter/s",
    "iops": "io/s",
    "pps": "packets/s",
    "flops": "flop/s",
}
"""Short names of rates, in small letters."""
