"""Judge the newest value of each trace that changed: the first, provisional sign of a change.

A step needs values after it; the newest value has none. So it is judged against the stable region that it should belong to
(:func:`knickpoint.detect.judge`), each time that results arrive. Most values are unremarkable: a single value is judged to
be a change only if at most 2 % of the region's values stray as far (:func:`~knickpoint.detect.region_noise.rare_share`),
which sorting decides without anything else. Only the others are judged in full.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import judge
from knickpoint.detect.region_noise import rare_share
from knickpoint.model.commit import Line
from knickpoint.model.frame import Trace
from knickpoint.model.judgement import NewestVerdict
from knickpoint.model.step import Verdict
from knickpoint.store import Store

__all__ = ["NEAREST", "judge_newest", "judge_newest_values"]

NEAREST: Final = 200
"""Newest values of the region that a value is judged against: they suffice, and the time of ``judge`` grows with them."""

_SIGNS: Final = frozenset({Verdict.REGRESSED, Verdict.IMPROVED})


def judge_newest(values: NDArray[np.float64], trace: Trace, slot: int) -> NewestVerdict | None:
    """Judge the last of ``values`` (those since the last step, without gaps); None where it is unremarkable.

    It is compared with the :data:`NEAREST` values before it.
    """
    region, newest = values[-NEAREST - 1 : -1], float(values[-1])
    if region.size == 0 or not _is_rare(region, newest):
        return None
    verdict = judge(region, newest, better=trace.better)
    if verdict.verdict not in _SIGNS:
        return None
    return NewestVerdict(
        trace_id=trace.id,
        slot=slot,
        verdict=verdict.verdict,
        value=newest,
        centre=verdict.centre,
        low=verdict.low,
        high=verdict.high,
        relative_size=verdict.relative_size,
        p_value=verdict.p_value,
    )


def _is_rare(region: NDArray[np.float64], newest: float) -> bool:
    """Return whether few enough values of ``region`` lie as far out as ``newest``, on either side."""
    most = rare_share(region.size) * region.size
    return bool(min((region >= newest).sum(), (region <= newest).sum()) <= most)


def judge_newest_values(store: Store, line: Line, trace_ids: NDArray[np.int64]) -> list[NewestVerdict]:
    """Return the verdicts on the newest values of ``trace_ids`` on ``line``, without those that are unremarkable."""
    found: list[NewestVerdict] = []
    for frame in store.frames.blocks(line, trace_ids):
        points = store.findings.of_traces([trace.id for trace in frame.traces])
        for row, trace in enumerate(frame.traces):
            values = np.asarray(frame.values[row], dtype=np.float64)
            starts = [
                line.positions.get(point.suspect_range.slot, 0) - frame.first for point in points.get(trace.id, ())
            ]
            values = values[max([0, *starts]) :]
            measured = np.flatnonzero(~np.isnan(values))
            if measured.size > 1:
                slot = int(frame.slots[len(frame.slots) - values.size + int(measured[-1])])
                verdict = judge_newest(values[measured], trace, slot)
                found += [verdict] if verdict else []
    return found
