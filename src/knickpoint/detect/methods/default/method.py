"""The default method: robust segmentation, and a forest of decision trees that judges each candidate.

Candidates come from two cheapest piecewise constant paths through the values, one stiff and one loose, with a loss that
is bounded so that no outlier is worth a change. Each candidate is described by features that outliers, changing noise
and autocorrelation do not distort. Decision trees, learnt on real noise with known changes, turn the features into the
log-odds that this is a change of level. Changes that are certain without the trees have a head start that no tree can
undo. The weakest candidate is dropped and its neighbours are described again, until all that are left reach the bound.

:mod:`knickpoint.native.segmentation` does the search, ``model`` has the trees and the bounds, and ``acceptance`` the
bound of one series. The guide page ``docs/guide/detect/default.md`` describes the method in full.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import MeasuredSeries, drop_missing
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.methods.default.acceptance import Acceptance, acceptance_by_length, search, search_again
from knickpoint.detect.methods.default.model import FALSE_ALARMS, TrainedModel, load_model
from knickpoint.detect.methods.default.past import FIRST, Reading, is_far_below, join_patterns, read_stretches
from knickpoint.detect.patterns.distribution import find_distribution_changes
from knickpoint.detect.patterns.drift.exact import recognise_exact
from knickpoint.detect.patterns.drift.noisy import may_rise_or_fall, recognise_drift
from knickpoint.detect.patterns.modes.recognition import find_clear_modes, find_modes, may_be_two_levels
from knickpoint.detect.patterns.pattern import Pattern, Recogniser, SearchedPlaces, Subject, candidates_after, recognise
from knickpoint.detect.patterns.spread import find_noise_changes
from knickpoint.detect.steps import build_steps, stable_regions
from knickpoint.model.errors import InputError
from knickpoint.model.step import LOCATION_INTERVAL, Candidate, Check, Detection, Step, with_late_evidence
from knickpoint.native.forest import take_parts
from knickpoint.native.segmentation import BARS, CERTAIN, Segmentation, segment_many
from knickpoint.native.segmentation.constants import SHORTEST

# The evidence of the default method: the score of a candidate, and what it is the sum of.


_NAMED_FEATURES: Final = 8
"""How many features a candidate names, the strongest ones; the others are summed up."""

_CERTAINTY: Final = 3
"""Place of what certainty adds to the log-odds among its checks."""


def _certainty_checks(proof: tuple[float, ...], *, accepted: bool) -> tuple[Check, ...]:
    """Return the checks that a change is certain whatever the trees say, with the reason and the error of its location.

    Where the trees alone accept a change, it needs no certainty, so its numbers have no bound.
    """
    jump, agreeing, chance, interval = proof
    reached = [bar for bar in BARS if jump >= bar[0] and chance <= bar[1]]
    least, most = reached[0] if reached else BARS[0]
    wide, rare = "jump of the medians / noise around it", "runs like it by chance per 1,000 values"
    unbounded = accepted and not reached
    return (
        Check(wide, jump) if unbounded else Check(wide, jump, ">=", least, jump >= least),
        Check("values of the shorter level that agree", agreeing),
        Check(rare, chance) if unbounded else Check(rare, chance, "<=", most, chance <= most),
        Check("certain by these: adds to the log-odds", CERTAIN if reached else 0.0),
        Check(LOCATION_INTERVAL, interval),
    )


def candidate_checks(
    model: TrainedModel, found: Segmentation, numbers: Sequence[int], acceptance: Acceptance
) -> Iterator[tuple[Check, ...]]:
    """Yield for each of the candidates ``numbers`` its score with its bound, and what adds up to both.

    These are certainty, the strongest features with their values, all other features together, and the start; then
    the parts of the bound.
    """
    bounds = [(needed.bound, needed.checks) for needed in (acceptance, acceptance.newest or acceptance)]
    start = Check("log-odds before any feature", model.start)
    features = found.features[numbers]
    added = take_parts(model.forest, features)
    strongest = np.argsort(-np.abs(added), axis=1, kind="stable")[:, :_NAMED_FEATURES]
    rows = (each[numbers].tolist() for each in (found.indices, found.scores, found.proofs))
    for index, score, proof, values, parts, named in zip(
        *rows, features.tolist(), added.tolist(), strongest.tolist(), strict=True
    ):
        bound, needed = bounds[index >= acceptance.relieved]
        certainty = _certainty_checks(proof, accepted=score >= bound)
        checks = [Check("log-odds of a change", score, ">=", bound, score >= bound), *certainty]
        rest = score - model.start - certainty[_CERTAINTY].value
        for feature in named:
            name, name_of_part = model.features[feature]
            checks.append(Check(name, values[feature]))
            checks.append(Check(name_of_part, parts[feature]))
            rest -= parts[feature]
        checks.append(Check("all other features: add to the log-odds", rest))
        yield (*checks, start, *needed)


@dataclass(frozen=True, slots=True)
class _SearchEvidence(Check):
    """The precision of the location of candidate ``number``, in place of all checks of the search about it.

    Most steps that patterns ask for are none in the end, so the checks are made for those that are.
    """

    found: Segmentation = field(kw_only=True)
    number: int = field(kw_only=True)
    acceptance: Acceptance = field(kw_only=True)


class _Evidence:
    """The evidence of steps with all checks of the search, which are made for all of them when it is first asked for."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._evidence = [step.evidence for step in steps]
        self._made: list[tuple[Check, ...]] = []

    def of(self, number: int) -> tuple[Check, ...]:
        """Return the evidence of the step ``number``."""
        if not self._made:
            self._made = _with_checks(self._evidence)
        return self._made[number]


def _with_checks(evidence: Sequence[tuple[Check, ...]]) -> list[tuple[Check, ...]]:
    """Put the checks of the search into the ``evidence`` of each step."""
    searches: dict[int, list[_SearchEvidence]] = {}
    for check in chain.from_iterable(evidence):
        if isinstance(check, _SearchEvidence):
            searches.setdefault(id(check.found), []).append(check)
    checks: dict[int, tuple[Check, ...]] = {}
    for asked in searches.values():
        numbers = [check.number for check in asked]
        made = candidate_checks(load_model(), asked[0].found, numbers, asked[0].acceptance)
        checks.update(zip(map(id, asked), made, strict=True))
    return [tuple(chain.from_iterable(checks.get(id(check), (check,)) for check in each)) for each in evidence]


def _with_evidence(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return ``steps`` with the checks of the search in their evidence, which are made when they are asked for."""
    evidence = _Evidence(steps)
    return tuple(
        with_late_evidence(step, partial(evidence.of, number))
        if any(isinstance(check, _SearchEvidence) for check in step.evidence)
        else step
        for number, step in enumerate(steps)
    )


def rejection_reason(score: float, acceptance: Acceptance, false_alarms: float) -> str:
    """Return the reason for which a candidate with this score is not a step."""
    chance = 1 / (1 + math.exp(-score))
    needed = 1 / (1 + math.exp(-acceptance.bound))
    return (
        f"the chance of a change is {chance:.2g}, below the {needed:.2g} that keeps false alarms at "
        f"{false_alarms:g} per 1,000 commits"
    )


DRIFT_EFFECT: Final = 0.01
"""Share of the level that a drift moves it by until it is reported."""


def detect_default(
    values: NDArray[np.float64],
    *,
    false_alarms: float = FALSE_ALARMS,
    modes: bool = True,
    drift: bool = True,
    drift_effect: float = DRIFT_EFFECT,
    noise: bool = False,
    candidates: bool = True,
) -> Detection:
    """Find changes of level in a series; this is the method to use when in doubt.

    ``false_alarms`` is how many false alarms per 1,000 commits you accept in a series without change, as measured on
    real benchmark histories. A larger number finds smaller changes, and everything that a smaller number finds. A level
    shorter than 3 measured values is never reported, so a lone spike is not a finding. A level of 3 or more that lies
    too far from both neighbours to be there by chance is always reported. Where the series flips between the same
    levels again and again, flips are not steps, but changes of the levels and of their shares are; without ``modes``
    each flip is a step. ``candidates`` says whether to return the candidates, which takes more time.

    With ``drift``, a slow change is one finding of the kind DRIFT instead of a staircase of steps. It is reported when
    it has moved the level by the share ``drift_effect`` of it. Exact values, such as sizes, are judged by their usual
    changes.

    With ``noise``, a lasting change of the spread of the noise, or of its distribution, is a finding of the kind NOISE;
    ``false_alarms`` holds for these by themselves.

    The score of a step is the log-odds that it is a change; it is not a p-value. The check "interval of location" is
    the half width of the interval in which the step lies, in measured values. Time is linear in the length.

    Raises:
        SeriesError: the values are not one series of finite or missing numbers.
        InputError: ``false_alarms`` is not above 0 and at most 1,000, or ``drift_effect`` is negative.
    """
    settings = _Settings(false_alarms, modes=modes, drift=drift, drift_effect=drift_effect, noise=noise)
    # Search: candidates, pruned until all that are left reach the bound.
    series = drop_missing(values)
    found, acceptance = search(series.values, load_model().forest, false_alarms)
    readings = _readings_of(values, series, found, acceptance, settings)
    if candidates:
        patterns = [replace(each.pattern, steps=_with_evidence(each.pattern.steps)) for each in readings]
        readings = [replace(each, pattern=own) for each, own in zip(readings, patterns, strict=True)]
    pattern = join_patterns(values, readings)
    scale, phi, square, tail, explained, _ = found.facts
    return Detection(
        method="default",
        parameters={},
        steps=_with_evidence(pattern.steps),
        candidates=_candidates_of(pattern, readings, false_alarms) if candidates else (),
        facts={
            "noise (standard deviation)": scale,
            "autocorrelation at lag 1": phi,
            "mean square of the noise": square,
            "share beyond 4 standard deviations": tail,
            "share of the squares that two levels explain": explained,
            "candidates": float(found.indices.size),
            "log-odds that a change needs": acceptance.bound,
            **pattern.facts,
        },
        flipping=pattern.flipping,
    )


def detect_default_many(
    frame: NDArray[np.float64],
    *,
    false_alarms: float = FALSE_ALARMS,
    modes: bool = True,
    drift: bool = True,
    drift_effect: float = DRIFT_EFFECT,
    noise: bool = False,
    evidence: bool = True,
) -> list[tuple[Step, ...]]:
    """Return for each row of ``frame`` the steps that :func:`detect_default` finds, with one search for all rows.

    Most series have no candidate that stays, and nothing that could be a pattern: they are done after the search.
    Without ``evidence`` a step carries of what the search says about it only how far its place may be off.
    """
    settings = _Settings(
        false_alarms, modes=modes, drift=drift, drift_effect=drift_effect, noise=noise, evidence=evidence
    )
    held = ~np.isnan(frame)
    counts = np.count_nonzero(held, axis=1)
    bounds = np.array([acceptance_by_length(count, false_alarms).bound for count in counts.tolist()])
    searched = segment_many(frame[held], np.cumsum(counts), load_model().forest, bounds)

    # Series without a candidate that stays have no steps, whatever their noise adds to the bound.
    calm = searched.stay == 0
    for row in np.flatnonzero(calm & (counts >= FIRST)).tolist():
        calm[row] = is_far_below(searched.of(row), bounds[row])
    if noise:
        calm[:] = False
    if modes:
        calm &= ~may_be_two_levels(searched.facts[:, 4], searched.facts[:, 5])
    if drift:
        whole = np.all((frame == np.rint(frame)) | ~held, axis=1)
        calm &= ~(whole | may_rise_or_fall(frame, searched.facts[:, 0], searched.facts[:, 1]))

    steps: list[tuple[Step, ...]] = [()] * len(frame)
    for row in np.flatnonzero(~calm).tolist():
        series = drop_missing(frame[row])
        found, acceptance = search(series.values, load_model().forest, false_alarms, searched.of(row))
        readings = _readings_of(frame[row], series, found, acceptance, settings)
        steps[row] = _with_evidence(join_patterns(frame[row], readings).steps)
    return steps


@dataclass(frozen=True, slots=True)
class _Settings:
    """The parameters of the method; see :func:`detect_default_many`."""

    false_alarms: float
    modes: bool
    drift: bool
    drift_effect: float
    noise: bool
    evidence: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.false_alarms <= 1000:
            raise InputError(
                f"false_alarms is {self.false_alarms}",
                remedy="Give the acceptable number of false alarms per 1,000 commits, above 0 and at most 1,000, such as "
                f"{FALSE_ALARMS:g}.",
            )
        if not self.drift_effect >= 0:
            raise InputError(
                f"drift_effect is {self.drift_effect}", remedy="Give a share of the level, 0 or more; 0.01 is 1 %."
            )


def _readings_of(
    values: NDArray[np.float64],
    series: MeasuredSeries,
    found: Segmentation,
    acceptance: Acceptance,
    settings: _Settings,
) -> list[Reading]:
    """Return the readings of the stretches of ``values``."""
    pattern_of = partial(_pattern_of, settings=settings)
    return read_stretches(values, series, (found, acceptance), settings.false_alarms, pattern_of)


def _pattern_of(
    values: NDArray[np.float64],
    series: MeasuredSeries,
    found: Segmentation,
    acceptance: Acceptance,
    *,
    settings: _Settings,
    patterns: bool,
) -> Pattern:
    """Return the pattern that describes the kept steps together better than each by itself."""
    steps = _steps_of(values, series, found, acceptance, settings)
    scale, phi, _, _, *two = found.facts
    search_again = _SearchAgain(values, series, acceptance, settings)
    subject = Subject(values, series, steps, scale, phi, bool(may_be_two_levels(*two)), search_again)
    pattern = recognise(subject, _recognisers(settings, patterns=patterns))
    if settings.noise and not pattern.flipping:
        pattern = _with_noise(pattern, find_noise_changes(values, series, pattern.steps, settings.false_alarms))
        # What the spread does not show, at half of the rate: one noise has both kinds of false alarms.
        changes = find_distribution_changes(values, series, pattern.steps, settings.false_alarms / 2)
        pattern = _with_noise(pattern, changes)
    return pattern


def _with_noise(pattern: Pattern, found: tuple[Step, ...]) -> Pattern:
    """Return ``pattern`` with ``found`` among its findings."""
    return replace(pattern, steps=tuple(sorted((*pattern.steps, *found), key=lambda step: step.index)))


def _steps_of(
    values: NDArray[np.float64],
    series: MeasuredSeries,
    found: Segmentation,
    acceptance: Acceptance,
    settings: _Settings,
) -> tuple[Step, ...]:
    """Return the candidates that the search kept as steps of ``values``; the strongest has the order 0.

    The checks of the search are made later, or without ``settings.evidence`` not at all.
    """
    if not (kept := np.flatnonzero(found.rounds < 0).tolist()):
        return ()
    scores = found.scores.tolist()
    strongest = sorted(kept, key=lambda number: -scores[number])
    locations = found.proofs[strongest, -1].tolist()
    found = replace(found, room=None)  # steps may be kept for long
    return build_steps(
        values,
        series.rows[found.indices[strongest]].tolist(),
        method="default",
        scores=[scores[number] for number in strongest],
        evidence=[
            (
                _SearchEvidence(LOCATION_INTERVAL, location, found=found, number=number, acceptance=acceptance)
                if settings.evidence
                else Check(LOCATION_INTERVAL, location),
            )
            for number, location in zip(strongest, locations, strict=True)
        ],
    )


class _SearchAgain:
    """Find the steps of a series with other measured values; the last search is kept."""

    def __init__(
        self, values: NDArray[np.float64], series: MeasuredSeries, acceptance: Acceptance, settings: _Settings
    ) -> None:
        self._size, self._series, self._acceptance, self._settings = values.size, series, acceptance, settings
        self._found: dict[bytes, Segmentation] = {}

    def steps(self, measured: NDArray[np.float64]) -> tuple[Step, ...]:
        """Return the steps of the series with ``measured`` values."""
        again = np.full(self._size, np.nan)
        again[self._series.rows] = measured
        return _steps_of(again, self._series, self._search(measured), self._acceptance, self._settings)

    def places(self, measured: NDArray[np.float64], smallest: float) -> SearchedPlaces:
        """Return the first values of the levels after those of the steps that are larger than ``smallest``."""
        found = self._search(measured)
        places = np.sort(found.indices[found.rounds < 0]).tolist()
        means = [region.mean for region in stable_regions(measured, [0, *places, measured.size])] if places else []
        levels = zip(places, pairwise(means), strict=True)
        larger = tuple(place for place, (before, after) in levels if abs(after - before) > smallest)
        return SearchedPlaces(larger, found.indices.size)

    def _search(self, measured: NDArray[np.float64]) -> Segmentation:
        key = measured.tobytes()
        found = self._found.get(key) or search_again(measured, load_model().forest, self._acceptance)
        self._found = {key: found}
        return found


def _candidates_of(pattern: Pattern, readings: Sequence[Reading], false_alarms: float) -> tuple[Candidate, ...]:
    """Return the candidates of the search of each stretch with their checks, and the decisions of ``pattern``."""
    newest = readings[-1]
    if pattern is newest.pattern:
        return candidates_after(pattern, _candidates_in(newest, false_alarms))
    return candidates_after(
        pattern,
        [
            candidate
            for reading in readings
            for candidate in candidates_after(reading.pattern, _candidates_in(reading, false_alarms))
            if reading.first <= candidate.index < reading.stop
        ],
    )


def _candidates_in(reading: Reading, false_alarms: float) -> tuple[Candidate, ...]:
    """Return all candidates of the search of one reading with their checks."""
    found, acceptance = reading.found, reading.acceptance
    numbered = zip(
        found.indices.tolist(),
        found.scores.tolist(),
        (found.rounds < 0).tolist(),
        candidate_checks(load_model(), found, range(found.indices.size), acceptance),
        strict=True,
    )
    return tuple(
        Candidate(
            int(reading.series.rows[index]),
            accepted,
            checks,
            "" if accepted else rejection_reason(score, acceptance.at(index), false_alarms),
        )
        for index, score, accepted, checks in numbered
    )


def _recognisers(settings: _Settings, *, patterns: bool) -> Iterator[Recogniser]:
    """Yield what recognises patterns, in the order in which it is asked; without ``patterns`` what needs no steps."""
    if settings.modes:
        yield find_clear_modes
    if settings.modes and patterns:
        yield find_modes
    if settings.drift and patterns:
        yield partial(recognise_exact, effect=settings.drift_effect)
        yield partial(recognise_drift, effect=settings.drift_effect)


METHOD: Final = Method(
    "default",
    MethodKind.SERIES,
    detect_default,
    releases_gil=True,
    detect_many=detect_default_many,
    fewest=lambda _found: 2 * SHORTEST,
)
