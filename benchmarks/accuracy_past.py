"""Measure how much of what was found long ago changes when something new happens at the end of a real series.

The real series have no known changes. Each one gets a step, a ramp, an outlier or noise of another size in its last
values. Nothing more than 45 values before the end has changed, so what is found there should stay. The past is read
again as more values come: the last rows say how much of it differs then, and when a history is replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from accuracy_series import place_of_series, read_real
from knickpoint.detect import find_steps
from knickpoint.model.distribution import MAD
from table import Reach, Row

__all__ = ["past_rows"]

Array = NDArray[np.float64]

SERIES: Final = 300
"""Real series, evenly spread over all that are long enough."""

OLD: Final = 45
"""Values between the end of a series and what is old."""

_NEW: Final = 10
"""Newest values that something happens to."""

_SHORTEST: Final = 100
"""Values of a series, so that some are old."""

_FURTHER: Final = (10, 30, 60)
"""Numbers of values at a new level after which what was old before them is compared."""

_REPLAYED: Final = 4
"""One of so many series is replayed, a run at every :data:`_EVERY` values."""

_EVERY: Final = 16
_FIRST: Final = 128
_LONG_AGO: Final = 60
"""Values between a run and what is old for a replay."""

_AS_ONE: Final = 2
"""A finding that moves by as many values stays."""


def _step(values: Array, scale: float) -> None:
    values[-_NEW:] += 15 * scale


def _ramp(values: Array, scale: float) -> None:
    values[-_NEW:] += 15 * scale * np.arange(1, _NEW + 1) / _NEW


def _outlier(values: Array, scale: float) -> None:
    values[-_NEW // 2] += 30 * scale


def _noise(values: Array, scale: float) -> None:
    values[-_NEW:] += 4 * scale * np.random.default_rng(values.size).standard_normal(_NEW)


EVENTS: Final[Sequence[tuple[str, Callable[[Array, float], None]]]] = (
    ("a step", _step),
    ("a ramp", _ramp),
    ("an outlier", _outlier),
    ("noise of another size", _noise),
)


def past_rows() -> list[Row]:
    """Return for each event the share of old findings that vanish or appear, None without the real series."""
    known = _series()
    before = [_old(values) for values in known]
    total = sum(map(len, before))
    rows = [Row("past: findings more than 45 values before the end", "", float(total) if known else None)]
    for name, happen in EVENTS:
        vanished = appeared = 0
        for values, found in zip(known, before, strict=True):
            changed = values.copy()
            happen(changed, _scale(values))
            after = _old(changed)
            vanished += sum(not _is_among(each, after) for each in found)
            appeared += sum(not _is_among(each, found) for each in after)
        share = 100 * (vanished + appeared) / total if total else None
        rows.append(Row(f"past: old findings that differ after {name}", "%", share, None, "", Reach.AT_MOST, 2.0))
        for what, number in (("vanish", vanished), ("appear", appeared)):
            rows.append(Row(f"past: old findings that {what} after {name}", "", float(number) if known else None))
    return [*rows, *_further_rows(known), _replay_row(known[::_REPLAYED])]


def _further_rows(known: Sequence[Array]) -> list[Row]:
    """Compare what is found before and after further values at a new level of 15 deviations, and at the same level."""
    rows = []
    for count in _FURTHER:
        long = [values for values in known if values.size >= _SHORTEST + count]
        before = [_old(values[:-count]) for values in long]
        for level, deviations in (("a new", 15), ("the same", 0)):
            differing = 0
            for values, found in zip(long, before, strict=True):
                after = _old(_with_level(values, count, deviations), count + OLD)
                differing += _differing(found, after)
            share = 100 * differing / sum(map(len, before)) if long else None
            rows.append(Row(f"past: old findings that differ after {count} more values at {level} level", "%", share))
    return rows


def _with_level(values: Array, count: int, deviations: float) -> Array:
    """Move the last ``count`` values; whole numbers stay whole."""
    shift = deviations * _scale(values)
    whole = bool(np.all(values == np.rint(values)))
    moved = values.copy()
    moved[-count:] += np.rint(shift) if whole else shift
    return moved


def _replay_row(known: Sequence[Array]) -> Row:
    """Count the findings of long ago that vanish or appear from one run to the next, as a history grows."""
    differing = commits = 0
    for values in known:
        sizes = range(_FIRST, values.size + 1, _EVERY)
        runs = [_old(values[:size], _LONG_AGO) for size in sizes]
        for size, before, after in zip(sizes, runs, runs[1:], strict=False):
            border = size - _LONG_AGO - _AS_ONE
            vanished = [each for each in before if each[0] < border and not _is_among(each, after)]
            appeared = [each for each in after if each[0] < border and not _is_among(each, before)]
            differing, commits = differing + len(vanished) + len(appeared), commits + _EVERY
    share = 1000 * differing / commits if commits else None
    return Row(f"past: findings older than {_LONG_AGO} values that differ as histories grow", "/1000", share)


def _series() -> list[Array]:
    """Return the measured values of the real series, none without the reference data."""
    place = place_of_series()
    if place is None:
        return []
    measured = (values[~np.isnan(values)] for _, values in sorted(read_real(place).items()))
    long = [values for values in measured if values.size >= _SHORTEST and _scale(values) > 0]
    return [long[number * len(long) // SERIES] for number in range(SERIES)] if len(long) > SERIES else long


def _scale(values: Array) -> float:
    """Return the noise of single values, from the differences of neighbours, or the usual step of those that differ."""
    differences = np.abs(np.diff(values))
    scale = MAD * float(np.median(differences)) / np.sqrt(2)
    return scale or float(np.std(values)) / 10


def _old(values: Array, age: int = OLD) -> list[tuple[int, str]]:
    return [(step.index, step.kind.value) for step in find_steps(values) if step.index < values.size - age]


def _differing(before: Sequence[tuple[int, str]], after: Sequence[tuple[int, str]]) -> int:
    """Count the findings that vanish or appear."""
    vanished = sum(not _is_among(each, after) for each in before)
    return vanished + sum(not _is_among(each, before) for each in after)


def _is_among(finding: tuple[int, str], others: Sequence[tuple[int, str]]) -> bool:
    index, kind = finding
    return any(kind == other_kind and abs(index - other) <= _AS_ONE for other, other_kind in others)
