"""Ask the family of each found place: traces that moved there plainly, and do not show it by themselves, are members.

The family of a trace are the traces that its alert watches in the repository, those of its group where the alert has
``group_by``. What is found is a function of the values and of the steps that the traces show by themselves, so results
that arrive one by one and all at once give the same members. The reasons are in ``docs/decisions/traces-together.md``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.methods.default.siblings.found_places import ASKED, NEAR, Joined, OwnStep, ask_family
from knickpoint.detect.steps import build_steps
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Sighting
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import LOCATION_INTERVAL, Check
from knickpoint.store import Store
from knickpoint.store.findings.rows import stored_step
from knickpoint.watch.alert_run.alert_job import AlertJob
from knickpoint.watch.alert_run.comparison import TraceComparison
from knickpoint.watch.detection.alert_settings import GroupKey, asks_family, find_reference, group_key, watched_traces
from knickpoint.watch.detection.filters import refusal
from knickpoint.watch.detection.sightings import settle_by_count, sightings_of
from knickpoint.watch.lines import Lines

_MOST: Final = 2_000
"""Traces of a family: more are not asked, because that would hold up each event."""

_MOST_WATCHED: Final = 20_000
"""Traces of an alert with groups: the keys of all of them are read to find the families."""

_Own = Mapping[int, Sequence[Sighting]]


def complete_families(store: Store, job: AlertJob, lines: Lines, changed: Collection[int]) -> list[TraceComparison]:
    """Return the traces whose membership at the places of others differs from what is stored.

    ``changed`` are the traces in which the alert finds something else by itself than before this run. Without any in a
    family, only the traces that are due are asked.
    """
    alert = job.alert
    most = _MOST_WATCHED if alert.group_by else _MOST
    if job.failure or not job.due.size or not asks_family(alert) or job.watched > most:
        return []
    families = _families(store, alert, lines, job.due)
    seen = store.findings.sightings.of_traces([trace.id for traces in families for trace in traces])
    own = {key: [each for each in sightings if each.alert == alert.name] for key, sightings in seen.items()}
    if not any(own.values()):
        return []
    line = lines.line(alert.line)
    found: list[TraceComparison] = []
    fresh = set(job.due[job.known_digests == 0].tolist())
    for traces in families:
        ids = {trace.id for trace in traces}
        asked = ids if ids & (fresh | set(changed)) else ids & set(job.due.tolist())
        found += _Family(store, replace(job, line=line), lines, traces, own).compared(asked)
    return found


def _families(store: Store, alert: Alert, lines: Lines, due: NDArray[np.int64]) -> list[list[Trace]]:
    """Return the families with traces that are ``due`` and small enough to be asked, each by ascending id."""
    ids = watched_traces(store, alert, lines.repository)
    renamed = [rename.old for rename in store.traces.renames.all(lines.repository)]
    ids = np.setdiff1d(ids, renamed) if renamed else ids
    groups: dict[GroupKey, list[Trace]] = defaultdict(list)
    for trace in store.traces.get(ids):
        groups[group_key(alert, trace)].append(trace)
    wanted = set(due.tolist())
    return [group for group in groups.values() if 1 < len(group) <= _MOST and any(each.id in wanted for each in group)]


class _Family:
    """The traces of one family, with what the alert of ``job`` finds in them."""

    def __init__(self, store: Store, job: AlertJob, lines: Lines, traces: Sequence[Trace], sightings: _Own) -> None:
        self._store = store
        self._job = job
        self._lines = lines
        self._traces = traces
        self._stored = {trace.id: sightings.get(trace.id, ()) for trace in traces}
        self._own = {
            key: [each for each in found if each.numbers.method != ASKED] for key, found in self._stored.items()
        }

    def compared(self, asked: Collection[int]) -> list[TraceComparison]:
        """Ask those of the traces that are ``asked``, and return those in which something differs."""
        rows = [row for row, trace in enumerate(self._traces) if trace.id in asked]
        steps = self._steps()
        if not steps:
            rows = [row for row in rows if len(self._stored[self._traces[row].id])]
        if not rows:
            return []
        frame = self._store.frames.read(self._job.line, [self._traces[row].id for row in rows])
        joined: dict[int, list[Joined]] = defaultdict(list)
        # What drifts, flips or changes its noise has no levels that could be compared.
        able = [row for row in rows if all(each.kind is FindingKind.STEP for each in self._own[self._traces[row].id])]
        among = {row: number for number, row in enumerate(rows)}
        values = {row: np.asarray(frame.values[among[row]], dtype=np.float64) for row in able}
        for each in ask_family(values, [trace.key for trace in self._traces], steps):
            joined[among[each.row]].append(each)
        return [found for number in range(len(rows)) if (found := self._compared(frame, number, joined[number]))]

    def _steps(self) -> list[OwnStep]:
        """Return the steps that the traces show by themselves, those of other kinds left out."""
        return [
            OwnStep(row, column, each.movement, settled=each.settlement.settled)
            for row, trace in enumerate(self._traces)
            for each in self._own[trace.id]
            if each.kind is FindingKind.STEP and (column := self._column(each)) is not None
        ]

    def _column(self, sighting: Sighting) -> int | None:
        return self._job.line.positions.get(sighting.suspect_range.slot)

    def _compared(self, frame: Frame, number: int, joined: Sequence[Joined]) -> TraceComparison | None:
        trace = frame.traces[number]
        own, stored = self._own[trace.id], self._stored[trace.id]
        now = [*own, *self._sightings(frame, number, joined)]
        if sorted(map(_identity, now)) == sorted(map(_identity, stored)):
            return None
        now.sort(key=lambda each: (each.suspect_range.line, each.suspect_range.slot, each.movement))
        measured = np.flatnonzero(~np.isnan(frame.values[number])) + frame.first
        return TraceComparison(self._job.alert.name, trace, self._job.line, measured, tuple(now))

    def _sightings(self, frame: Frame, number: int, joined: Sequence[Joined]) -> list[Sighting]:
        """Describe the trace at the places that it ``joined``, as far as the alert reports it."""
        if not joined:
            return []
        alert = self._job.alert
        values = np.asarray(frame.values[number], dtype=np.float64)
        scores = {each.column: abs(each.apart) for each in joined}
        columns = {column for each in self._own[frame.traces[number].id] if (column := self._column(each)) is not None}
        every = [*scores, *sorted(columns - scores.keys())]
        steps = build_steps(
            values,
            every,
            method=ASKED,
            scores=[scores.get(column, math.nan) for column in every],
            evidence=[(Check(LOCATION_INTERVAL, float(NEAR)),)] * len(every),
        )
        placed = sightings_of(
            alert.name,
            frame,
            number,
            steps,
            self._lines,
            settlements=settle_by_count(values, steps, alert.settle_rule),
            reference=find_reference(alert, self._job.line, self._lines),
        )
        return [
            sighting
            for step, sighting in zip(steps, placed, strict=True)
            if step.index in scores and refusal(alert, sighting) is None
        ]


def _identity(sighting: Sighting) -> str:
    return repr(stored_step(sighting))
