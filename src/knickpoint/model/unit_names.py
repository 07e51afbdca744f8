"""The names of units of time, size, energy and rate, and the factor of each to the base unit."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from itertools import pairwise, product
from typing import Final

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


# The better direction of a value: lower, higher, or unknown.


class Better(Enum):
    """Which direction of a value is better."""

    LOWER = "lower"
    HIGHER = "higher"
    UNKNOWN = "unknown"


# The better direction of counted things, by the words of a unit or of the name of a metric.


_BOUNDARY: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^0-9A-Za-z]+")
_SINGULARS: Final = {"vertices": "vertex", "indices": "index", "series": "series"}

_BAD_TEXT: Final = """
abort aborted alloc allocated allocation collision conflict deadlock delay discard discarded drop dropped error
eviction exception fail failed failure fault gc interrupt irq jank leak loss lost malloc migration mispredict
misprediction miss missed overflow pause penalty reject rejected rejection retransmission retransmit retried
retry spill stall stalled stutter switch throttled timeout violation warning
"""
_BAD: Final = frozenset(_BAD_TEXT.split())
"""Failures and used resources; one such word decides about the whole phrase (``L1-dcache-load-misses``)."""

_GOOD_TEXT: Final = """
action atom batch block build call cell char character check cmd command commit conn connection cycle datapoint
decode delete doc document edge elem element email encode entry epoch event example execution file fit flop
frame get handshake hash hit image img inference insert instr instruction invocation io iop it item iter
iteration job key line lookup mac message move msg node object op operation order packet page particle pixel pkt
playout point polygon product put query ray read record render req request response row run sample scan search
select sentence sequence session set sign signature span spec step success symbol sym task test tile tok token
transaction trial triangle txn update user value verification verify vertex word write
"""
_GOOD: Final = frozenset(_GOOD_TEXT.split())
"""Units of work: more of them in the same time is better."""

_LOWER_METRICS: Final = frozenset({"duration", "elapsed", "latency", "overhead", "rss", "runtime", "walltime"})
_HIGHER_METRICS: Final = frozenset({"bandwidth", "fps", "iops", "qps", "rps", "speedup", "throughput", "tps"})
_USED_UP: Final = frozenset({"cycle", "instruction", "instr"})
_PER_TIME: Final = frozenset({"s", "sec", "second"})

_LEFT: Final = frozenset({"avail", "available", "free", "left", "remaining", "saved", "saving", "spare"})
_LEFT_OF_TIME: Final = frozenset({"left", "remaining", "saved", "saving", "spare"})
_AMOUNT_TEXT: Final = (
    "battery budget byte capacity cpu disk energy heap mem memory power quota ram space storage swap time"
)
_AMOUNTS: Final = frozenset(_AMOUNT_TEXT.split())
_AMOUNTS_OF_TIME: Final = frozenset({"battery", "budget", "time"})
_LIFE: Final = frozenset({("battery", "life"), ("battery", "lifetime")})


def _words_of(text: str) -> tuple[str, ...]:
    """Return the words of ``text`` in lower case and singular: ``pageFaults`` and ``page-faults`` are page, fault."""
    return tuple(_singular(word.lower()) for word in _BOUNDARY.split(text) if word)


def _singular(word: str) -> str:
    if word in _SINGULARS:
        return _SINGULARS[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith("ss") else word


@lru_cache(maxsize=4096)
def better_when_counted(noun: str) -> Better:
    """Return the better direction of ``noun`` counted in the same time; unknown for other words."""
    words = _words_of(noun)
    if not _BAD.isdisjoint(words):
        return Better.LOWER
    return Better.HIGHER if words and words[-1] in _GOOD else Better.UNKNOWN


@lru_cache(maxsize=4096)
def better_of_metric(name: str) -> Better:
    """Return the better direction of the metric ``name`` by its words; unknown if they do not show it.

    It is for metrics whose unit shows no direction: ``http_errors``, ``requests_per_second``, ``p99 latency``.
    """
    words = _words_of(name)
    if not words:
        return Better.UNKNOWN
    if words[-1] in _HIGHER_METRICS:
        return Better.HIGHER
    if not _BAD.isdisjoint(words) or not _LOWER_METRICS.isdisjoint(words) or (len(words) == 1 and words[0] in _USED_UP):
        return Better.LOWER
    if len(words) > 2 and words[-2] == "per" and words[-1] in _PER_TIME:
        return better_when_counted(" ".join(words[:-2]))
    return Better.UNKNOWN


@lru_cache(maxsize=4096)
def is_left_over(name: str, *, of_time: bool) -> bool:
    """Whether ``name`` is of what is left or saved, of which more is better: ``free_memory``, ``uptime``.

    With a unit ``of_time``, fewer words count: freeing memory takes time, and so does a left join.
    """
    words = _words_of(name)
    if not words or "to" in words or not _BAD.isdisjoint(words):
        return False
    if words[-1] in {"headroom", "uptime"}:
        return True
    states, amounts = (_LEFT_OF_TIME, _AMOUNTS_OF_TIME) if of_time else (_LEFT, _AMOUNTS)
    return any(
        (first in amounts and second in states) or (first in states and second in amounts) or (first, second) in _LIFE
        for first, second in pairwise(words)
    )
