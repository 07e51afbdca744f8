"""Break traces that moved together down by their params: which values they have more often than all traces do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, lgamma, pi, sqrt
from typing import Final

from knickpoint.model.params import decode_key

__all__ = ["ParamBreakdown", "ValueShare", "break_down"]

_EVEN: Final = 0.1
"""Up to this distance of two distributions, the members have the values of a param as often as all traces do."""

_NORMAL_FROM: Final = 20.0
"""Expected members from which on a value is counted as normal. Below, a normal count says that any distance may be chance."""


@dataclass(frozen=True, slots=True)
class ValueShare:
    """A value of a param, "" for traces without it: how many members have it, and how many traces, members included."""

    value: str
    members: int
    traces: int


@dataclass(frozen=True, slots=True)
class ParamBreakdown:
    """How the values of a param are distributed among members and among all traces.

    ``distance`` is the total variation distance of the two distributions: 0 where they are equal, near 1 where hardly any
    trace that is no member has the values of the members. ``even`` is true where it is no more than chance explains.
    ``values`` are sorted, the one that most members have first.
    """

    name: str
    distance: float
    even: bool
    values: tuple[ValueShare, ...]


def break_down(
    members: Iterable[str], facets: Mapping[str, Mapping[str, int]], traces: int
) -> tuple[ParamBreakdown, ...]:
    """Return the params of ``members``, trace keys, the one that says most about them first.

    ``facets`` count all ``traces``, members included, by param and value. Params of which all traces have one value are left
    out. Ties are broken by name and value.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in facets}
    total = 0
    for key in members:
        total += 1
        for name, value in decode_key(key).items():
            counts.setdefault(name, Counter())[value] += 1
    found = [
        _broken_down(name, counts[name], facets.get(name, counts[name]), total, traces)
        for name in counts
        if not _is_constant(facets.get(name, counts[name]), traces)
    ]
    return tuple(sorted(found, key=lambda each: (each.even, -each.distance, each.name)))


def _is_constant(values: Mapping[str, int], traces: int) -> bool:
    return len(values) == 1 and sum(values.values()) >= traces


def _broken_down(
    name: str, counts: Counter[str], values: Mapping[str, int], members: int, traces: int
) -> ParamBreakdown:
    shares = [ValueShare(value, counts[value], values.get(value, counts[value])) for value in {*values, *counts}]
    without = ValueShare("", members - sum(counts.values()), traces - sum(each.traces for each in shares))
    if without.traces > 0:
        shares.append(without)
    distance = sum(abs(each.members / max(members, 1) - each.traces / max(traces, 1)) for each in shares) / 2
    even = distance <= max(_EVEN, _distance_by_chance([each.traces for each in shares], members, traces))
    shares.sort(key=lambda each: (-each.members, each.traces, each.value))
    return ParamBreakdown(name, distance, even, tuple(shares))


def _distance_by_chance(counts: Sequence[int], members: int, traces: int) -> float:
    """Return the distance that members drawn at random among ``traces`` seldom exceed: its mean and two standard deviations.

    The distance is the sum of what the values lack beside their expected numbers, and of half of all deviations from them: both
    are the same sum. Their terms depend on each other, so either overstates how it varies; the smaller one is taken.
    """
    if not 0 < members < traces:
        return 0.0
    number_of = Counter(counts)
    lacks = {count: _lack_by_chance(count, members, traces) for count in number_of}
    mean = sum(number * lacks[count].mean for count, number in number_of.items())
    of_lacks = sum(number * lacks[count].variance for count, number in number_of.items())
    of_deviations = sum(number * lacks[count].deviation_variance / 4 for count, number in number_of.items())
    # Where chance leaves no choice, as for a member of two, nothing varies, and rounding is what is below 0.
    return (mean + 2 * sqrt(max(0.0, min(of_lacks, of_deviations)))) / members


@dataclass(frozen=True, slots=True)
class _Lack:
    """By how many members a value lies below its expected number by chance, 0 where above, and how its deviation varies."""

    mean: float
    variance: float
    deviation_variance: float


def _lack_by_chance(count: int, members: int, traces: int) -> _Lack:
    """Return the lack of a value that ``count`` of ``traces`` have, where ``members`` of them are drawn at random.

    The number of members with the value is hypergeometric. Where many are expected, it is close to normal.
    """
    expected = members * count / traces
    variance = expected * (1 - count / traces) * (traces - members) / (traces - 1)
    if expected > _NORMAL_FROM:
        mean, square = sqrt(variance / (2 * pi)), variance / 2
    else:
        numbers = range(max(0, members + count - traces), int(expected) + 1)
        chances = [_chance(number, count, members, traces) for number in numbers]
        lacks = [expected - number for number in numbers]
        mean = sum(lack * chance for lack, chance in zip(lacks, chances, strict=True))
        square = sum(lack * lack * chance for lack, chance in zip(lacks, chances, strict=True))
    return _Lack(mean, square - mean * mean, variance - 4 * mean * mean)


def _chance(number: int, count: int, members: int, traces: int) -> float:
    """Return the chance that ``number`` of ``members`` have a value that ``count`` of ``traces`` have."""
    return exp(_ways(count, number) + _ways(traces - count, members - number) - _ways(traces, members))


def _ways(all_of: int, chosen: int) -> float:
    """Return the logarithm of the number of ways to choose some of several."""
    return lgamma(all_of + 1) - lgamma(chosen + 1) - lgamma(all_of - chosen + 1)
