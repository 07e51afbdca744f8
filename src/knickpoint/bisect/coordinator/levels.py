"""Estimate the levels before and after a culprit from the probes on both sides."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from knickpoint.bisect.coordinator.bisection import JournalEntry, LevelEstimate
from knickpoint.bisect.coordinator.evidence import Evidence
from knickpoint.detect.outliers import student_quantile

__all__ = ["estimate_levels"]


def estimate_levels(
    evidence: Evidence, entries: Sequence[JournalEntry], places: Sequence[int]
) -> tuple[LevelEstimate | None, LevelEstimate | None]:
    """Return the levels before the first of ``places`` and from the last of them on; None where no probe has a value."""
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
