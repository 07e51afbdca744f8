"""The values of both sides by benchmark, their differences, and tests of many benchmarks by exchanging sides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.comparison.effect import CLIP
from knickpoint.bisect.comparison.shapes import SampleShape
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
    """What one run gave for one benchmark; ``shape`` is that of its samples, where they are enough."""

    value: float
    unit: str = ""
    better: Better = Better.UNKNOWN
    shape: SampleShape | None = None


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
    shapes: list[tuple[SampleShape, SampleShape] | None] = field(default_factory=list)
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
        self.shapes.extend([None] * (rounds - len(self.shapes)))
        self.shapes.append((base.shape, head.shape) if base and head and base.shape and head.shape else None)

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

    def tails(self) -> Array:
        """Compare the tails: how much longer that of the samples of the head is than that of the base, nan where unknown."""
        return np.array([each[1].tail - each[0].tail if each else math.nan for each in self.shapes])

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
        if np.isnan(self.warm).any():
            return None
        sides = [[value for value in side if not math.isnan(value)] for side in (self.base, self.head)]
        base, head = ({value, *side} for value, side in zip(self.warm, sides, strict=True))
        rounds = min(map(len, sides))
        if len(base) != 1 or len(head) != 1 or rounds < EXACT_EQUAL:
            return None
        (before,), (after,) = base, head
        if not (before.is_integer() and after.is_integer()):
            return None
        if before == after:
            return True
        return False if rounds >= EXACT_DIFFERENT else None


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


# Test many benchmarks at once, again after rounds, by exchanging the two sides of rounds.
#
# Each round measures both sides once, in random order. If nothing changed, the two sides of a round could be exchanged
# without anybody seeing it, whatever the noise is: all differences of that round change their sign together. So the
# rounds as they were are compared with many exchanges of them, by the deviation of any benchmark that is least likely
# by chance. That holds for all benchmarks together however they depend on each other, and needs no assumption about
# their noise.
#
# At each look a part of the false-positive rate is spent (Lan and DeMets 1983): the bar is set so that the exchanges
# that have ever been beyond a bar are no more than the share that may be spent by then. Each benchmark has its part of
# the rate, and spends it by the share of the rounds that are planned for it. The plan may be made anew at any time, as
# long as it depends on the sizes of differences and not on their signs: exchanges change signs only.


FLIPS: Final = 8192
"""Exchanges that are tried, the first of which exchanges nothing; up to 13 rounds these are all there are."""

SPENDING: Final = 2.0
"""Exponent of the share of the rate that is spent by then: most of it is kept for the last rounds, which see the most.
"""

EARLY: Final = 0.1
"""Part of the rate that is spent in the first rounds, so that large changes end a long plan early."""

EARLY_ROUNDS: Final = 20

OF_SHAPES: Final = 0.1
"""Part of the rate that a comparison keeps for shapes: modes and tails."""

COMPLETE: Final = 13
"""Rounds whose exchanges are all tried."""

_BLOCK: Final = 64
"""Rounds whose exchanges are drawn, and summed, at once."""

_AT_ONCE: Final = 256
"""Benchmarks whose exchanges are in memory at once."""

_DECIMALS: Final = 9
"""Deviations that agree to so many decimals are equal; sums in another order differ after them."""

_PORTIONS: Final = 16
"""The rate is spent in at most so many portions: exchanges that are alike cross together or not at all."""

_STEP: Final = 0.05
"""Parts of the rate are rounded down to powers of this exponent; benchmarks with equal parts are compared at once."""

_NEWTON_STEPS: Final = 6
"""Steps after which the inverse of a convex function is exact: each doubles the number of digits."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the test says after a round, one entry a benchmark.

    ``deviations`` are sums of differences over the root of their sum of squares, upwards is worse; ``bars`` are what
    they have to exceed, infinite while no share can be spent. ``worse`` and ``better`` say what is beyond the bar now.
    ``p_values`` is the share of exchanges in which any benchmark deviates as far.
    """

    deviations: Array
    bars: Array
    worse: NDArray[np.bool_]
    better: NDArray[np.bool_]
    p_values: Array


def fewest_rounds(rounds: int, false_positives: float) -> int | None:
    """Find after how many of so many rounds a change can be certain for the first time, None for never."""
    share = (1 - OF_SHAPES) * spent_share(np.arange(rounds + 1.0), rounds)
    return next((n for n in range(1, rounds + 1) if _budget(share[n], false_positives) >= _alike(n)), None)


def spent_share(rounds: Array, planned: Array | float) -> Array:
    """Share of the rate that is spent after so many of the rounds that are planned."""
    early = np.minimum(1.0, rounds / np.minimum(planned, EARLY_ROUNDS)) ** SPENDING
    found: Array = EARLY * early + (1 - EARLY) * np.minimum(1.0, rounds / planned) ** SPENDING
    return found


def _budget(share: float, false_positives: float) -> int:
    """Count the exchanges that may have crossed a bar by now."""
    return int(FLIPS * false_positives * share + 1e-9)


def _alike(rounds: int) -> int:
    """Count the equal exchanges after so many rounds; none of them can cross a bar alone."""
    return max(1, FLIPS >> rounds)


class SignFlipTest:
    """The test with at most ``false_positives`` for worse, and as many for better.

    ``rounds`` is the plan of a look that has none of its own.
    """

    def __init__(self, rounds: int, false_positives: float, seed: int) -> None:
        self._rounds = rounds
        self._false_positives = false_positives
        self._random = np.random.default_rng(seed)
        everything = (np.arange(FLIPS)[:, None] >> np.arange(COMPLETE)) & 1
        self._signs = [(1 - 2 * everything).astype(np.int8)]
        self._crossed = (np.zeros(FLIPS, dtype=bool), np.zeros(FLIPS, dtype=bool))

    def look(
        self,
        differences: Array,
        upwards: Array,
        planned: Array | None = None,
        weights: Array | None = None,
        closed: NDArray[np.bool_] | None = None,
    ) -> Look:
        """Test after more rounds.

        Args:
            differences: rounds x benchmarks, head less base, nan for missing.
            upwards: for each benchmark 1 where more is worse, -1 where less is, nan where any change counts as worse.
            planned: the rounds that are planned for each; how they are found must not depend on signs of differences.
            weights: the share of the rate that each benchmark gets, equal ones by default.
            closed: the benchmarks that have had their last look, and take no part any more.
        """
        rounds, count = differences.shape
        weights = np.full(count, 1 / count) if weights is None else weights
        planned = np.full(count, float(self._rounds)) if planned is None else planned
        known = (~np.isnan(differences)).sum(axis=0).astype(float)
        shares = weights * spent_share(known, planned)
        with np.errstate(divide="ignore"):
            handicaps = _STEP * np.floor(np.log(shares) / _STEP)
        shares = np.exp(handicaps)
        if closed is not None:
            handicaps = np.where(closed, -np.inf, handicaps)
        clipped = _clipped(differences)
        size = np.sqrt(np.square(clipped).sum(axis=0))
        scaled = np.divide(clipped, size, out=np.zeros_like(clipped), where=size > 0)
        observed = np.round(scaled.sum(axis=0), _DECIMALS)
        worse_now, better_now = _towards_worse(observed, upwards), _towards_better(observed, upwards)
        most_worse, most_better = self._largest(scaled, upwards, handicaps)
        scores_worse, scores_better = (_rareness(each) + handicaps for each in (worse_now, better_now))
        budget = _budget(float(shares.sum()), self._false_positives)
        # Who has a last look now may spend what is left, however little that is.
        last = bool(((known >= planned) & np.isfinite(handicaps)).any())
        least = max(_alike(rounds), 1 if last else _budget(1.0, self._false_positives) // _PORTIONS)
        bar = _cross(most_worse, self._crossed[0], budget, least)
        other = _cross(most_better, self._crossed[1], budget, least)
        ranked = np.sort(most_worse)
        beyond = FLIPS - np.searchsorted(ranked, np.maximum(scores_worse, scores_better), side="left")
        taking_part = np.isfinite(handicaps)
        bars = np.where(taking_part, _deviation_of(bar - np.where(taking_part, handicaps, 0.0)), np.inf)
        return Look(worse_now, bars, scores_worse > bar, scores_better > other, beyond / FLIPS)

    def _largest(self, scaled: Array, upwards: Array, handicaps: Array) -> tuple[Array, Array]:
        """Find the highest score for the worse and for the better in each exchange."""
        worse, better = np.full(FLIPS, -np.inf), np.full(FLIPS, -np.inf)
        for handicap in np.unique(handicaps):
            alike = np.flatnonzero(handicaps == handicap)
            for part in np.split(alike, range(_AT_ONCE, len(alike), _AT_ONCE)):
                sums = self._exchanged_sums(scaled[:, part])
                for most, towards in ((worse, _towards_worse), (better, _towards_better)):
                    largest = np.round(towards(sums, upwards[part]).max(axis=1), _DECIMALS)
                    np.maximum(most, _rareness(largest) + handicap, out=most)
        return worse, better

    def _exchanged_sums(self, scaled: Array) -> Array:
        """Sum up the differences in each exchange: exchanges x benchmarks."""
        sums, done = np.zeros((FLIPS, scaled.shape[1])), 0
        for block in self._sign_blocks(len(scaled)):
            rest = scaled[done : done + block.shape[1]]
            sums += block[:, : len(rest)].astype(np.float64) @ rest
            done += block.shape[1]
        return sums

    def _sign_blocks(self, rounds: int) -> Iterator[NDArray[np.int8]]:
        """Yield the signs of each exchange, exchanges x rounds: all combinations at first, then random ones."""
        place = done = 0
        while done < rounds:
            if place == len(self._signs):
                drawn = self._random.integers(0, 2, size=(FLIPS, _BLOCK), dtype=np.int8)
                drawn[0] = 0
                self._signs.append(1 - 2 * drawn)
            yield self._signs[place]
            done += self._signs[place].shape[1]
            place += 1


def _rareness(deviations: Array) -> Array:
    """Compute the rareness of a deviation: about -log of the probability of a larger one under normal noise.

    Any growing function keeps the rate. This one makes benchmarks comparable whose parts of the rate differ: Q(x) is
    about φ(x) 2 / (x + √(x² + 4)) (Birnbaum 1942).
    """
    positive = np.maximum(deviations, 0.0)
    found: Array = positive**2 / 2 + np.log((positive + np.sqrt(positive**2 + 4)) / 2)
    return found


def _deviation_of(rareness: Array) -> Array:
    """Invert the rareness by Newton's method, from above; infinite where it is."""
    known = np.isfinite(rareness)
    wanted = np.where(known, np.maximum(rareness, 0.0), 0.0)
    found = np.sqrt(2 * wanted)
    for _ in range(_NEWTON_STEPS):
        found = np.maximum(0.0, found - (_rareness(found) - wanted) / (found + 1 / np.sqrt(found**2 + 4)))
    return np.where(known, found, np.inf)


def _clipped(differences: Array) -> Array:
    """Bound the differences by a multiple of their median size; what is missing is 0."""
    known = np.nan_to_num(differences, nan=0.0)
    sizes = np.where(np.isnan(differences), np.nan, np.abs(differences))
    empty = np.isnan(sizes).all(axis=0)
    sizes[:, empty] = 0.0
    most = CLIP * np.nanmedian(sizes, axis=0)
    most[most == 0] = np.inf
    bounded: Array = np.clip(known, -most, most)
    return bounded


def _towards_worse(sums: Array, upwards: Array) -> Array:
    unknown = np.isnan(upwards)
    return np.where(unknown, np.abs(sums), sums * np.where(unknown, 0.0, upwards))


def _towards_better(sums: Array, upwards: Array) -> Array:
    return -sums * np.nan_to_num(upwards, nan=0.0)


def _cross(largest: Array, crossed: NDArray[np.bool_], budget: int, least: int) -> float:
    """Find the bar that lets at most ``budget`` exchanges have crossed by now, and note those that cross it.

    While fewer than ``least`` may cross now, none do.
    """
    left = budget - int(crossed.sum())
    if left < least:
        return np.inf
    bar = float(np.partition(largest[~crossed], -left - 1)[-left - 1])
    crossed |= largest > bar
    return bar
