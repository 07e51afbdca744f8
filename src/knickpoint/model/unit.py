"""Units of measured values: dimension, conversion, better direction; and the unit at the end of a name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from knickpoint.model.unit_names import (
    ALIASES,
    BYTES,
    COUNTS,
    ENERGY,
    FOLDED,
    FREQUENCY,
    INTERVALS,
    OPERATIONS,
    POWER,
    PREFIXES,
    RATES,
    TIME,
    Better,
    better_of_metric,
    better_when_counted,
    is_left_over,
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as it was written, with the factor to convert it.

    ``dimension`` names what is measured ("time", "bytes", "ops/time", …); units of one dimension convert
    into each other. ``factor`` turns a value into the dimension's base unit (seconds, bytes, ops/second).
    An unknown unit is a separate dimension, ``"?" + text``.
    """

    text: str
    dimension: str
    factor: float
    better: Better


_COUNTED: Final = ("iter", "ops", "req", "items")
_AMBIGUOUS: Final = ("b", "Kb", "Mb", "Gb", "Tb")
"""Some mean bits by them and some bytes; each has a direction and a separate dimension."""
_PERCENT: Final = ("percent", "pct", "percentage")
"""Other ways to write ``%``, in any case of letters."""
_ABBREVIATIONS: Final = {
    **dict.fromkeys(("ipc", "bps", "kbps", "mbps", "gbps"), Better.HIGHER),
    **dict.fromkeys(("cpi", "mpki"), Better.LOWER),
}
"""In any case of letters: each has a direction and a separate dimension (``MBPS`` may be bits or bytes)."""
_BITS_PER_SECOND: Final = re.compile(r"(?P<prefix>[kKmMgGtT]?)(?P<binary>i?)(?P<unit>[bB])ps")
_PER: Final = re.compile(r"\s*/\s*|\s+per\s+", re.IGNORECASE)
_RATE: Final = re.compile(r"(?P<prefix>[kKmMgGtT]?)(?P<name>[a-zA-Z]+)")
_RESOURCES: Final = frozenset({"cycle", "cycles", "clk", "clock", "core", "J", "joule", "Wh", "kWh", "W", "watt", "$"})
"""Resources: work per resource is better when higher."""
_WORK: Final = frozenset({"instructions", "instr", "bytes"})
"""Better when lower, except per resource: more instructions per cycle are better."""
MAXIMUM_UNIT_LENGTH: Final = 200
"""Characters of the longest unit; a longer text is nearly always data, not a unit."""
_MOST_RATIOS: Final = 8
"""Signs for "per" in a unit that is read; each is a level of recursion."""
_ROUNDING: Final = 1e-12
"""Relative rounding error of the ratio of two factors."""


@lru_cache(maxsize=4096)
def read_unit(text: str) -> Unit:
    """Parse the unit ``text``; never raises.

    ``ns/iter`` and ``ms/op`` are times. Times, sizes, energies, used resources (``allocs/op``, ``instructions``) and
    failures (``errors``) are better when lower, and so is any of them per anything else (``ms/req``). The direction
    of a rate is that of the thing it counts: ``MB/s`` and ``docs/sec`` are better when higher, ``errors/s`` when
    lower. All other units have an unknown direction, and so have texts that are too long for a unit.
    """
    whole = text.strip()
    if len(whole) > MAXIMUM_UNIT_LENGTH:
        return Unit(whole, f"?{whole}", 1.0, Better.UNKNOWN)
    dimension, factor, better = _read(whole)
    return Unit(whole, dimension, factor, better)


@lru_cache(maxsize=4096)
def is_counted(text: str) -> bool:
    """Return True if a value in the unit ``text`` is counted, not timed: a size, allocations, instructions."""
    return read_unit(text).dimension in {"bytes", *COUNTS}


_Reading = tuple[str, float, Better]
"""Dimension, factor and direction."""


def _read(whole: str) -> _Reading:
    """Return dimension, factor and direction of a unit."""
    plain = _PER.sub("/", _rate_of(whole))
    if plain.count("/") > _MOST_RATIOS:
        return f"?{whole}", 1.0, Better.UNKNOWN
    amount, slash, denominator = plain.rpartition("/")
    if slash and denominator in OPERATIONS:
        plain = amount
        amount, slash, denominator = plain.rpartition("/")
    single = _single(plain)
    if single is not None:
        return single
    if not amount:
        return f"?{'%' if plain.casefold() in _PERCENT else whole}", 1.0, _better_alone(plain)
    interval = INTERVALS.get(_name(denominator))
    if interval is not None:
        dimension, factor, better = _amount(amount)
        return f"{dimension}/time", factor / interval, better
    return _ratio(amount, denominator, whole)


def _name(text: str) -> str:
    """Return the standard name of which ``text`` is a variant, else ``text``."""
    if text in TIME or text in BYTES or text in _AMBIGUOUS:
        return text
    return ALIASES.get(text) or FOLDED.get(text.casefold(), text)


def _single(text: str) -> _Reading | None:
    """Parse a unit that is not a ratio."""
    name = _name(text)
    known = (
        ("time", TIME, Better.LOWER),
        ("bytes", BYTES, Better.LOWER),
        ("frequency", FREQUENCY, Better.HIGHER),
        ("J", ENERGY, Better.LOWER),
        ("W", POWER, Better.LOWER),
    )
    for dimension, factors, better in known:
        if name in factors:
            return dimension, factors[name], better
    return (name, 1.0, Better.LOWER) if name in COUNTS else None


def _better_alone(text: str) -> Better:
    """Return the direction of a text that is neither a known unit nor a ratio: fewer failures are better."""
    if text in _AMBIGUOUS:
        return Better.LOWER
    known = _ABBREVIATIONS.get(text.casefold())
    if known is not None:
        return known
    return Better.LOWER if better_when_counted(text) is Better.LOWER else Better.UNKNOWN


def _rate_of(text: str) -> str:
    """Return a rate with a short name (``Mbps``, ``kIOPS``, ``FPS``) in full, any other text unchanged."""
    bits = _BITS_PER_SECOND.fullmatch(text)
    if bits:
        prefix = bits["prefix"].upper() if bits["prefix"] not in {"", "k", "K"} else bits["prefix"].lower()
        prefix = f"{prefix.upper()}i" if bits["binary"] else prefix
        return f"{prefix}{'bit' if bits['unit'] == 'b' else 'B'}/s"
    if text.casefold() in RATES:
        return RATES[text.casefold()]
    found = _RATE.fullmatch(text)
    rate = RATES.get(found["name"].casefold()) if found and found["prefix"] else None
    return f"{found['prefix'].upper()}{rate}" if found and rate else text


def _amount(text: str) -> _Reading:
    """Parse the numerator of a rate: the thing that it counts, its multiple, and whether more is better."""
    name = _name(text)
    if name in BYTES:
        return "bytes", BYTES[name], Better.HIGHER
    if name in _AMBIGUOUS:
        return name, 1.0, Better.HIGHER
    if name in TIME:
        return "time", TIME[name], Better.LOWER
    if name in ENERGY:
        return "J", ENERGY[name], Better.LOWER
    prefix, rest = name[:1], _name(name[1:])
    if name not in _COUNTED and prefix in PREFIXES and (rest in _COUNTED or _counts_work(name, rest)):
        return rest, PREFIXES[prefix], Better.HIGHER
    return name, 1.0, better_when_counted(name)


def _counts_work(name: str, rest: str) -> bool:
    """Return True if ``rest`` is a unit of work and ``name`` is not, so that its first letter is a prefix."""
    return better_when_counted(name) is Better.UNKNOWN and better_when_counted(rest) is Better.HIGHER


def _ratio(amount: str, denominator: str, whole: str) -> _Reading:
    """Parse a unit per something that is neither an operation nor a time."""
    dimension, factor, better = _read(amount)
    if denominator in _RESOURCES:
        if dimension in _WORK or better_when_counted(amount) is Better.HIGHER:
            return f"?{whole}", 1.0, Better.HIGHER
        return f"?{whole}", 1.0, better
    if dimension.startswith("?"):
        return f"?{whole}", 1.0, better
    per = _name(denominator)
    if per in BYTES:
        return f"{dimension}/bytes", factor / BYTES[per], better
    return f"{dimension}/{per}", factor, better


@lru_cache(maxsize=4096)
def better_of(metric: str, unit: str, benchmark: str = "") -> Better:
    """Return the better direction of ``metric`` in ``unit``, or of ``benchmark`` where there is no metric.

    A name that shows that lower is better (``gc.alloc.rate``), or that it is about what is left (``free_memory``), goes
    before the unit; the unit goes before other names.
    """
    if is_left_over(metric or benchmark, of_time=read_unit(unit).dimension == "time"):
        return Better.HIGHER
    named = better_of_metric(metric)
    known = named if named is Better.LOWER else read_unit(unit).better
    return named if known is Better.UNKNOWN else known


def conversion(source: Unit, target: Unit) -> float:
    """Return the factor that turns a value in ``source`` into one in ``target``, units of the same dimension.

    If one unit is a whole multiple of the other, the factor is exactly that number, or the float nearest to its
    inverse. The plain ratio of the rounded factors would not be (1e-6 / 1e-9 is 999.9999999999999).
    """
    ratio = source.factor / target.factor
    whole = float(round(ratio)) if ratio >= 1 else 1 / round(1 / ratio)
    return whole if abs(whole - ratio) <= _ROUNDING * ratio else ratio


def convert(value: float, source: Unit, target: Unit) -> float:
    """Return ``value`` in ``target``; with the same unit, the value stays the same to the last bit.

    Raises:
        ValueError: the dimensions differ.
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


_PER_WORD: Final = "per"
_NOT_IN_NAMES: Final = ("min", "MS", "US", "NS")
"""At the end of a name these are minima, regions and abbreviations, although they are units elsewhere."""
_SECOND_OR_PER_SECOND: Final = frozenset({"s", "sec", "second", "h", "hr", "hour", "minute"})
"""After a quantity of time these are its unit; after a counted thing they mean "per second", and so on."""
_COUNTED_TEXT: Final = """
cmd conn doc flop img it iter mb gb tb msg op pkt qry rec req sym tok trans tx txn
"""
_COUNTED_SHORT: Final = frozenset(_COUNTED_TEXT.split())
"""Counted things whose short name is also their plural."""

_TIMES_TEXT: Final = """
age clock cpu delay downtime duration elapsed gc idle interval lag latency overhead pause period real rtt runtime
stall startup sys system time timeout ttfb uptime user wait wall walltime
"""
_ACTIVITIES_TEXT: Final = """
boot build compile configure decompress compress deserialize exec execution export import inference init install
linking load loading parse parsing render serialize setup shutdown sort start startup teardown train training warmup
"""
_TIMES: Final = frozenset((_TIMES_TEXT + _ACTIVITIES_TEXT).split())
"""Quantities of time, and activities that take time, in the singular."""
_STATISTIC: Final = re.compile(
    r"p\d+|q\d|avg|average|mean|med|median|min|max|minimum|maximum|total|sum|std|stddev|stdev|best|worst|first|last",
    re.IGNORECASE,
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^0-9A-Za-z]+")


@lru_cache(maxsize=4096)
def unit_in_name(name: str) -> str:
    """Return the unit that the name of a metric is or ends with, "" for none.

    ``ms`` and ``p99_ms`` are in ms, ``rx_bytes_per_second`` is in bytes/second. ``_min`` is a minimum, not minutes, and
    a single letter by itself is not a unit. ``_s`` means seconds after a quantity of time (``latency_s``, ``build_s``,
    ``p50_s``), and "per second" after a counted thing (``ops_s``, ``MB_s``, ``errors_s``). After any other word it is
    ambiguous, and no unit.
    """
    words = name.strip().split("_")
    if len(words) > 1 and words[-2].lower() == _PER_WORD:
        unit = "/".join((words[-3], words[-1])) if len(words) > 2 else ""
    elif len(words) > 1 and words[-1].lower() in _SECOND_OR_PER_SECOND:
        unit = _seconds_or_rate(words[:-1], words[-1])
    else:
        unit = words[-1] if len(words) > 1 or len(words[-1]) > 1 else ""
    known = unit not in _NOT_IN_NAMES and not read_unit(unit).dimension.startswith("?")
    return unit if known else ""


def _seconds_or_rate(before: list[str], second: str) -> str:
    """Return ``second`` if the words ``before`` it are a time, the rate if they are counted, else ""."""
    word = before[-1]
    if _is_counted(word):
        return f"{word}/{second}"
    kinds = [part for part in _CAMEL.split("_".join(before)) if part]
    while kinds and _STATISTIC.fullmatch(kinds[-1]):
        kinds.pop()
    if not kinds:
        return second
    # A statistic of a counted thing (``requests_p99_s``) may be about its times or its rate.
    return second if kinds[-1].lower() in _TIMES else ""


def _is_counted(word: str) -> bool:
    """Return True if ``word`` is a size, or the plural of a counted thing."""
    rate = read_unit(f"{word}/s")
    if rate.dimension == "bytes/time":
        return True
    if rate.better is Better.UNKNOWN or rate.dimension == "time/time":
        return False
    small = word.lower()
    # The dimension has no prefix: that of ``GFLOP/s`` is flop/time.
    shorts = {small, rate.dimension.removesuffix("/time")}
    return not _COUNTED_SHORT.isdisjoint(shorts) or (small.endswith("s") and not small.endswith("ss"))
