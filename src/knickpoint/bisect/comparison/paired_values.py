"""The values of both sides by benchmark, their differences, and tests of many benchmarks by exchanging sides."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.unit import conversion, read_unit
from knickpoint.model.unit_names import Better

# Collect what the rounds measured: for each benchmark the values of both sides, and their differences.


COMMAND_KEY: Final = ",benchmark=command,"
"""The trace key of the time of the command itself, where it writes no results."""

EXACT_EQUAL: Final = 2
"""Counted rounds in which an exact value has to be equal to be unchanged."""

EXACT_DIFFERENT: Final = 3
"""Counted rounds in which an exact value has to be different to be changed.

With the warm-up, each side has it four times.
"""

_MEASURED: Final = frozenset({"time", "frequency", "J", "W"})
"""Dimensions that are measured. Others count, but for rates and for units that are not known."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """What one run gave for one benchmark."""

    value: float
    unit: str = ""
    better: Better = Better.UNKNOWN


@dataclass
class PairedValues:
    """The values of one benchmark by round, nan for missing; those of the head are in the unit of the base.

    The failures are the messages of the runs, the warm-up included, in which it failed.
    """

    key: str
    unit: str = ""
    better: Better = Better.UNKNOWN
    base: list[float] = field(default_factory=list)
    head: list[float] = field(default_factory=list)
    warm: tuple[float, float] = (math.nan, math.nan)
    other_unit: str = ""
    base_failures: list[str] = field(default_factory=list)
    head_failures: list[str] = field(default_factory=list)

    def add(self, base: MeasuredValue | None, head: MeasuredValue | None, rounds: int, *, counted: bool) -> None:
        """Add what a round measured; ``rounds`` were counted before."""
        known = base or head
        if known is not None and not self.unit:
            self.unit = known.unit
            self.better = known.better
        values = self._value(base), self._value(head)
        if not counted:
            self.warm = values
            return
        for side, value in zip((self.base, self.head), values, strict=True):
            side.extend([math.nan] * (rounds - len(side)))
            side.append(value)

    def _value(self, measured: MeasuredValue | None) -> float:
        """Return a value in the unit of this benchmark; nan where there is none, or where it does not convert."""
        if measured is None:
            return math.nan
        if measured.unit == self.unit:
            return measured.value
        source, target = read_unit(measured.unit), read_unit(self.unit)
        if source.dimension != target.dimension:
            self.other_unit = measured.unit
            return math.nan
        return measured.value * conversion(source, target)

    @property
    def upwards(self) -> float:
        """1 where more is worse, -1 where less is, nan where that is unknown."""
        return {Better.LOWER: 1.0, Better.HIGHER: -1.0}.get(self.better, math.nan)

    @property
    def has_base(self) -> bool:
        """Whether the base has it at all."""
        return not np.isnan([*self.base, self.warm[0]]).all()

    @property
    def has_head(self) -> bool:
        """Whether the head has it at all."""
        return not np.isnan([*self.head, self.warm[1]]).all()

    @property
    def logarithmic(self) -> bool:
        """Whether the differences are those of logarithms: all values are positive."""
        values = np.array([*self.base, *self.head])
        return not bool((values <= 0).any())

    def differences(self) -> Array:
        """Return head less base of each round, of the logarithms where possible, nan where a side is missing."""
        base, head = np.array(self.base, dtype=np.float64), np.array(self.head, dtype=np.float64)
        if self.logarithmic:
            base, head = np.log(base), np.log(head)
        found: Array = head - base
        return found

    def centre(self) -> float:
        """Return the median of the base, nan without one."""
        known = [value for value in self.base if not math.isnan(value)]
        return float(np.median(known)) if known else math.nan

    def exact(self) -> bool | None:
        """Compare an exact value on both sides; None if it is not exact, or too few rounds show it.

        An exact value is a whole number of something counted that never varies on either side, the warm-up included.
        """
        dimension = read_unit(self.unit).dimension
        if dimension in _MEASURED or dimension.startswith("?") or "/" in dimension:
            return None
        base, head = ({value, *side} for value, side in zip(self.warm, (self.base, self.head), strict=True))
        if len(base) != 1 or len(head) != 1 or len(self.base) < EXACT_EQUAL:
            return None
        (before,), (after,) = base, head
        if not (before.is_integer() and after.is_integer()):
            return None
        if before == after:
            return True
        return False if len(self.base) >= EXACT_DIFFERENT else None


def pair_round(
    known: dict[str, PairedValues],
    base: Mapping[str, MeasuredValue],
    head: Mapping[str, MeasuredValue],
    rounds: int,
    *,
    counted: bool,
) -> None:
    """Add a round to all benchmarks that are known, and to those that are new."""
    for key in [*base, *head]:
        known.setdefault(key, PairedValues(key))
    for key, values in known.items():
        values.add(base.get(key), head.get(key), rounds, counted=counted)


def note_failures(known: dict[str, PairedValues], base: Mapping[str, str], head: Mapping[str, str]) -> None:
    """Add the messages of the benchmarks that failed in a round."""
    for key in [*base, *head]:
        values = known.setdefault(key, PairedValues(key))
        if key in base:
            values.base_failures.append(base[key])
        if key in head:
            values.head_failures.append(head[key])


# Test many benchmarks at once, again after each round, by exchanging the two sides of rounds.
#
# Each round measures both sides once, in random order. If nothing changed, the two sides of a round could be exchanged
# without anybody seeing it, whatever the noise is: all differences of that round change their sign together. So the
# rounds as they were are compared with many exchanges of them, by the largest deviation of any benchmark. That holds
# for all benchmarks together however they depend on each other, and needs no assumption about their noise.
#
# After each round a part of the false-positive rate is spent (Lan and DeMets 1983): the bar is set so that the
# exchanges that have ever been beyond a bar are no more than the share that may be spent by then.


FLIPS: Final = 8192
"""Exchanges that are tried, the first of which exchanges nothing; up to 13 rounds these are all there are."""

SPENDING: Final = 2.0
"""Exponent of the share of the rate that is spent by then: most of it is kept for the last rounds, which see the most.
"""

_COMPLETE: Final = 13
_CLIP: Final = 3.0
"""Differences count for at most so many times the median size, so that a single wild round decides nothing."""

_AT_ONCE: Final = 256
"""Benchmarks whose exchanges are in memory at once."""

_DECIMALS: Final = 9
"""Deviations that agree to so many decimals are equal; sums in another order differ after them."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the test says after a round, one entry a benchmark.

    ``deviations`` are sums of differences over the root of their sum of squares, upwards is worse; ``bar`` is what they
    have to exceed, infinite while no share can be spent. ``worse`` and ``better`` say what is beyond the bar now.
    ``p_values`` is the share of exchanges in which any benchmark deviates as far.
    """

    deviations: Array
    bar: float
    worse: NDArray[np.bool_]
    better: NDArray[np.bool_]
    p_values: Array


def fewest_rounds(rounds: int, false_positives: float) -> int | None:
    """Return after how many of so many rounds a change can be certain for the first time, None for never."""
    return next((n for n in range(1, rounds + 1) if _spent(n, rounds, false_positives) >= _alike(n)), None)


def _spent(rounds: int, most: int, false_positives: float) -> int:
    """Return the number of exchanges that may have crossed a bar after so many rounds."""
    return int(FLIPS * false_positives * min(1.0, rounds / most) ** SPENDING)


def _alike(rounds: int) -> int:
    """Return the number of equal exchanges after so many rounds; none of them can cross a bar alone."""
    return max(1, FLIPS >> rounds)


class SignFlipTest:
    """The test over at most ``rounds`` rounds, with at most ``false_positives`` for worse, and as many for better."""

    def __init__(self, rounds: int, false_positives: float, seed: int) -> None:
        self._rounds = rounds
        self._false_positives = false_positives
        self._signs = _signs(rounds, seed)
        self._crossed = (np.zeros(FLIPS, dtype=bool), np.zeros(FLIPS, dtype=bool))

    def look(self, differences: Array, upwards: Array) -> Look:
        """Test after one more round.

        Args:
            differences: rounds x benchmarks, head less base, nan for missing.
            upwards: for each benchmark 1 where more is worse, -1 where less is, nan where any change counts as worse.
        """
        clipped = _clipped(differences)
        size = np.sqrt(np.square(clipped).sum(axis=0))
        scaled = np.divide(clipped, size, out=np.zeros_like(clipped), where=size > 0)
        observed = np.round(scaled.sum(axis=0), _DECIMALS)
        worse_now, better_now = _towards_worse(observed, upwards), _towards_better(observed, upwards)
        most_worse, most_better = self._largest(scaled, upwards)
        rounds = len(differences)
        spent = _spent(rounds, self._rounds, self._false_positives)
        bar = _cross(most_worse, self._crossed[0], spent, rounds)
        other = _cross(most_better, self._crossed[1], spent, rounds)
        ranked = np.sort(most_worse)
        beyond = FLIPS - np.searchsorted(ranked, np.maximum(worse_now, better_now), side="left")
        return Look(worse_now, bar, worse_now > bar, better_now > other, beyond / FLIPS)

    def _largest(self, scaled: Array, upwards: Array) -> tuple[Array, Array]:
        """Return the largest deviation for the worse and for the better in each exchange."""
        signs = self._signs[:, : len(scaled)].astype(np.float64)
        worse, better = np.zeros(FLIPS), np.zeros(FLIPS)
        for first in range(0, scaled.shape[1], _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            sums = np.round(signs @ scaled[:, part], _DECIMALS)
            np.maximum(worse, _towards_worse(sums, upwards[part]).max(axis=1), out=worse)
            np.maximum(better, _towards_better(sums, upwards[part]).max(axis=1), out=better)
        return worse, better


def _signs(rounds: int, seed: int) -> NDArray[np.int8]:
    """Return the signs of each exchange, exchanges x rounds: all combinations in the first rounds, then random ones."""
    complete = (np.arange(FLIPS)[:, None] >> np.arange(min(rounds, _COMPLETE))) & 1
    drawn = np.random.default_rng(seed).integers(0, 2, size=(FLIPS, max(0, rounds - _COMPLETE)))
    drawn[0] = 0
    return (1 - 2 * np.hstack([complete, drawn])).astype(np.int8)


def _clipped(differences: Array) -> Array:
    """Return the differences without what is missing, bounded by a multiple of their median size."""
    known = np.nan_to_num(differences, nan=0.0)
    sizes = np.where(np.isnan(differences), np.nan, np.abs(differences))
    empty = np.isnan(sizes).all(axis=0)
    sizes[:, empty] = 0.0
    most = _CLIP * np.nanmedian(sizes, axis=0)
    most[most == 0] = np.inf
    bounded: Array = np.clip(known, -most, most)
    return bounded


def _towards_worse(sums: Array, upwards: Array) -> Array:
    unknown = np.isnan(upwards)
    return np.where(unknown, np.abs(sums), sums * np.where(unknown, 0.0, upwards))


def _towards_better(sums: Array, upwards: Array) -> Array:
    return -sums * np.nan_to_num(upwards, nan=0.0)


def _cross(largest: Array, crossed: NDArray[np.bool_], spent: int, rounds: int) -> float:
    """Return the bar that lets at most ``spent`` exchanges have crossed by now, and note those that cross it."""
    left = spent - int(crossed.sum())
    if left < _alike(rounds):
        return np.inf
    bar = float(np.partition(largest[~crossed], -left - 1)[-left - 1])
    crossed |= largest > bar
    return bar
