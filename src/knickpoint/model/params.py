"""Params, the key=value pairs that name a series, and the trace key, their canonical text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, lgamma, pi, sqrt
from typing import Final

from knickpoint.model.errors import ParamsError

MAXIMUM_KEY_BYTES: Final = 4096
"""The longest trace key in UTF-8; longer names are nearly always data, not names."""

_ENCODED: Final = {"%": "%25", ",": "%2C", "=": "%3D"}
_NEEDS_ENCODING: Final = re.compile("[%,=]")
_ESCAPE: Final = re.compile("%(25|2C|3D)")
_DECODED: Final = {code[1:]: plain for plain, code in _ENCODED.items()}
_REFUSED: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def _encode(text: str) -> str:
    return _NEEDS_ENCODING.sub(lambda found: _ENCODED[found[0]], text)


def _decode(text: str, key: str) -> str:
    if "%" in _ESCAPE.sub("", text):
        raise ParamsError(
            f"{text!r} has a percent sign that starts none of %25, %2C and %3D",
            where=f"trace key {key!r}",
            remedy="Write a plain percent sign as %25.",
        )
    return _ESCAPE.sub(lambda found: _DECODED[found[1]], text)


def _check(name: str, value: str) -> None:
    for part, text in (("name", name), ("value", value)):
        if not text or text != text.strip():
            raise ParamsError(
                f"the {part} {text!r} of the param {name!r} is empty or has space around it",
                remedy="Give every param a name and a value without space around them, or leave the param out.",
            )
        refused = _REFUSED.search(text)
        if refused:
            kind = "control character" if refused[0] <= "\x7f" else "lone surrogate, half of a character"
            raise ParamsError(
                f"the {part} {text!r} of the param {name!r} has a {kind}",
                remedy="Remove it from the name of the benchmark or of its param.",
            )


def encode_key(params: Mapping[str, str]) -> str:
    """Return the canonical text ``,k=v,…,`` of ``params``, sorted by name in code point order.

    ``%``, ``,`` and ``=`` are percent-encoded in names and values, so every mapping has exactly one text.

    Raises:
        ParamsError: there are no params, a name or value is empty or has spaces around it, a control character or a
            lone surrogate, or the key is longer than :data:`MAXIMUM_KEY_BYTES`.
    """
    if not params:
        raise ParamsError("a trace needs at least one param", remedy="Name the benchmark, as in benchmark=parse.")
    for name, value in params.items():
        _check(name, value)
    key = "," + "".join(f"{_encode(name)}={_encode(params[name])}," for name in sorted(params))
    size = len(key.encode())
    if size > MAXIMUM_KEY_BYTES:
        raise ParamsError(
            f"the trace key has {size} bytes, more than {MAXIMUM_KEY_BYTES}",
            where=f"trace key {key[:120]!r}…",
            remedy="Shorten the names; put facts about a run, not a series, into its environment or links.",
        )
    return key


def decode_key(key: str) -> dict[str, str]:
    """Return the params of the trace key ``key``.

    Raises:
        ParamsError: ``key`` is not canonical, that is, ``encode_key(decode_key(key)) != key``.
    """
    plain = _plain_params(key)
    return _checked_params(key) if plain is None else plain


def _plain_params(key: str) -> dict[str, str] | None:
    """Return the params of a canonical key that has no escapes, as nearly all have none; None for any other text."""
    # A character has at most four bytes in UTF-8.
    if "%" in key or key[:1] != "," or key[-1:] != "," or 4 * len(key) > MAXIMUM_KEY_BYTES or _REFUSED.search(key):
        return None
    params: dict[str, str] = {}
    before = ""
    for pair in key[1:-1].split(","):
        name, _, value = pair.partition("=")
        if name <= before or not value or "=" in value or name != name.strip() or value != value.strip():
            return None
        params[name] = value
        before = name
    return params


def _checked_params(key: str) -> dict[str, str]:
    params: dict[str, str] = {}
    where = f"trace key {key!r}"
    if len(key) < 2 or key[0] != "," or key[-1] != ",":
        raise ParamsError("a trace key begins and ends with a comma", where=where, remedy="Write ,name=value,…,")
    for pair in key[1:-1].split(","):
        name, sign, value = pair.partition("=")
        if not sign or "=" in value:
            raise ParamsError(f"{pair!r} is not name=value", where=where, remedy="Encode = as %3D and , as %2C.")
        params[_decode(name, key)] = _decode(value, key)
    if encode_key(params) != key:
        raise ParamsError("names repeat or are not sorted", where=where, remedy=f"Write {encode_key(params)!r}.")
    return params


def key_text(key: str) -> str:
    """Return the trace key ``key`` as people write it: without the commas around it."""
    return key[1:-1] if len(key) > 1 and key[0] == key[-1] == "," else key


def benchmark_text(key: str) -> str:
    """Return the benchmark of the trace key ``key`` and its params other than metric and stat: ``sort size=64``."""
    params = decode_key(key)
    name = params.pop("benchmark", "")
    others = [f"{param}={value}" for param, value in params.items() if param not in {"metric", "stat"}]
    return " ".join([name, *others]).strip() or key_text(key)


def values_in_key(key: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the values of the params ``names`` in a canonical trace key, "" for those that it does not have.

    The key is not checked, so that this is some thirty times as fast as :func:`decode_key`.

    Raises:
        ParamsError: a value is not encoded canonically.
    """
    values = []
    for name in names:
        # A name or a value has neither a comma nor an equals sign as they are, so only the param itself matches.
        _, found, rest = key.partition(f",{_encode(name)}=")
        value = rest.partition(",")[0] if found else ""
        values.append(_decode(value, key) if "%" in value else value)
    return tuple(values)


# Break traces that moved together down by their params: which values they have more often than all traces do.


_EVEN: Final = 0.1
"""Up to this distance of two distributions, the members have the values of a param as often as all traces do."""

_NORMAL_FROM: Final = 20.0
"""Expected members from which on a value is counted as normal.

Below, a normal count says that any distance may be chance.
"""


@dataclass(frozen=True, slots=True)
class ValueShare:
    """A value of a param, "" for traces without it: how many members have it, and how many traces, members included."""

    value: str
    members: int
    traces: int


@dataclass(frozen=True, slots=True)
class ParamBreakdown:
    """How the values of a param are distributed among members and among all traces.

    ``distance`` is the total variation distance of the two distributions: 0 where they are equal, near 1 where hardly
    any trace that is not a member has the values of the members. ``even`` is true where it is no more than chance
    explains. ``values`` are sorted, the one that most members have first.
    """

    name: str
    distance: float
    even: bool
    values: tuple[ValueShare, ...]


def break_down(
    members: Iterable[str], facets: Mapping[str, Mapping[str, int]], traces: int
) -> tuple[ParamBreakdown, ...]:
    """Return the params of ``members``, trace keys, the one that says most about them first.

    ``facets`` count all ``traces``, members included, by param and value. Params of which all traces have one value are
    left out. Ties are broken by name and value.
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
    """Return the distance that members drawn at random from ``traces`` seldom exceed: mean plus two deviations.

    The distance is the sum of what the values lack beside their expected numbers, and of half of all deviations from
    them: both are the same sum. Their terms depend on each other, so either overstates how it varies; the smaller one
    is taken.
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
    """By how many members a value lies below its expected number by chance, 0 if above, and how that varies."""

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
