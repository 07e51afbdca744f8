"""Where a search stands: its belief, the commits that no measurement separates, and what is verified."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.belief import Belief, Gaps, believe, believe_in_one_change, inseparable_before, prior_of
from knickpoint.bisect.search.problem import Level, Observation, Problem

_CHANGE_AGAINST_NONE: Final = math.log(100.0)
"""Evidence of a change that a culprit needs, whatever the prior: without a change, it comes up once in a hundred
ranges.
"""

_BETWEEN: Final = 3
"""So many places between ends that agree are measured at least, since two changes may cancel each other."""


_VALUES: Final = 2
"""Values that a culprit and its parent need on one device."""

_SIZES: Final = tuple(float(f"{10 ** (number / 20):.2g}") for number in range(-80, 21))
"""Sizes of a change that an answer may exclude, from 0.01 % to ten times the level.

Each is about an eighth larger than the last.
"""


@dataclass(frozen=True)
class Standing:
    """A problem with its observations, and what follows from them."""

    problem: Problem
    observations: Sequence[Observation]

    @cached_property
    def belief(self) -> Belief:
        """The posterior of commits, none and several."""
        return believe(self.problem, self.observations)

    @property
    def exact(self) -> bool:
        """Whether answers are never wrong, so that no place is measured twice."""
        return self.problem.error == 0 and not self.problem.unknown_error

    @property
    def ends_are_certain(self) -> bool:
        """Whether the change is known to be in the range."""
        return self.problem.none <= 0

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The class of each candidate; candidates of one class cannot be separated by measuring."""
        return inseparable_before(self.problem)

    @cached_property
    def class_probability(self) -> NDArray[np.float64]:
        """The probability that a candidate of each class is a culprit."""
        return np.asarray(np.bincount(self.classes, self.belief.posterior.marginal), dtype=np.float64)

    def candidates_of(self, number: int) -> tuple[int, ...]:
        """Return the candidates of a class, ascending."""
        first, last = np.searchsorted(self.classes, [number, number + 1])
        return tuple(range(int(first) + 1, int(last) + 1))

    @cached_property
    def culprits(self) -> tuple[int, ...]:
        """The classes that are sure enough to be stated; ascending, and not yet verified."""
        sure = self.change_is_sure and all(map(self._is_sure, self._alone))
        return self.likely_culprits if sure and self.stated_probability >= self.problem.probability else ()

    @property
    def change_is_sure(self) -> bool:
        """Whether the values exclude "none"."""
        return self._is_sure(self.belief)

    def _is_sure(self, belief: Belief) -> bool:
        return self.ends_are_certain or belief.change >= _CHANGE_AGAINST_NONE

    def beside(self, number: int) -> tuple[float, float]:
        """Return the probabilities that the change was before a likely culprit, or is after it.

        "none" counts on both sides.
        """
        belief = self.belief
        alone = np.bincount(self.classes, belief.posterior.single)
        return float(alone[:number].sum()) + belief.none_after, float(alone[number + 1 :].sum()) + belief.none_before

    @cached_property
    def _alone(self) -> tuple[Belief, ...]:
        """The belief in each of several likely culprits, by the values up to the others, and without a history."""
        numbers = self.likely_culprits
        if self.problem.error is not None or len(numbers) < 2:
            return ()
        groups = [self.candidates_of(number) for number in numbers]
        begins = [0, *(group[-1] for group in groups[:-1])]
        ends = [*(group[0] for group in groups[1:]), self.problem.candidates + 1]
        return tuple(self._between(begin, end) for begin, end in zip(begins, ends, strict=True))

    def _between(self, begin: int, end: int) -> Belief:
        """Believe in a change at the candidates after ``begin`` and before ``end``, by the values from ``begin`` on."""
        prior = prior_of(self.problem).copy()
        prior[:begin] = prior[end - 1 :] = 0.0
        problem = replace(self.problem, prior=prior, before=Level(), after=Level(), movement=0)
        return believe_in_one_change(problem, [o for o in self.observations if begin <= o.place < end])

    @cached_property
    def stated_probability(self) -> float:
        """The least probability of the likely culprits."""
        numbers = list(self.likely_culprits)
        least = min((float(self.class_probability[number]) for number in numbers), default=0.0)
        for number, belief in zip(numbers, self._alone, strict=False):
            least = min(least, float(belief.posterior.marginal[self.classes == number].sum()))
        return least

    @cached_property
    def likely_culprits(self) -> tuple[int, ...]:
        """The classes that have the probability, ascending, also while the evidence against "none" is missing."""
        sure = np.flatnonzero(self.class_probability >= self.problem.probability)
        expected = 2 if self.belief.posterior.several > 0.5 else 1
        return tuple(int(number) for number in sure) if len(sure) >= expected else ()

    @property
    def without_change(self) -> float:
        """The probability that no commit made the change, or that it is too small to be the one in question."""
        none = self.belief.posterior.none
        return none if self.ends_are_certain else none + self.belief.negligible

    @property
    def not_reproducible(self) -> bool:
        """Whether it is sure enough that no commit of the range made the change, and enough places were measured.

        Changes of values that cancel each other are seen only between the ends. Answers of both ends say which of them
        contradicts the range. The size that is asked for has to be excluded even if there is a change.
        """
        if self.without_change < self.problem.probability:
            return False
        if self.problem.error is not None:
            return not self.unseen_ends
        return not self.unseen_between and (not self.problem.least or self.excludes(self.problem.least))

    def excludes(self, size: float) -> bool:
        """Whether the values exclude a change of ``size``, relative to the level before it."""
        belief = self.belief
        if size != self.problem.least:
            belief = believe_in_one_change(replace(self.problem, least=size), self.observations)
        change = float(belief.posterior.single.sum())
        return belief.negligible >= self.problem.probability * change

    @cached_property
    def excluded_size(self) -> float:
        """The least size of a change that the values exclude, relative to the level before it.

        Inf where they exclude none.
        """
        if self.problem.error is not None or not self.observations:
            return math.inf
        first = bisect_left(_SIZES, 1, key=self.excludes)
        return _SIZES[first] if first < len(_SIZES) else math.inf

    @cached_property
    def unseen_ends(self) -> set[int]:
        """The ends that can be measured and were not."""
        return {0, self.problem.candidates} - self.problem.skipped - {o.place for o in self.observations}

    @cached_property
    def unseen_between(self) -> int:
        """How many more places between the ends are to be measured before "no change" is stated; 0 for answers."""
        problem = self.problem
        if problem.error is not None or problem.several <= 0:
            return 0
        skipped = sum(0 < place < problem.candidates for place in problem.skipped)
        measured = {o.place for o in self.observations if 0 < o.place < problem.candidates} - problem.skipped
        return max(min(_BETWEEN, problem.candidates - 1 - skipped) - len(measured), 0)

    @property
    def verified(self) -> bool:
        """Whether each culprit was measured beside its parent on one device, values twice on each side."""
        return bool(self.culprits) and not any(self.unverified(number) for number in self.culprits)

    def unverified(self, number: int) -> bool:
        """Return True if no device has measured a culprit and its parent as often as it takes."""
        devices = (*self.measured_by_device, "")
        return all(self.lacking(number, device) for device in devices)

    def lacking(self, number: int, device: str) -> tuple[int, ...]:
        """Return the places that a device has to measure, the culprit, its parent or both, the next one first.

        Values need a second one on each side, and one of the pairs beside each other: a burst on one probe, or a
        machine that is slower for a while, is as large as a change.
        """
        sides = self.sides_of(number)
        if self.problem.error is not None:
            return tuple(place for place in sides if place not in self.measured_by_device.get("", ()))
        made = self.measured_by_device.get(device, [])
        few = [place for place in sides if made.count(place) < _VALUES]
        beside = len(sides) < 2 or any(set(pair) == set(sides) for pair in pairwise(made))
        wanted = few or ([] if beside else sides)
        return in_turn(wanted, made)

    def sides_of(self, number: int) -> tuple[int, ...]:
        """Return the places beside a culprit that can be measured and are not certain: its parent's and its own."""
        candidates = self.candidates_of(number)
        return tuple(place for place in (candidates[0] - 1, candidates[-1]) if self._can_verify(place))

    def _can_verify(self, place: int) -> bool:
        is_end = place in {0, self.problem.candidates}
        return place not in self.problem.skipped and not (is_end and self.ends_are_certain)

    @cached_property
    def measured_by_device(self) -> dict[str, list[int]]:
        """The places that each device has measured, in order.

        Answers do not depend on the device, so that all count as one.
        """
        measured: dict[str, list[int]] = {}
        for observation in self.observations:
            device = observation.device if self.problem.error is None else ""
            measured.setdefault(device, []).append(observation.place)
        return measured

    @cached_property
    def change_at_or_before(self) -> NDArray[np.float64]:
        """The probability that the change is at or before each place; shape (candidates + 1,).

        "No change" counts as one before the good end where all is at the level of the bad end, and as one after the bad
        end where all is at the level of the good end: that is what measuring a place says about it.
        """
        belief = self.belief
        marginal = belief.posterior.marginal
        changes = marginal * (1 - belief.posterior.none) / (marginal.sum() or 1.0)
        return np.concatenate([[0.0], np.cumsum(changes)]) + belief.none_after + belief.reversed / 2

    @cached_property
    def doubt(self) -> NDArray[np.float64]:
        """How open the answer of a probe that passes or fails is: the lesser of both probabilities.

        Shape (candidates + 1,).

        It is half of what is unknown in the answer, so that a place with little of it says little, however often it is
        measured. Two changes count as one that the second takes back.
        """
        belief = self.belief
        alone = np.concatenate([[0.0], np.cumsum(belief.posterior.single)])
        failing = alone + belief.between + belief.none_after + belief.reversed / 2
        return np.minimum(failing, 1 - failing)

    def gain(self, device: str, places: Sequence[int]) -> NDArray[np.float64]:
        """Return about how much a value of each of p places would say about the change, in nats; shape (p,).

        A value separates hypotheses that expect different values: the gain is that of normal values, from the
        variance of what they expect. With known levels that is most at the median of the commits; where a level is not
        known, commits expect different levels, and an end says more.
        """
        belief = self.belief
        expected = belief.predictions
        if expected is None:
            return np.zeros(len(places))
        number = expected.devices.index(device) if device in expected.devices else 0
        before, after = expected.before[:, number], expected.after[:, number]
        index, share = self._share_changed[0][list(places)], self._share_changed[1][list(places)]
        none = belief.hypotheses[-2:] @ np.stack([before[-2:], before[-2:] ** 2, expected.variance[-2:, 0]], axis=1)
        moments = none + np.stack(
            [
                self._at_places(index, share, low, high)
                for low, high in ((before, after), (before**2, after**2), tuple(expected.variance.T))
            ],
            axis=1,
        )
        return np.asarray(np.log1p(np.maximum(moments[:, 1] - moments[:, 0] ** 2, 0.0) / moments[:, 2]) / 2)

    @cached_property
    def _share_changed(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The gap that each place is in or ends, and the share of its candidates at or before the place."""
        measured = np.unique([o.place for o in self.observations])
        gaps = Gaps(measured, prior_of(self.problem))
        below = np.cumsum(gaps.prior) - np.concatenate([[0.0], np.cumsum(gaps.mass)])[gaps.index]
        mass = gaps.mass[gaps.index]
        share = np.divide(below, mass, out=np.zeros_like(below), where=mass > 0)
        return np.concatenate([gaps.index[:1], gaps.index]), np.concatenate([[0.0], share])

    def _at_places(
        self,
        index: NDArray[np.int64],
        changed: NDArray[np.float64],
        before: NDArray[np.float64],
        after: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return the mean over single changes of a number that is ``before`` or ``after`` at each place."""
        weights = self.belief.hypotheses[:-2]
        lower = np.concatenate([[0.0], np.cumsum(weights * after[:-2])])[index]
        upper = np.concatenate([np.cumsum((weights * before[:-2])[::-1])[::-1], [0.0]])[index + 1]
        inside = weights[index] * (changed * after[index] + (1 - changed) * before[index])
        return np.asarray(lower + inside + upper)

    @cached_property
    def raised(self) -> NDArray[np.float64]:
        """The share, up to each place, of the commits that may lie between two changes; shape (candidates + 1,)."""
        places = np.arange(self.problem.candidates + 1)
        measured = np.unique([0, self.problem.candidates, *(o.place for o in self.observations)])
        right = np.clip(np.searchsorted(measured, places, side="right"), 1, len(measured) - 1)
        width = (places - measured[right - 1]) * (measured[right] - places)
        total = np.cumsum(width, dtype=np.float64)
        return np.asarray((total - width / 2) / (total[-1] or 1.0), dtype=np.float64)

    def count_at(self, place: int, probes: Iterable[int] = ()) -> int:
        """Return the number of observations, and of the given probes, at a place."""
        return sum(o.place == place for o in self.observations) + sum(probe == place for probe in probes)


def in_turn(places: Sequence[int], made: Sequence[int]) -> tuple[int, ...]:
    """Return places in the order in which a device measures them next, after the places that it has measured."""
    return tuple(sorted(places, key=lambda place: (place in made[-1:], made.count(place), place)))
