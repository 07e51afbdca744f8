"""Judge the benchmarks of a comparison after each round, and decide whether more rounds are worth it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.comparison.effect import (
    Effect,
    blinded_noise,
    conditional_power,
    estimate_effect,
    planned_rounds,
)
from knickpoint.bisect.comparison.paired_values import (
    COMPLETE,
    OF_SHAPES,
    MeasuredValue,
    PairedValues,
    SignFlipTest,
    fewest_rounds,
    note_failures,
    pair_round,
)
from knickpoint.bisect.comparison.shapes import Modes, sample_text
from knickpoint.detect.family.common_move import share_of
from knickpoint.model.errors import InputError
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import percent_text
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better

_SCORE_99: Final = 2.576
_FEWEST_KNOWN: Final = 4
"""Pairs from which on a history may say that a benchmark did not change."""

Array = NDArray[np.float64]

MOST_ROUNDS: Final = 20_000

_EACH_ROUND: Final = 32
"""Rounds up to which every one is looked at; then each is a twentieth further, or where a plan ends."""

_NEXT_LOOK: Final = 1.05

_FUTILE: Final = 0.05
"""Conditional power below which a change is excluded before its plan is complete: a power of 95 % stays above 94.7 %.
"""

_ROUNDS_OF_MODES: Final = 60
"""Rounds that are planned to find a mode of some runs, if they are made at all: a rare mode takes many."""


@dataclass(frozen=True, slots=True)
class ComparisonRules:
    """When a comparison ends, and what it may get wrong.

    Attributes:
        false_positives: the share of comparisons of equal commits in which any benchmark is *regressed*; as many
            *improved*.
        find: a benchmark needs no more rounds when a change of this relative size would have been found with ``power``.
        minimum_effect: smaller changes are *unchanged*.
        largest_effect: a benchmark of which only larger changes would have been found is *unstable*.
        least_rounds: rounds that are made in any case.
        most_rounds: rounds that are made at most.
        seed: seed of the order of the sides, and of the exchanges.
        power: the probability with which a change of the size ``find`` is found.
    """

    false_positives: float = 0.01
    find: float = 0.05
    minimum_effect: float = 0.0
    largest_effect: float = 0.5
    least_rounds: int = 2
    most_rounds: int = 20
    seed: int = 0
    power: float = 0.95

    def __post_init__(self) -> None:
        """Raise InputError where the rules contradict each other."""
        if not 1 <= self.least_rounds <= self.most_rounds <= MOST_ROUNDS:
            raise InputError(
                f"{self.least_rounds} to {self.most_rounds} rounds",
                where="--least-rounds, --most-rounds",
                remedy=f"Give 1 to {MOST_ROUNDS:,} rounds, the least not above the most.",
            )


@dataclass(frozen=True, slots=True)
class _Column:
    """What the test gets of one benchmark: the differences of its level, and of each shape that it has."""

    owner: int
    differences: Array
    is_shape: bool = False
    least_rounds: int = 0


class RoundsJudge:
    """Takes the rounds of a comparison one by one and judges all benchmarks after them.

    ``noise`` has the relative standard deviation of the values of single runs, by trace, as far as a history knows it.
    It is the first plan, ends the rounds of a benchmark early that did not change, and makes no change certain.
    """

    def __init__(self, rules: ComparisonRules) -> None:
        self.rules = rules
        self.rounds = 0
        self.noise: Mapping[str, float] = {}
        self._values: dict[str, PairedValues] = {}
        self._changed: dict[tuple[str, bool], Verdict] = {}
        self._test = SignFlipTest(rules.most_rounds, rules.false_positives, rules.seed)
        self._judged: tuple[JudgedBenchmark, ...] = ()
        self._planned: dict[str, int] = {}
        self._complete: set[str] = set()
        self._excluded: set[str] = set()
        self._error = rules.false_positives
        self._last: dict[str, tuple[float, float]] = {}
        self._looked = 0
        self.most = rules.most_rounds
        """How many rounds can be made in all."""
        self.expected: list[int] = []
        """How many rounds were expected in all, before each of them."""
        self.is_last_look = False

    @property
    def benchmarks(self) -> tuple[JudgedBenchmark, ...]:
        """The benchmarks as they stand after the last look, in the order of their first results."""
        return self._judged

    @property
    def series(self) -> tuple[PairedValues, ...]:
        """The values of the benchmarks by round, in the order of their first results."""
        return tuple(self._values.values())

    @property
    def finished(self) -> bool:
        """Whether no benchmark needs another round."""
        return self.rounds >= self.rules.least_rounds and all(each.settled for each in self._judged)

    @property
    def planned(self) -> Mapping[str, int]:
        """Trace → the rounds that it takes in all to find or exclude a change, as far as its noise is known."""
        return self._planned

    def missing(self, trace: str) -> int:
        """Count the rounds that a benchmark still needs by plan."""
        known = self._values[trace].differences() if trace in self._values else np.empty(0)
        return max(1, self._planned.get(trace, self.rules.most_rounds) - int((~np.isnan(known)).sum()))

    def warm_up(self, base: Mapping[str, MeasuredValue], head: Mapping[str, MeasuredValue]) -> None:
        """Take the round that does not count: it says which benchmarks there are."""
        pair_round(self._values, base, head, 0, counted=False)
        self._judged = tuple(_without_numbers(values, 0) for values in self._values.values())
        self._plan(list(self._values.values()), [np.empty(0)] * len(self._values))

    def note_failures(self, base: Mapping[str, str], head: Mapping[str, str]) -> None:
        """Take the messages of the benchmarks that failed, before the round that they belong to."""
        note_failures(self._values, base, head)

    def add(self, base: Mapping[str, MeasuredValue], head: Mapping[str, MeasuredValue]) -> None:
        """Take a round, and judge if it is time to: each of the first rounds, later fewer of them."""
        self.expected.append(self.most)
        pair_round(self._values, base, head, self.rounds, counted=True)
        self.rounds += 1
        due = self.rounds <= _EACH_ROUND or self.rounds >= _NEXT_LOOK * self._looked
        if due or self.rounds in self._planned.values() or self.rounds == self.rules.most_rounds:
            self._look()

    def expect(self, rounds: int) -> None:
        """Take note that at most so many rounds can be made in all: what the time allows, whatever they show."""
        self.most = max(self.rounds, min(rounds, self.rules.most_rounds))

    def conclude(self, *, planned: bool = False) -> None:
        """Judge by all rounds, as no more are made; where that was ``planned``, the whole rate may be spent."""
        self.is_last_look = planned
        if self.rounds and (planned or self._looked < self.rounds):
            self._look()

    def _look(self) -> None:
        self._looked = self.rounds
        series = list(self._values.values())
        modes = [Modes.among(values.differences()) for values in series]
        columns = list(_columns(series, modes))
        levels = [each.differences for each in columns if not each.is_shape]
        self._plan(series, levels)
        counts = [int((~np.isnan(each.differences)).sum()) for each in columns]
        planned = [self._rounds_of(series[each.owner].key, each.least_rounds) for each in columns]
        if self.is_last_look:
            planned = [max(1, min(pair)) for pair in zip(planned, counts, strict=True)]
        look = self._test.look(
            np.column_stack([each.differences for each in columns]),
            np.array([series[each.owner].upwards for each in columns]),
            np.array(planned, dtype=np.float64),
            _weights(columns),
            np.array([not each.is_shape and series[each.owner].key in self._complete for each in columns]),
        )
        for index, values in enumerate(series):
            if math.isfinite(look.bars[index]):
                self._last[values.key] = float(look.bars[index]), float(look.p_values[index])
            # In the first rounds, the exchanges that are alike may still be too many to spend anything.
            count = counts[index]
            if count >= planned[index] and (math.isfinite(look.bars[index]) or count >= COMPLETE):
                self._complete.add(values.key)
        for place, column in enumerate(columns):
            if look.worse[place] or look.better[place]:
                verdict = Verdict.REGRESSED if look.worse[place] else Verdict.IMPROVED
                self._changed.setdefault((series[column.owner].key, column.is_shape), verdict)
        self._judged = tuple(self._judge(values, levels[index], modes[index]) for index, values in enumerate(series))

    def _rounds_of(self, trace: str, least: int = 0) -> int:
        """Count the rounds in which a benchmark spends its part of the rate."""
        planned = self._planned.get(trace, self.rules.most_rounds)
        return min(max(planned, self.rules.least_rounds, least), self.most)

    def _plan(self, series: Sequence[PairedValues], levels: Sequence[Array]) -> None:
        """Plan the rounds of each benchmark by the sizes of its differences, whatever their signs are.

        A plan that was fulfilled stays: its part of the rate is spent.
        """
        taking_part = sum(bool(np.nan_to_num(each).any()) for each in levels) or len(levels)
        self._error = (1 - OF_SHAPES) * self.rules.false_positives / max(1, taking_part)
        for values, differences in zip(series, levels, strict=True):
            prior = math.sqrt(2) * self.noise.get(values.key, math.nan)
            if not values.logarithmic:
                prior *= abs(values.centre())
            noise = blinded_noise(differences[~np.isnan(differences)], prior)
            find = self._find(values)
            if not math.isnan(noise) and find > 0 and values.key not in self._complete:
                self._planned[values.key] = planned_rounds(noise, find, self._error, self.rules.power)

    def _find(self, values: PairedValues) -> float:
        """Size of the change to find, in the units of the differences."""
        find = max(self.rules.find, self.rules.minimum_effect)
        return math.log1p(find) if values.logarithmic else find * abs(values.centre())

    def _judge(self, values: PairedValues, level: Array, modes: Modes | None) -> JudgedBenchmark:
        differences = values.differences()
        known = level[~np.isnan(level)]
        if not known.size or not (values.has_base and values.has_head):
            return _without_numbers(values, self.rounds)
        bar, p_value = self._last.get(values.key, (math.inf, math.nan))
        effect = estimate_effect(known, bar)
        detectable = abs(_relative(values, effect.detectable))
        exact = values.exact()
        if exact is None:
            if self._excludes(values, known, effect):
                detectable = min(detectable, abs(_relative(values, self._find(values))))
            verdict, reason, settled = self._verdict(values, effect, detectable, modes)
            if not settled and (known_from := self._seen_with_history(values, known)) < math.inf:
                text = f"a change of {percent_text(known_from)} would have been found, by the noise of its history"
                verdict, reason, settled, detectable = Verdict.UNCHANGED, text, True, known_from
        elif exact:
            verdict, reason, settled = Verdict.UNCHANGED, "an exact value, equal on both sides", True
        else:
            verdict, reason, settled = self._changed_exactly(values, effect)
        # An exact value has no noise: what was measured is the interval, and any change would have been found.
        low, high = (effect.size, effect.size) if exact is not None else (effect.low, effect.high)
        return JudgedBenchmark(
            values.key,
            values.unit,
            verdict,
            reason,
            values.better,
            before=values.centre(),
            after=_level(values, effect.size),
            relative_size=_relative(values, effect.size),
            low=_relative(values, low),
            high=_relative(values, high),
            # Exact values say nothing about what noise hides, and too few rounds nothing at all.
            detectable=detectable if exact is None and 0 < detectable < math.inf else math.nan,
            p_value=p_value,
            samples=int((~np.isnan(differences)).sum()),
            past=_known(values.base),
            new=_known(values.head),
            settled=settled,
        )

    def _excludes(self, values: PairedValues, known: Array, effect: Effect) -> bool:
        """Whether the rest of the plan would hardly find the change to find any more: it is excluded from here on.

        The benchmark stays in the test, so that the rate is as before, and its rounds may still show a change.
        """
        planned = self._planned.get(values.key, 0)
        begun = COMPLETE <= known.size < planned
        if begun and conditional_power(known, effect.size, self._find(values), planned, self._error) < _FUTILE:
            self._excluded.add(values.key)
        return values.key in self._excluded

    def _verdict(
        self, values: PairedValues, effect: Effect, detectable: float, modes: Modes | None
    ) -> tuple[Verdict, str, bool]:
        """Return the verdict on a value with noise, its reason, and whether it needs no more rounds."""
        size = _relative(values, effect.size)
        changed, shape = (self._changed.get((values.key, is_shape)) for is_shape in (False, True))
        if changed is not None and abs(size) >= self.rules.minimum_effect:
            return changed, _reason_of_change(values), True
        if shape is not None:
            reason, mean = self._shape(values, modes)
            if mean >= self.rules.minimum_effect:
                return shape, f"the level is the same, but {reason}", True
        if changed is not None:
            return Verdict.UNCHANGED, "a change, but smaller than the minimum effect", True
        if not math.isfinite(detectable):
            return Verdict.NO_DATA, _too_few(self.rules), False
        unstable = detectable > self.rules.largest_effect
        if abs(size) >= detectable:
            reason = "the rounds do not agree on a change"
        elif unstable:
            reason = f"too noisy: only changes from {percent_text(detectable)} are reliably detectable"
        else:
            reason = f"a change of {percent_text(detectable)} would have been found"
        if modes is not None:
            reason += f"; {counted(int(modes.apart.sum()), 'round has', 'rounds have')} its sides in different modes"
        complete = values.key in self._complete and self._planned[values.key] <= self._rounds_of(values.key)
        return (Verdict.UNSTABLE if unstable else Verdict.UNCHANGED), reason, complete or values.key in self._excluded

    def _shape(self, values: PairedValues, modes: Modes | None) -> tuple[str, float]:
        """Name the shape that changed, and by how much that changes the mean, at least."""
        if modes is not None:
            differences = values.differences()
            sides = (np.array(side, dtype=np.float64) for side in (values.base, values.head))
            logs = [np.log(side) if values.logarithmic else side for side in sides]
            return modes.text(logs[0], logs[1], differences), abs(_relative(values, modes.mean_change(differences)))
        known = [each for each in values.shapes if each is not None]
        return sample_text(*zip(*known, strict=True)), abs(math.expm1(float(np.nanmedian(values.tails()))))

    def _seen_with_history(self, values: PairedValues, known: Array) -> float:
        """Return the change that would have been found, if the noise is that of the history; inf with too few rounds.

        They are enough once it is no larger than the one to find, which the 99 % interval excludes as well. The noise
        is that of the rounds, where they are noisier than the history.
        """
        noise, count = self.noise.get(values.key, math.nan), known.size
        find = math.log1p(max(self.rules.find, self.rules.minimum_effect))
        if not noise > 0 or count < _FEWEST_KNOWN or not values.logarithmic:
            return math.inf
        error = max(math.sqrt(2) * noise, float(np.std(known, ddof=1))) / math.sqrt(count)
        detectable = (_SCORE_99 + NormalDist().inv_cdf(self.rules.power)) * error
        return (
            math.expm1(detectable) if max(detectable, abs(float(known.mean())) + _SCORE_99 * error) < find else math.inf
        )

    def _changed_exactly(self, values: PairedValues, effect: Effect) -> tuple[Verdict, str, bool]:
        if abs(_relative(values, effect.size)) < self.rules.minimum_effect:
            return Verdict.UNCHANGED, "an exact value; its change is smaller than the minimum effect", True
        worse = math.isnan(values.upwards) or effect.size * values.upwards > 0
        reason = "an exact value, different in every round"
        if values.better is Better.UNKNOWN:
            reason += "; the better direction is unknown, so a change counts as a regression"
        return (Verdict.REGRESSED if worse else Verdict.IMPROVED), reason, True


def _columns(series: Sequence[PairedValues], modes: Sequence[Modes | None]) -> Iterator[_Column]:
    """Yield the level of each benchmark, then the shapes of those that have any."""
    for index, (values, found) in enumerate(zip(series, modes, strict=True)):
        differences = values.differences()
        yield _Column(index, np.where(found.apart, np.nan, differences) if found else differences)
    for index, (values, found) in enumerate(zip(series, modes, strict=True)):
        if found is not None:
            yield _Column(index, found.signs(values.differences()), is_shape=True, least_rounds=_ROUNDS_OF_MODES)
        else:
            tails = values.tails()
            if not np.isnan(tails).all():
                yield _Column(index, tails, is_shape=True)


def _weights(columns: Sequence[_Column]) -> Array:
    """Divide the rate among the benchmarks that vary at all; a small part of it is kept for shapes."""
    taking_part = np.array([bool(np.nan_to_num(each.differences).any()) for each in columns], dtype=np.float64)
    shapes = np.array([each.is_shape for each in columns])
    weights = np.zeros(len(columns))
    for part, share in ((taking_part * ~shapes, 1 - OF_SHAPES), (taking_part * shapes, OF_SHAPES)):
        weights += share * part / max(1.0, part.sum())
    return weights


def _too_few(rules: ComparisonRules) -> str:
    fewest = fewest_rounds(rules.most_rounds, rules.false_positives)
    if fewest is None:
        return f"{rules.most_rounds} rounds are too few for this false-positive rate"
    return f"too few rounds: a change can be certain after {fewest}"


def _reason_of_change(values: PairedValues) -> str:
    text = "beyond what exchanged sides do"
    if values.better is Better.UNKNOWN:
        text += "; the better direction is unknown, so a change counts as a regression"
    return text


def _without_numbers(values: PairedValues, rounds: int) -> JudgedBenchmark:
    """Judge a benchmark that has no pair of values."""
    settled = rounds >= 1
    if values.other_unit:
        reason = f"the unit changed from {values.unit or 'none'} to {values.other_unit or 'none'}"
        return replace(_undecidable(values, reason, settled=settled), verdict=Verdict.REGRESSED)
    if not values.has_head and values.head_failures:
        return _failed(values, settled=settled)
    if not values.has_base and values.base_failures:
        return _undecidable(values, _with_message("failed at the base", values.base_failures), settled=settled)
    if values.has_base and not values.has_head:
        reason = "vanished: the base has it, and the head does not"
        return replace(
            _undecidable(values, reason, settled=settled),
            verdict=Verdict.REGRESSED,
            before=values.centre(),
            vanished=True,
        )
    new = values.has_head and not values.has_base
    reason = "new: only the head has it" if new else "no round has a value of both sides yet"
    return _undecidable(values, reason, settled=settled and new)


def _failed(values: PairedValues, *, settled: bool) -> JudgedBenchmark:
    """Judge a benchmark that failed in every run of the head: it is not the head's fault if the base fails, too."""
    if values.base_failures and not values.has_base:
        return _undecidable(values, _with_message("failed on both sides", values.head_failures), settled=settled)
    reason = _with_message("failed", values.head_failures)
    if not values.has_base:
        reason += "; the base does not have it"
    return replace(
        _undecidable(values, reason, settled=settled), verdict=Verdict.REGRESSED, before=values.centre(), failed=True
    )


def _undecidable(values: PairedValues, reason: str, *, settled: bool) -> JudgedBenchmark:
    return JudgedBenchmark(values.key, values.unit, Verdict.NO_DATA, reason, values.better, settled=settled)


def _with_message(what: str, messages: Sequence[str]) -> str:
    """Return the outcome with the first message that says something."""
    message = next((text for text in messages if text), "")
    return f"{what}: {message}" if message else what


def _known(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(value for value in values if not math.isnan(value))


def _relative(values: PairedValues, difference: float) -> float:
    """Return a difference as a relative change; nan where the base is zero."""
    if values.logarithmic:
        return share_of(difference)
    centre = abs(values.centre())
    if not difference:
        return 0.0
    return difference / centre if centre else math.nan


def _level(values: PairedValues, size: float) -> float:
    centre = values.centre()
    return centre * math.exp(size) if values.logarithmic else centre + size
