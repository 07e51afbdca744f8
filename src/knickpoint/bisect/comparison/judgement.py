"""Judge the benchmarks of a comparison after each round, and decide whether more rounds are worth it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.comparison.paired_values import (
    Look,
    MeasuredValue,
    PairedValues,
    SignFlipTest,
    fewest_rounds,
    note_failures,
    pair_round,
)
from knickpoint.model.errors import InputError
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.quantity_text import percent_text
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better

# Estimate one change from paired differences: its size, its interval, and the change that would have been found.


_SCORE_95: Final = 1.96
_SCORE_99: Final = 2.576
_POWER_SCORE: Final = 0.8416
"""Normal score of 80 %: the probability with which the detectable change is found."""

_CLIP: Final = 3.0
_FEWEST: Final = 6
"""Pairs from which on there is a 95 % interval without assumptions about the noise."""

_FEWEST_WIDE: Final = 8
"""Pairs from which on there is one of 99 %."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Effect:
    """A change in the units of the differences.

    ``size`` is the median of the means of all pairs of differences (Hodges and Lehmann 1963), ``low`` and ``high`` the
    95 % interval that belongs to it (Wilcoxon's signed ranks), ``widest`` the largest size in the 99 % interval.
    ``detectable`` is the smallest size that would have been found in four cases of five. What is not known yet is
    infinite.
    """

    size: float
    low: float
    high: float
    widest: float
    detectable: float


def estimate_effect(differences: Array, bar: float) -> Effect:
    """Return the effect behind ``differences`` (at least one, none missing); ``bar`` is that of the sign flips."""
    count = len(differences)
    first, second = np.triu_indices(count)
    means = np.sort((differences[first] + differences[second]) / 2)
    size = float(np.median(means))
    low, high = _interval(means, count, _SCORE_95, _FEWEST)
    widest = max(abs(end) for end in _interval(means, count, _SCORE_99, _FEWEST_WIDE))
    return Effect(size, low, high, widest, _detectable(differences - size, bar))


def _interval(means: Array, count: int, score: float, fewest: int) -> tuple[float, float]:
    """Return the ends of the interval among the sorted means of pairs."""
    if count < fewest:
        return -math.inf, math.inf
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    rank = max(1, int(count * (count + 1) / 4 - score * spread))
    return float(means[rank - 1]), float(means[-rank])


def _detectable(residuals: Array, bar: float) -> float:
    """Return the change that exceeds ``bar`` in four cases of five, with the noise of ``residuals``."""
    count = len(residuals)
    if not bar**2 < count:
        return math.inf
    sizes = np.abs(residuals)
    most = _CLIP * float(np.median(sizes)) or math.inf
    noise = math.sqrt(float(np.square(np.minimum(sizes, most)).sum()) / max(1, count - 1))
    # The deviation as Student's t, and the spread of t around its mean.
    student = bar / math.sqrt(1 - bar**2 / count)
    return (student + _POWER_SCORE * math.sqrt(1 + student**2 / (2 * count))) * noise / math.sqrt(count)


MOST_ROUNDS: Final = 1000


@dataclass(frozen=True, slots=True)
class ComparisonRules:
    """When a comparison ends, and what it may get wrong.

    Attributes:
        false_positives: the share of comparisons of equal commits in which any benchmark is *regressed*; as many
            *improved*.
        find: a benchmark needs no more rounds when a change of this relative size would have been found.
        minimum_effect: smaller changes are *unchanged*.
        largest_effect: a benchmark of which only larger changes would have been found is *unstable*.
        least_rounds: rounds that are made in any case.
        most_rounds: rounds that are made at most.
        seed: seed of the order of the sides, and of the exchanges.
    """

    false_positives: float = 0.01
    find: float = 0.05
    minimum_effect: float = 0.0
    largest_effect: float = 0.5
    least_rounds: int = 2
    most_rounds: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise InputError where the rules contradict each other."""
        if not 1 <= self.least_rounds <= self.most_rounds <= MOST_ROUNDS:
            raise InputError(
                f"{self.least_rounds} to {self.most_rounds} rounds",
                where="--least-rounds, --most-rounds",
                remedy=f"Give 1 to {MOST_ROUNDS:,} rounds, and no more at least than at most.",
            )


class RoundsJudge:
    """Takes the rounds of a comparison one by one and judges all benchmarks after each."""

    def __init__(self, rules: ComparisonRules) -> None:
        self.rules = rules
        self.rounds = 0
        self._values: dict[str, PairedValues] = {}
        self._changed: dict[str, Verdict] = {}
        self._test = SignFlipTest(rules.most_rounds, rules.false_positives, rules.seed)
        self._judged: tuple[JudgedBenchmark, ...] = ()

    @property
    def benchmarks(self) -> tuple[JudgedBenchmark, ...]:
        """The benchmarks as they stand after the last round, in the order of their first results."""
        return self._judged

    @property
    def finished(self) -> bool:
        """Whether no benchmark needs another round."""
        return self.rounds >= self.rules.least_rounds and all(each.settled for each in self._judged)

    def warm_up(self, base: Mapping[str, MeasuredValue], head: Mapping[str, MeasuredValue]) -> None:
        """Take the round that does not count: it says which benchmarks there are."""
        pair_round(self._values, base, head, 0, counted=False)
        self._judged = tuple(_without_numbers(values, 0) for values in self._values.values())

    def note_failures(self, base: Mapping[str, str], head: Mapping[str, str]) -> None:
        """Take the messages of the benchmarks that failed, before the round that they belong to."""
        note_failures(self._values, base, head)

    def add(self, base: Mapping[str, MeasuredValue], head: Mapping[str, MeasuredValue]) -> None:
        """Take a round, and judge."""
        pair_round(self._values, base, head, self.rounds, counted=True)
        self.rounds += 1
        series = list(self._values.values())
        differences = np.column_stack([values.differences() for values in series])
        look = self._test.look(differences, np.array([values.upwards for values in series]))
        for index, values in enumerate(series):
            if look.worse[index] or look.better[index]:
                self._changed.setdefault(values.key, Verdict.REGRESSED if look.worse[index] else Verdict.IMPROVED)
        self._judged = tuple(self._judge(values, look, index) for index, values in enumerate(series))

    def _judge(self, values: PairedValues, look: Look, index: int) -> JudgedBenchmark:
        differences = values.differences()
        known = differences[~np.isnan(differences)]
        if not known.size or not (values.has_base and values.has_head):
            return _without_numbers(values, self.rounds)
        effect = estimate_effect(known, look.bar)
        detectable = abs(_relative(values, effect.detectable))
        exact = values.exact()
        if exact is None:
            verdict, reason, settled = self._verdict(values, effect)
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
            p_value=float(look.p_values[index]),
            samples=int(known.size),
            past=_known(values.base),
            new=_known(values.head),
            settled=settled,
        )

    def _verdict(self, values: PairedValues, effect: Effect) -> tuple[Verdict, str, bool]:
        """Return the verdict on a value with noise, its reason, and whether it needs no more rounds."""
        size = _relative(values, effect.size)
        detectable = abs(_relative(values, effect.detectable))
        changed = self._changed.get(values.key)
        if changed is not None:
            if abs(size) < self.rules.minimum_effect:
                return Verdict.UNCHANGED, "a change, but smaller than the minimum effect", True
            return changed, _reason_of_change(values), True
        find = max(self.rules.find, self.rules.minimum_effect)
        # A change of that size must not be left in the wide interval: else it would only have been missed so far.
        seen = detectable <= find and abs(_relative(values, effect.widest)) < find
        if detectable > self.rules.largest_effect and not math.isfinite(detectable):
            return Verdict.NO_DATA, _too_few(self.rules), False
        unstable = detectable > self.rules.largest_effect
        if abs(size) >= detectable:
            reason = "the rounds do not agree on a change"
        elif unstable:
            reason = f"too noisy: only changes from {percent_text(detectable)} on are reliably detectable"
        else:
            reason = f"a change of {percent_text(detectable)} would have been found"
        return (Verdict.UNSTABLE, reason, False) if unstable else (Verdict.UNCHANGED, reason, seen)

    def _changed_exactly(self, values: PairedValues, effect: Effect) -> tuple[Verdict, str, bool]:
        if abs(_relative(values, effect.size)) < self.rules.minimum_effect:
            return Verdict.UNCHANGED, "an exact value; its change is smaller than the minimum effect", True
        worse = math.isnan(values.upwards) or effect.size * values.upwards > 0
        reason = "an exact value, different in every round"
        if values.better is Better.UNKNOWN:
            reason += "; the better direction is unknown, so a change counts as a regression"
        return (Verdict.REGRESSED if worse else Verdict.IMPROVED), reason, True


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
        return math.expm1(difference) if difference < 700 else math.inf
    centre = abs(values.centre())
    if not difference:
        return 0.0
    return difference / centre if centre else math.nan


def _level(values: PairedValues, size: float) -> float:
    centre = values.centre()
    return centre * math.exp(size) if values.logarithmic else centre + size
