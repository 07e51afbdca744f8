"""What a finding is about, where its levels alone do not say it: the number of the samples, or the distribution on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.value_levels import describe_values
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint
from knickpoint.model.commit import Line
from knickpoint.model.distribution import distribution_text
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import StableRegion

__all__ = ["distribution_note", "finding_note", "summary_name", "summary_note", "summary_text"]


def finding_note(
    point: ChangePoint, alerts: Iterable[Alert], line: Line, values: NDArray[np.floating[Any]] | None
) -> str:
    """Return what the levels of ``point`` are of, or what of its distribution changed; "" where they say all.

    ``alerts`` are those in force, ``values`` the points of its trace on ``line``, None where they were not read.
    """
    note = summary_note([alert for alert in alerts if alert.name in point.alerts])
    if note or point.kind is not FindingKind.NOISE or values is None:
        return note
    sides = [_between(point_side, line.positions) for point_side in (point.numbers.before, point.numbers.after)]
    return distribution_note(values, sides, point.unit)


def summary_note(alerts: Sequence[Alert]) -> str:
    """Return which number of the samples ``alerts`` judged, as in `p99 of the samples`; "" where they are not all about one."""
    name = summary_name(alerts)
    return summary_text(name) if name else ""


def summary_text(name: str) -> str:
    """Return how people call a summary: `p99 of the samples`."""
    return f"{name} of the samples"


def summary_name(alerts: Sequence[Alert]) -> str:
    """Return the summary that ``alerts`` judged, as `p99`; "" where they are not all about one."""
    names = {alert.summary for alert in alerts}
    return names.pop() if len(names) == 1 else ""


def distribution_note(values: NDArray[np.floating[Any]], sides: Sequence[tuple[int, int]], unit: str) -> str:
    """Return how the ``values`` from the first to the last column of both ``sides`` differ; "" where one has none."""
    parts = [np.asarray(values[first : last + 1], dtype=np.float64) for first, last in sides]
    measured = [part[~np.isnan(part)] for part in parts]
    if not all(part.size for part in measured):
        return ""
    before, after = map(describe_values, measured)
    return distribution_text(before, after, unit)


def _between(region: StableRegion, positions: Mapping[int, int]) -> tuple[int, int]:
    """Return the positions that a region reaches from and to; nothing where its commits are not on the line."""
    return positions.get(region.first, 0), positions.get(region.last, -1)
