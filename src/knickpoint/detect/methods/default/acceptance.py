"""The bound of one series: what the rate of false alarms needs, and what the series itself adds.

The rate was measured on some repositories. A series adds to the bound where it is shorter, burstier or more serially
dependent than theirs, and where its search rejects more near misses than usual. A short series, whose own estimate says
little, adds what autocorrelation may explain of its weakest step. What it adds never lowers the bound, so a smaller
rate still finds no more.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import safe_unit
from knickpoint.detect.methods.default.model import default_bound
from knickpoint.model.distribution import MAD
from knickpoint.model.step import Check
from knickpoint.native.forest import Forest
from knickpoint.native.segmentation import Segmentation, segment

# Weigh a step in a short series against noise whose neighbours resemble each other, however strong that resemblance is.
#
# A few dozen values cannot tell an autocorrelation of 0.5 from a step: an estimate from them is 0.2 in the median. So
# it is not estimated. Both explanations are weighed over all autocorrelations, each as likely as it is across
# repositories: the Bayes factor of "one step, and noise of any autocorrelation" against "noise of any autocorrelation".


PRIOR: Final = ((0.0, 0.6), (0.1, 0.15), (0.2, 0.02), (0.3, 0.06), (0.4, 0.16), (0.9, 0.01))
"""Autocorrelations at lag 1, and how likely each is: what ``python benchmarks/dependence_prior.py`` prints, rounded."""

_USUAL_STEP: Final = 3.0
"""Standard deviation of the sizes of steps, in standard deviations of the noise."""


_INDEPENDENT: Final = 0
"""Place of independent noise in :data:`PRIOR`."""

_PHI: Final = np.array([phi for phi, _ in PRIOR])
_LOG_WEIGHT: Final = np.log([weight for _, weight in PRIOR])

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The log Bayes factor of a step ``over_all`` autocorrelations, and of the same step in ``independent`` noise."""

    over_all: float
    independent: float


def evidence_of_step(values: Floats, place: int) -> Evidence:
    """Weigh a step before ``place`` of ``values`` (1-D, finite) against noise without it.

    The level is flat, the scale has the prior of Jeffreys, and the size of the step is normal with a few standard
    deviations of the noise. Infinite where the values lie exactly on both levels.
    """
    count = values.size
    scaled = values / safe_unit(values)
    level = np.full(count, _median(scaled[:place]))
    level[place:] = _median(scaled[place:])
    around = scaled - level
    scale = MAD * _median(np.abs(around))
    if not scale > 0:
        return Evidence(math.inf, math.inf)
    series = level + np.clip(around, -_MOST * scale, _MOST * scale)
    series -= series.mean()
    series /= math.sqrt(series @ series / count)

    # Products of the innovations of the level, of the step and of the values, one for each autocorrelation.
    free = 1 - np.square(_PHI)
    flat, later = np.ones(count), np.zeros(count)
    later[place:] = 1.0
    of_flat, between = _innovations(flat, flat), _innovations(flat, later)
    of_step = _innovations(later, later) + free / _USUAL_STEP**2
    along_flat, along_step = _innovations(flat, series), _innovations(later, series)
    squares, area = _innovations(series, series), of_flat * of_step - np.square(between)
    explained = (
        of_step * np.square(along_flat) - 2 * between * along_flat * along_step + of_flat * np.square(along_step)
    )
    left, left_by_step = squares - np.square(along_flat) / of_flat, squares - explained / area

    freedom = (count - 1) / 2
    without = -0.5 * np.log(of_flat) - freedom * np.log(left)
    with_step = 0.5 * np.log(free / _USUAL_STEP**2) - 0.5 * np.log(area) - freedom * np.log(left_by_step)
    common = 0.5 * np.log(free) + _LOG_WEIGHT
    over_all = np.logaddexp.reduce(with_step + common) - np.logaddexp.reduce(without + common)
    return Evidence(float(over_all), float(with_step[_INDEPENDENT] - without[_INDEPENDENT]))


def _median(values: Floats) -> float:
    """Return the median of a few values."""
    ordered, middle = np.sort(values), values.size // 2
    return float(0.5 * (ordered[middle] + ordered[-1 - middle]))


def _innovations(one: Floats, other: Floats) -> Floats:
    """Return the product of the AR(1) residuals of two series for each autocorrelation; the first is in their unit."""
    all_values = one @ other
    neighbours = one[1:] @ other[:-1] + one[:-1] @ other[1:]
    return np.asarray(all_values - _PHI * neighbours + np.square(_PHI) * (one[1:-1] @ other[1:-1]))


LENGTHS: Final = (
    (10, 0.25),
    (12, 0.3),
    (20, 0.5),
    (24, 0.45),
    (32, 0.4),
    (36, 0.25),
    (40, 0.1),
    (44, 0.25),
    (48, 0.05),
    (52, 0.0),
    (300, 0.0),
    (301, 0.5),
    (1000, 0.5),
    (5000, 0.1),
)
"""Log-odds that series of so many values add; between two lengths in proportion to the logarithm.

Calibrated on generated independent noise: ``python benchmarks/accuracy.py rates`` prints the rates that result. The
trees split by length, and jump where the real series that they learnt from begin (60 values) and end (300). The jump at
300 is taken back, that at 60 only for the newest values (:data:`NEWEST_LENGTHS`): it belongs to what finds changes in
real series of this length, too.
"""

NEWEST_LENGTHS: Final = (*LENGTHS[:-4], (59, 0.0), (60, 0.4), (62, 0.15), (80, 0.15), (88, 0.0), *LENGTHS[-4:])
"""As :data:`LENGTHS`, for the newest values, which are looked at again with every commit."""

_DEPENDENCE: Final = 1.0
"""Log-odds that an autocorrelation of 1 adds. The trees count most of it, but not all in long series."""

_BURSTS: Final = 0.3
"""Log-odds that are added for each factor of e between the mean square of the noise and that of normal noise."""

_NEAR: Final = -1.92
"""Log-odds of a change from which a rejected candidate is a near miss: the bound at :data:`_USUAL`."""

_USUAL: Final = 3.2
"""Near misses per 1,000 values of unchanged series, from the calibration of the forest."""

_PRIOR: Final = 1.0
"""Near misses added to both counts, so that one in a short series changes little."""

_SHORT: Final = 60
"""Values from which on the autocorrelation of a series is estimated well enough, and the trees have learnt from real
series.
"""

_DOUBT: Final = 5.0
"""Logarithm of the Bayes factor from which on a step in a short series needs no more than others; the most it needs."""

_EXPLAINED: Final = 160
"""Values up to which autocorrelation may explain a step."""

_LEFT: Final = 6.0
"""Logarithm of the Bayes factor from which on a step needs no more, whatever autocorrelation explains of it."""

_SPARE: Final = 0.5
"""Logarithm of the Bayes factor that autocorrelation takes from every step."""

_MORE: Final = 1e-9
"""What a bound lies above a score that it leaves out."""

_RECENT: Final = 24
"""Newest values, among which only the length counts for a change: a new level still looks like noise.

What is older needs as much as before they came: the noise is that of the values before them.
"""

_MOST: Final = 3.0
"""The most that a series adds: a change that is certain without the trees has 10 more, and stays certain."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The log-odds that a candidate of one series needs, and what they are the sum of.

    ``promised`` is for the rate of false alarms; ``length``, ``dependence``, ``bursts`` and ``past`` are added.
    ``past`` comes from ``near`` near misses where ``usual`` are usual. Their sum adds at most 3. ``doubt`` comes on top
    of it, in short series. For candidates from the measured value ``relieved`` on ``newest`` counts instead.
    """

    promised: float
    length: float = 0.0
    dependence: float = 0.0
    bursts: float = 0.0
    past: float = 0.0
    near: int = 0
    usual: float = 0.0
    doubt: float = 0.0
    relieved: int = sys.maxsize
    newest: Acceptance | None = None

    def at(self, index: int) -> Acceptance:
        """Return the acceptance of a candidate at the measured value ``index``."""
        return self if self.newest is None or index < self.relieved else self.newest

    @property
    def bound(self) -> float:
        """The log-odds that a candidate needs."""
        return self.promised + min(self.length + self.dependence + self.bursts + self.past, _MOST) + self.doubt

    @property
    def checks(self) -> tuple[Check, ...]:
        """The parts of the bound, as evidence."""
        return _bound_checks(self)


@lru_cache(maxsize=16)  # all candidates of a series share one or two
def _bound_checks(needed: Acceptance) -> tuple[Check, ...]:
    return (
        Check("bound for the rate of false alarms", needed.promised),
        Check("length of the series: adds to the bound", needed.length),
        Check("autocorrelation: adds to the bound", needed.dependence),
        Check("bursts of the noise: add to the bound", needed.bursts),
        Check("near misses of the series", float(needed.near)),
        Check("near misses that are usual", needed.usual),
        Check("near misses: add to the bound", needed.past),
        Check("doubt of a short series: adds to the bound", needed.doubt),
    )


@lru_cache(maxsize=1024)
def acceptance_by_length(size: int, false_alarms: float, *, newest: bool = False) -> Acceptance:
    """Return the acceptance of a series of ``size`` values at a rate of false alarms before its noise is known.

    That of the ``newest`` values is as high or higher.
    """
    lengths, added = zip(*(NEWEST_LENGTHS if newest else LENGTHS), strict=True)
    length = float(np.interp(math.log(max(size, 1)), np.log(lengths), added))
    return Acceptance(default_bound(false_alarms), length)


def search(
    values: NDArray[np.float64], forest: Forest, false_alarms: float, begun: Segmentation | None = None
) -> tuple[Segmentation, Acceptance]:
    """Search ``values`` (finite, contiguous) for changes at a rate of false alarms, with the bound for their noise.

    The search prunes from below, so a higher bound continues on the same path. ``begun`` is the search with
    :func:`acceptance_by_length`, where there has been one.
    """
    length = acceptance_by_length(values.size, false_alarms)
    found = segment(values, forest, length.bound) if begun is None else begun
    old = values.size - _RECENT
    if not _reaches(found, old):
        return _without_doubtful(values, forest, *_by_noise(values, forest, found, length))
    if values.size < _SHORT:
        return _without_doubtful(values, forest, found, length)
    newest = acceptance_by_length(values.size, false_alarms, newest=True)
    lenient, newest = _without_doubtful(values, forest, found, newest)
    if _reaches(lenient, old):
        before = np.ascontiguousarray(values[:old])
        _, acceptance = _by_noise(before, forest, segment(before, forest, length.bound), length)
    else:
        found, acceptance = _by_noise(values, forest, found, length)
    strict, acceptance = _without_doubtful(values, forest, found, acceptance)
    return _joined(strict, lenient, old), replace(acceptance, relieved=old, newest=newest)


def _reaches(found: Segmentation, first: int) -> bool:
    """Return True if a candidate from the value ``first`` on is kept; those that are kept come last, in their order."""
    return bool(_keeps_any(found) and found.indices[-1] >= first)


def _keeps_any(found: Segmentation) -> bool:
    """Return True if a candidate is kept."""
    return bool(found.rounds.size and found.rounds[-1] < 0)


def search_again(values: NDArray[np.float64], forest: Forest, acceptance: Acceptance) -> Segmentation:
    """Search ``values`` (finite, contiguous) with the bounds of an earlier search."""
    newest = acceptance.at(values.size).bound
    found = segment(values, forest, min(acceptance.bound, newest))
    strict, lenient = (_continue(values, forest, found, bound) for bound in (acceptance.bound, newest))
    return _joined(strict, lenient, acceptance.relieved)


def _by_noise(
    values: NDArray[np.float64], forest: Forest, found: Segmentation, length: Acceptance
) -> tuple[Segmentation, Acceptance]:
    """Return ``length`` with what the noise of ``values`` adds, in which the bound by length ``found`` changes.

    The search comes with it, gone on as far as near misses are counted.
    """
    _, phi, square, *_ = found.facts
    noise = replace(length, dependence=_DEPENDENCE * phi, bursts=_BURSTS * max(0.0, math.log(max(square, 1.0))))
    found = _continue(values, forest, found, noise.bound)
    near, usual = _near_misses(found), _USUAL * values.size / 1000
    past = max(0.0, math.log((near + _PRIOR) / (usual + _PRIOR)))
    return found, replace(noise, past=past, near=near, usual=usual)


def _joined(strict: Segmentation, lenient: Segmentation, first: int) -> Segmentation:
    """Return the ``strict`` search with the candidates from the value ``first`` on of the ``lenient`` one."""
    if strict is lenient:
        return strict
    old, new = strict.indices < first, lenient.indices >= first
    order = np.argsort(np.concatenate([strict.rounds[old] < 0, lenient.rounds[new] < 0]), kind="stable")

    def merged(of_strict: NDArray[Any], of_lenient: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([of_strict[old], of_lenient[new]])[order]

    return Segmentation(
        rounds=merged(strict.rounds, lenient.rounds),
        indices=merged(strict.indices, lenient.indices),
        scores=merged(strict.scores, lenient.scores),
        features=merged(strict.features, lenient.features),
        proofs=merged(strict.proofs, lenient.proofs),
        facts=lenient.facts,
    )


def _without_doubtful(
    values: NDArray[np.float64], forest: Forest, begun: Segmentation, acceptance: Acceptance
) -> tuple[Segmentation, Acceptance]:
    """Return the search ``begun`` without weak steps of a short series that autocorrelation may explain.

    The bound used comes with it. Without the weakest step the next one has longer levels.
    """
    needed = acceptance.bound
    found = _continue(values, forest, begun, needed)
    while values.size < _EXPLAINED and _keeps_any(found):
        kept = np.flatnonzero(found.rounds < 0)
        weakest = kept[np.argmin(found.scores[kept])]
        score = float(found.scores[weakest])
        if score >= needed + _DOUBT:
            break
        places = np.sort(found.indices[kept])
        before, after = places[places < found.indices[weakest]], places[places > found.indices[weakest]]
        first, stop = int(before.max(initial=0)), int(after.min(initial=values.size))
        evidence = evidence_of_step(values[first:stop], int(found.indices[weakest]) - first)
        if score >= needed + _doubt(evidence, short=values.size < _SHORT):
            break
        acceptance = replace(acceptance, doubt=score - needed + _MORE)
        found = segment(values, forest, acceptance.bound, begun=found)
    return found, acceptance


def _doubt(evidence: Evidence, *, short: bool) -> float:
    """Return the log-odds that a step needs on top: what autocorrelation explains of its evidence.

    In a ``short`` series it needs what it lacks as well.
    """
    if math.isinf(evidence.over_all):
        return 0.0
    explained = evidence.independent - evidence.over_all - _SPARE
    doubt = min(explained, _LEFT - evidence.over_all)
    return min(max(doubt, _DOUBT - evidence.over_all if short else 0.0, 0.0), _DOUBT)


def _continue(values: NDArray[np.float64], forest: Forest, found: Segmentation, bound: float) -> Segmentation:
    """Return ``found`` pruned to a higher bound."""
    if not _keeps_any(found) or found.scores[found.rounds < 0].min() >= bound:
        return found
    return segment(values, forest, bound, begun=found)


def _near_misses(found: Segmentation) -> int:
    """Count the rejected candidates that a bound of :data:`_NEAR` would have kept."""
    reached = found.scores[found.rounds >= 0] >= _NEAR
    return int(reached.size - reached.argmax()) if reached.any() else 0
