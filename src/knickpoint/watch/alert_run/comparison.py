"""Compare what an alert sees now with what it saw at its last look, trace by trace."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import judges_groups
from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.model.regression import Sighting
from knickpoint.store import Store
from knickpoint.store.findings.rows import step_values
from knickpoint.watch.alert_run.alert_job import Job, whole_groups
from knickpoint.watch.alert_run.persistence import Fresh
from knickpoint.watch.detection.digests import fold
from knickpoint.watch.detection.sightings import group_key, moved_together, refusal
from knickpoint.watch.detection.trace_detection import Look, look
from knickpoint.watch.identity.point_matching import Ruler, pair_up
from knickpoint.watch.lines import Lines
from knickpoint.work import Runner, Serial

__all__ = ["compare", "leave", "look_again", "looked", "retire", "take_back"]

_BLOCK: Final = 4096
"""Traces whose known sightings are read at a time."""


def _blocks(looks: Iterator[Look]) -> Iterator[list[Look]]:
    block: list[Look] = []
    for one in looks:
        block.append(one)
        if len(block) == _BLOCK:
            yield block
            block = []
    if block:
        yield block


def _filtered(job: Job, looks: Iterator[Look], lines: Lines) -> Iterator[Look]:
    """Apply the filters of the alert; only a minimum of traces needs all looks at once."""
    alert = job.alert
    single = (
        replace(one, sightings=tuple(sighting for sighting in one.sightings if not refusal(alert, sighting)))
        for one in looks
    )
    if alert.minimum_traces <= 1:
        yield from single
        return
    held = list(single)
    digests = np.array([one.digest for one in held], dtype=np.uint64)
    if not judges_groups(alert.method):
        digests = fold(alert, [one.trace for one in held], digests)
    groups = {one.trace.id: group_key(alert, one.trace) for one in held}
    kept: dict[int, list[Sighting]] = {}
    for sighting in moved_together(alert, [each for one in held for each in one.sightings], groups, lines):
        kept.setdefault(sighting.trace_id, []).append(sighting)
    for one, digest in zip(held, digests.tolist(), strict=True):
        yield replace(one, sightings=tuple(kept.get(one.trace.id, ())), digest=digest)


def looked(store: Store, job: Job, lines: Lines, runner: Runner) -> Iterator[list[Look]]:
    """Yield what the alert of ``job`` reports of the traces that are due, block by block."""
    looks = look(store, job.alert, job.line, job.due, lines=lines, runner=runner)
    return _blocks(_filtered(job, looks, lines))


def _position(sighting: Sighting, lines: Lines) -> int | None:
    return lines.line(sighting.suspect_range.line).positions.get(sighting.suspect_range.slot)


def _reported(old: Sequence[Sighting], look_: Look, lines: Lines) -> list[Sighting]:
    """Return what the alert sees of a trace: what it found in its window, and known sightings that stay as they are.

    What was seen before the window stays. So does a known sighting in the window whose step is found before it now:
    the step is still there, and nothing is reported of places before the window.
    """

    def in_window(sighting: Sighting) -> bool:
        position = _position(sighting, lines)
        return position is None or position > look_.judged

    if not look_.measured.size or look_.judged <= look_.measured[0]:
        return list(look_.sightings)
    found = [sighting for sighting in look_.sightings if in_window(sighting)]
    staying = [known for known in old if _position(known, lines) is not None and not in_window(known)]
    if len(found) < len(look_.sightings):
        staying += _still_seen([known for known in old if in_window(known)], look_, found, lines)
    return [*found, *staying]


def _still_seen(known: Sequence[Sighting], look_: Look, found: Sequence[Sighting], lines: Lines) -> list[Sighting]:
    """Return those of ``known``, all in the window, that are the same points as steps found before it."""
    staying = []
    for name in sorted({sighting.suspect_range.line for sighting in look_.sightings}):
        ruler = Ruler(lines.line(name).positions, look_.measured)
        before = [sighting for sighting in known if sighting.suspect_range.line == name]
        now = [sighting for sighting in look_.sightings if sighting.suspect_range.line == name]
        old = [
            (seen, spot) for seen in before if (spot := ruler.spot(seen.suspect_range, seen.movement, seen.interval))
        ]
        new = [(seen, spot) for seen in now if (spot := ruler.spot(seen.suspect_range, seen.movement, seen.interval))]
        pairs = pair_up([spot for _, spot in old], [spot for _, spot in new])
        staying += [old[i][0] for i, j in pairs if new[j][0] not in found]
    return staying


def _same(old: Sequence[Sighting], new: Sequence[Sighting]) -> bool:
    return len(old) == len(new) and all(
        step_values(one) == step_values(other) for one, other in zip(old, new, strict=True)
    )


def _by_slot(sightings: Sequence[Sighting]) -> list[Sighting]:
    return sorted(sightings, key=lambda one: (one.suspect_range.line, one.suspect_range.slot, one.movement))


def compare(store: Store, job: Job, block: Sequence[Look], lines: Lines, fresh: dict[int, Fresh]) -> None:
    """Put what differs from what the alert saw before into ``fresh``."""
    name = job.alert.name
    seen = store.findings.sightings.of_traces([one.trace.id for one in block])
    for one in block:
        old = _by_slot([sighting for sighting in seen.get(one.trace.id, []) if sighting.alert == name])
        new = _by_slot(_reported(old, one, lines))
        places = {(sighting.suspect_range, sighting.movement) for sighting in old}
        kept = sum((sighting.suspect_range, sighting.movement) in places for sighting in new)
        job.kept += kept
        job.added += len(new) - kept
        job.lost += len(old) - kept
        job.digests[one.trace.id] = one.digest
        if _same(old, new):
            continue
        entry = fresh.setdefault(one.trace.id, Fresh(one.trace))
        entry.sightings[name] = tuple(new)
        _measure(entry, job.line, one.measured, lines)


def _measure(entry: Fresh, line: Line, measured: NDArray[np.int64], lines: Lines) -> None:
    """Note where a trace has values, for ``line`` and for the lines that it shares its beginning with."""
    entry.measured[line.name] = measured
    while line.base:
        base = lines.line(line.base)
        if base.name == line.name:
            return
        entry.measured.setdefault(base.name, measured[measured <= line.merge_base])
        line = base


def look_again(store: Store, jobs: Sequence[Job], fresh: Mapping[int, Fresh], lines: Lines) -> dict[int, Fresh]:
    """Return what differs now for the traces of ``fresh``; what alerts no longer watch stays as it is there."""
    wanted = np.array(sorted(fresh), dtype=np.int64)
    found: dict[int, Fresh] = {}
    watched: set[tuple[str, int]] = set()
    for job in jobs:
        if job.failure:
            watched.update((job.alert.name, trace) for trace in wanted.tolist())
            continue
        with job.guarded():
            line = store.commits.line(lines.repository, job.alert.line)
            ids = whole_groups(store, job.alert, job.ids, wanted)
            again = replace(job, line=line, ids=ids, due=ids, digests={})
            watched.update((job.alert.name, trace) for trace in ids.tolist())
            for block in looked(store, again, lines, Serial()):
                compare(store, again, block, lines, found)
    for key, entry in fresh.items():
        left = {name: () for name in entry.sightings if (name, key) not in watched}
        if left:
            own = found.setdefault(key, Fresh(entry.trace))
            own.sightings.update(left)
            for name, measured in entry.measured.items():
                own.measured.setdefault(name, measured)
    return found


def leave(store: Store, job: Job, left: NDArray[np.int64], lines: Lines, fresh: dict[int, Fresh]) -> None:
    """Put into ``fresh`` that the alert sees nothing any more in the traces ``left``; nothing is written."""
    if not left.size:
        return
    for frame in store.frames.blocks(job.line, left):
        seen = store.findings.sightings.of_traces([trace.id for trace in frame.traces])
        for row, trace in enumerate(frame.traces):
            entry = fresh.setdefault(trace.id, Fresh(trace))
            entry.sightings[job.alert.name] = ()
            _measure(entry, job.line, np.flatnonzero(~np.isnan(frame.values[row])) + frame.first, lines)
            job.lost += sum(sighting.alert == job.alert.name for sighting in seen.get(trace.id, []))


def take_back(store: Store, job: Job, lines: Lines, fresh: dict[int, Fresh]) -> None:
    """Drop what the alert saw in traces that it does not match any more."""
    left = np.setdiff1d(store.findings.sightings.traces(job.alert.name, lines.repository), job.ids)
    leave(store, job, left, lines, fresh)
    if left.size:
        store.findings.digests.set(job.alert.name, left, np.zeros(left.size, dtype=np.uint64))


def retire(store: Store, names: Collection[str], lines: Lines, fresh: dict[int, Fresh]) -> None:
    """Drop what alerts saw that are no more: all but those called ``names``."""
    nothing = np.empty(0, dtype=np.int64)
    for name in store.findings.sightings.alerts():
        if name not in names:
            take_back(store, Job(Alert(name), lines.default, nothing, complete=True), lines, fresh)
            store.findings.digests.forget(name)
