"""Read the unit at the end of the name of a metric: ``p99_ms`` is in milliseconds, ``rows_s`` is a rate."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from knickpoint.model.unit import read_unit
from knickpoint.model.unit_names import Better

_PER: Final = "per"
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
    if len(words) > 1 and words[-2].lower() == _PER:
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
