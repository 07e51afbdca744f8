"""Detect again in traces that another run may have written while this one was under way.

A run reads values first and writes later. A run that began later may have seen newer values and written before: then the
older result must not take back the newer one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from knickpoint.store import Store
from knickpoint.watch.alert_run.alert_job import AlertJob, failure_of
from knickpoint.watch.alert_run.comparison import AlertComparison, TraceComparison, compare_alert
from knickpoint.watch.detection.alert_groups import whole_groups
from knickpoint.watch.lines import Lines
from knickpoint.work import Serial

__all__ = ["Redetection", "detect_again"]


@dataclass(frozen=True, slots=True)
class Redetection:
    """What differs now, and why alerts failed, by name."""

    comparisons: tuple[TraceComparison, ...]
    failures: Mapping[str, str] = field(default_factory=dict)


def detect_again(
    store: Store,
    jobs: Sequence[AlertJob],
    comparisons: Sequence[TraceComparison],
    lines: Lines,
    *,
    failed: Collection[str] = (),
) -> Redetection:
    """Compare the traces of ``comparisons`` again, with the values of now; alerts that ``failed`` stay out.

    What an alert no longer watches is taken back as it was to be.
    """
    wanted = np.array(sorted({comparison.trace.id for comparison in comparisons}), dtype=np.int64)
    watched: dict[str, frozenset[int]] = {name: frozenset(wanted.tolist()) for name in failed}
    found: list[TraceComparison] = []
    failures: dict[str, str] = {}
    for job in jobs:
        if job.alert.name in failed:
            continue
        again = _job_over(store, job, wanted, lines)
        watched[job.alert.name] = frozenset(again.trace_ids.tolist())
        result = AlertComparison.joined(list(compare_alert(store, again, lines, Serial())))
        found += result.changed
        if failure := again.failure or result.failure:
            failures[job.alert.name] = failure
    left = [
        replace(comparison, sightings=())
        for comparison in comparisons
        if comparison.trace.id not in watched.get(comparison.alert, ())
    ]
    return Redetection((*left, *found), failures)


def _job_over(store: Store, job: AlertJob, wanted: np.typing.NDArray[np.int64], lines: Lines) -> AlertJob:
    """Return ``job`` over the traces of it that are ``wanted``, on its line as it is now."""
    try:
        line = store.commits.line(lines.repository, job.alert.line)
        ids = whole_groups(store, job.alert, job.trace_ids, wanted)
    except Exception as error:  # noqa: BLE001  # a defect of one alert must not stop the others
        return replace(job, trace_ids=wanted, due=wanted[:0], failure=failure_of(job.alert, error))
    return replace(job, line=line, trace_ids=ids, due=ids, complete=False)
