"""Conclusions: when a search ends, and what it states then."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.belief import believe
from knickpoint.bisect.search.problem import Budget, Conclusion, ConclusionKind, Observation, Problem
from knickpoint.bisect.search.standing import Standing
from knickpoint.bisect.search.values import best_fit
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text, percent_text

_LEAST_COMPARED: Final = 2
"""An end needs so many values on one device before a difference of the ends is stated."""

_STANDARD_ERRORS: Final = 2.0
"""Ends that are closer together than this do not differ."""


def conclude(problem: Problem, observations: Sequence[Observation], budget: Budget) -> Conclusion | None:
    """Return the conclusion of the search, or None while it goes on.

    A culprit is stated with its probability, once it and its parent are measured on one device; candidates that cannot
    be separated are stated as a range; two changes as several. Where the budget ends first, the candidates that are
    left.
    """
    return conclude_of(Standing(problem, observations), budget)


def conclude_of(standing: Standing, budget: Budget) -> Conclusion | None:
    """Conclude as :func:`conclude` does, from a standing."""
    posterior = standing.belief.posterior
    if standing.not_reproducible:
        return Conclusion(
            ConclusionKind.NOT_REPRODUCIBLE, (), standing.without_change, posterior, _open_without_change(standing)
        )
    if standing.verified:
        return _found(standing)
    if standing.exact and _all_measured(standing):
        left, probability = _left(standing)
        return Conclusion(ConclusionKind.RANGE, left, probability, posterior, "the answers contradict each other")
    if _spent(budget):
        left, probability = _left(standing)
        reason = "; ".join(filter(None, ("the budget ended", excluded_text(standing))))
        return Conclusion(ConclusionKind.GAVE_UP, left, probability, posterior, reason)
    return None


def _found(standing: Standing) -> Conclusion:
    posterior = standing.belief.posterior
    groups = [standing.candidates_of(number) for number in standing.culprits]
    probability = standing.stated_probability
    places = tuple(place for group in groups for place in group)
    if len(groups) > 1:
        unclear = "" if all(len(group) == 1 for group in groups) else "some of the commits cannot be measured"
        return Conclusion(ConclusionKind.SEVERAL, places, min(probability, posterior.several), posterior, unclear)
    if len(places) == 1 and places[0] not in standing.problem.skipped:
        second = (
            f"a second change has the probability {figure_text(posterior.several, '.0%')}"
            if posterior.several > 0.1
            else ""
        )
        second = second or _contradiction(standing, places[0])
        return Conclusion(ConclusionKind.CULPRIT, places, probability, posterior, second)
    return Conclusion(ConclusionKind.RANGE, places, probability, posterior, "commits between them cannot be measured")


def _contradiction(standing: Standing, culprit: int) -> str:
    """Name answers that point to another culprit: a place before it that mostly fails, or a later one that passes."""
    balance: Counter[int] = Counter()
    for observation in standing.observations:
        if observation.passed is not None:
            balance[observation.place] += 1 if observation.passed == (observation.place >= culprit) else -1
    least = 1 if standing.exact else 2
    places = [place for place, surplus in sorted(balance.items()) if surplus >= least]
    if not places:
        return ""
    word = "fails" if places[0] < culprit else "passes"
    return f"another commit of the range may have caused failures, too: place {places[0]} {word}"


def _open_without_change(standing: Standing) -> str:
    """Compare the ends in words, with the excluded size of a change and the commits that were not measured.

    Changes there may cancel each other.
    """
    return "; ".join(filter(None, (_ends_compared(standing), excluded_text(standing), _open_between(standing))))


def excluded_text(standing: Standing) -> str:
    """Say above which size a change is excluded, relative to the level before it.

    "" for answers, and before the first value.
    """
    if standing.problem.error is not None or not standing.observations:
        return ""
    size = standing.excluded_size
    return (
        f"a change above {percent_text(size)} is excluded" if math.isfinite(size) else "no size of a change is excluded"
    )


def _ends_compared(standing: Standing) -> str:
    """Compare the ends in words: by their values if a movement against the one in question explains all values best."""
    belief, problem = standing.belief, standing.problem
    if belief.reversed > belief.none_before + belief.none_after:
        return _ends_reversed(standing)
    if problem.least:
        return f"the ends do not differ by {percent_text(problem.least)} when they are measured again"
    if belief.negligible > belief.posterior.none:
        known = problem.before.count and problem.after.count
        return f"the ends differ by less than {'half of what the history shows' if known else 'the noise of one probe'}"
    return "the ends do not differ when they are measured again"


def _ends_reversed(standing: Standing) -> str:
    """Say by how much the bad end moved against the change, or that its values do not show a move."""
    problem = standing.problem
    if problem.error is not None:
        return "the ends differ in the other direction"
    good, bad = _values_of_ends(standing)
    if min(len(good), len(bad)) < _LEAST_COMPARED:
        return "the ends do not show the change when they are measured again"
    movement = float(bad.mean() - good.mean())
    error = float(np.sqrt(good.var(ddof=1) / len(good) + bad.var(ddof=1) / len(bad)))
    if abs(movement) <= _STANDARD_ERRORS * error or movement * problem.movement >= 0:
        return "the ends do not differ when they are measured again"
    level = abs(float(good.mean()))
    size = percent_text(abs(movement) / level) if level else f"{abs(movement):.4g}"
    side, wanted = ("above", "lowers") if movement > 0 else ("below", "raises")
    return f"measured again, the bad end is {size} {side} the good end, and the change in question {wanted} the value"


def _values_of_ends(standing: Standing) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values of the good and of the bad end, of the device that has most of the end with fewer values."""
    ends = (0, standing.problem.candidates)
    by_device = [
        tuple(np.array([o.value for o in standing.observations if (o.device, o.place) == (name, end)]) for end in ends)
        for name in sorted(standing.measured_by_device)
    ]
    good, bad = max(by_device, key=lambda values: min(map(len, values)))
    return good, bad


def _open_between(standing: Standing) -> str:
    problem = standing.problem
    if problem.error is not None or problem.several <= 0:
        return ""
    commits = problem.candidates - 1
    measured = len({o.place for o in standing.observations if 0 < o.place < problem.candidates})
    if measured >= commits:
        return ""
    return f"{measured} of {counted(commits, 'commit')} between them measured; changes there may cancel each other"


def _all_measured(standing: Standing) -> bool:
    before = standing.change_at_or_before
    measured = {observation.place for observation in standing.observations} | set(standing.problem.skipped)
    open_places = np.flatnonzero((before > 0) & (before < 1))
    return bool(standing.observations) and all(int(place) in measured for place in open_places)


def _left(standing: Standing) -> tuple[tuple[int, ...], float]:
    """Return the fewest candidates that together reach the probability, or all that are possible.

    And what they reach.
    """
    marginal = standing.belief.posterior.marginal
    order = np.argsort(-marginal, kind="stable")
    reached = np.cumsum(marginal[order])
    count = int(np.searchsorted(reached, standing.problem.probability)) + 1
    chosen = [int(place) for place in order[:count] if marginal[place] > 0]
    return tuple(sorted(place + 1 for place in chosen)), float(min(reached[min(count, len(order)) - 1], 1.0))


def _spent(budget: Budget) -> bool:
    return (0 < budget.probes <= budget.spent_probes) or (0 < budget.seconds <= budget.spent_seconds)


# Explanations: the numbers behind a conclusion, for the command and the page.


_INTERVAL = 1.96
"""Half the width of an interval of 95 %, in standard deviations."""


@dataclass(frozen=True, slots=True)
class EstimatedLevel:
    """A level as estimated, and the interval that holds it with 95 %.

    It is in the unit of the values, or where probes pass or fail, the rate of failures.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The numbers behind a posterior.

    Attributes:
        before: the level of the good end.
        after: the level of the bad end; the same where "no change" explains the values best.
        noise: standard deviation of single values; nan where probes pass or fail.
        offsets: how much each device is above the others, in the unit of the values; sorted by name.
        weights: the weight of each observation, in the order given; near 0 is an outlier that counts as nothing.
        change: log Bayes factor (natural) of "a commit of the range made the change" against "none did".
        second: the same of two changes against one; -inf where two are excluded.
        reversed: probability that the ends differ in the other direction.
    """

    before: EstimatedLevel
    after: EstimatedLevel
    noise: float
    offsets: tuple[tuple[str, float], ...]
    weights: tuple[float, ...]
    change: float
    second: float
    reversed: float


def explain(problem: Problem, observations: Sequence[Observation]) -> Explanation | None:
    """Return the numbers behind the posterior of these observations, or None without observations."""
    if not observations:
        return None
    belief = believe(problem, observations)
    if problem.error is None:
        before, after, noise, offsets, weights = _of_values(problem, observations)
    else:
        before, after = _rates(problem, observations)
        noise, offsets, weights = float("nan"), (), (1.0,) * len(observations)
    return Explanation(before, after, noise, offsets, weights, belief.change, belief.second, belief.reversed)


def _of_values(
    problem: Problem, observations: Sequence[Observation]
) -> tuple[EstimatedLevel, EstimatedLevel, float, tuple[tuple[str, float], ...], tuple[float, ...]]:
    values, found, weights = best_fit(problem, observations)
    unit, centre = values.scale.unit, values.scale.centre
    levels = [
        EstimatedLevel(*(float(centre + unit * (mean + side * deviation)) for side in (0.0, -_INTERVAL, _INTERVAL)))
        for mean, deviation in zip(found.levels, found.deviations, strict=True)
    ]
    offsets = zip(values.devices, (float(offset) * unit for offset in found.offsets), strict=True)
    in_order = tuple(float(weight) for weight in weights[np.argsort(values.order)])
    return levels[0], levels[-1], found.noise * unit, tuple(offsets), in_order


def _rates(problem: Problem, observations: Sequence[Observation]) -> tuple[EstimatedLevel, EstimatedLevel]:
    """Return the rates of failure on both sides of the likeliest candidate (Agresti and Coull's interval)."""
    culprit = int(np.argmax(believe(problem, observations).posterior.marginal)) + 1
    rates = []
    for after in (False, True):
        answers = [not o.passed for o in observations if (o.place >= culprit) == after]
        count = len(answers) + _INTERVAL**2
        rate = (sum(answers) + _INTERVAL**2 / 2) / count
        half = _INTERVAL * (rate * (1 - rate) / count) ** 0.5
        mean = sum(answers) / len(answers) if answers else float(after)
        rates.append(EstimatedLevel(mean, max(rate - half, 0.0), min(rate + half, 1.0)))
    return rates[0], rates[1]
