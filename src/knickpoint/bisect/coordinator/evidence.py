"""Turn the probes of a journal into what the search asks for: observations, and the places that cannot be measured."""

from __future__ import annotations

import difflib
import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from knickpoint.bisect.coordinator.bisection import Bisection, JournalEntry, LevelEstimate
from knickpoint.bisect.search.problem import Observation
from knickpoint.detect.outliers import student_quantile
from knickpoint.model.bisection import ProbeOutcome
from knickpoint.model.params import decode_key, key_text

_MOST_LOST: Final = 3
"""After so many lost probes without a result, a place counts as one that cannot be measured."""

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the probes of a bisection say.

    ``reasons`` has, for each place that cannot be measured, why. ``trace`` is the key that is followed.
    """

    trace: str
    observations: tuple[Observation, ...]
    reasons: dict[int, str]


def read_evidence(bisection: Bisection, entries: Sequence[JournalEntry]) -> Evidence:
    """Return the evidence of the ended probes."""
    ended = [entry for entry in entries if entry.result is not None]
    trace = _followed(bisection.trace, ended) if bisection.measures else ""
    observations: list[Observation] = []
    reasons: dict[int, str] = {}
    lost: Counter[int] = Counter()
    for entry in ended:
        observation, reason = _observation(bisection, entry, trace)
        place = entry.planned.place
        if observation is not None:
            observations.append(observation)
        elif entry.result is not None and entry.result.outcome is ProbeOutcome.LOST:
            lost[place] += 1
            if lost[place] >= _MOST_LOST:
                reasons.setdefault(place, reason)
        else:
            reasons.setdefault(place, reason)
    measured = {observation.place for observation in observations}
    unmeasured = {place: reason for place, reason in reasons.items() if place not in measured}
    return Evidence(trace, tuple(observations), unmeasured)


def _followed(asked: str, ended: Sequence[JournalEntry]) -> str:
    """Return the key of the trace to follow: the one asked for, or the only one with all its params, or the first."""
    keys = next((tuple(entry.result.measured) for entry in ended if entry.result and entry.result.measured), ())
    if not asked:
        return keys[0] if keys else ""
    wanted = decode_key(asked).items()
    fitting = [key for key in keys if wanted <= decode_key(key).items()]
    return fitting[0] if asked not in keys and len(fitting) == 1 else asked


def _observation(bisection: Bisection, entry: JournalEntry, trace: str) -> tuple[Observation | None, str]:
    """Return the observation that a probe makes, or None and the reason why it makes none."""
    result, planned = entry.result, entry.planned
    assert result is not None
    match result.outcome:
        case ProbeOutcome.PASSED | ProbeOutcome.FAILED if not bisection.measures:
            passed = result.outcome is ProbeOutcome.PASSED
            return Observation(planned.place, result.device, passed=passed, purpose=planned.purpose), ""
        case ProbeOutcome.MEASURED if bisection.measures:
            measured = result.measured.get(trace)
            if measured is None:
                return None, _without_trace(trace, tuple(result.measured))
            return Observation(planned.place, result.device, measured.value, purpose=planned.purpose), ""
        case _:
            return None, result.reason or result.outcome.value


def _without_trace(trace: str, found: Sequence[str]) -> str:
    """Say that the results lack the trace, and which come close."""
    wanted = decode_key(trace).items()
    fitting = [key for key in found if wanted <= decode_key(key).items()]
    if fitting:
        return f"several traces have {key_text(trace)}: {_named(fitting)}; name more params"
    close = difflib.get_close_matches(trace, found, n=_NAMED, cutoff=0.3) or found
    return f"the results have no trace {key_text(trace)}; they have {_named(close)}"


def _named(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return " or ".join(map(key_text, keys[:_NAMED])) + more


# Estimate the levels before and after a culprit from the probes on both sides.


def estimate_levels(
    evidence: Evidence, entries: Sequence[JournalEntry], places: Sequence[int]
) -> tuple[LevelEstimate | None, LevelEstimate | None]:
    """Return the levels before the first of ``places`` and from the last of them on.

    None where no probe has a value.
    """
    values = [(o.place, o.value) for o in evidence.observations if o.passed is None]
    unit = next(
        (
            entry.result.measured[evidence.trace].unit
            for entry in entries
            if entry.result is not None and evidence.trace in entry.result.measured
        ),
        "",
    )
    before = [value for place, value in values if place < min(places)]
    after = [value for place, value in values if place >= max(places)]
    return _level(before, unit), _level(after, unit)


def _level(values: Sequence[float], unit: str) -> LevelEstimate | None:
    if not values:
        return None
    mean = statistics.fmean(values)
    if len(values) == 1:
        return LevelEstimate(mean, None, 1, unit)
    half = student_quantile(0.975, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return LevelEstimate(mean, (mean - half, mean + half), len(values), unit)
