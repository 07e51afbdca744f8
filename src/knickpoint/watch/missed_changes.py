"""Mark changes that no alert found, and match the marks with findings that appear later.

A mark names a trace, a suspect range and a movement, as a change point does. Whether it is found by now is computed
from the data each time that it is read, by the rule of identity of change points. So new results, imports that are
repeated and rewritten histories cannot lose the answer. See ``docs/decisions/alerts.md``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.local_levels import NEAR
from knickpoint.model.access import AuditKind
from knickpoint.model.alert import AlertDirection
from knickpoint.model.change_point import ChangePoint, SuspectRange, direction_of
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.frame import Trace
from knickpoint.model.plain_text import plain_line
from knickpoint.model.quality import ListedMissedChange, MissedChange
from knickpoint.model.unit_names import Better
from knickpoint.store import Store
from knickpoint.watch.identity import Ruler, match_points
from knickpoint.watch.lines import Lines

_RANGE: Final = ".."
_MOST_NOTE: Final = 2000


def mark_missed(
    store: Store,
    repository: Repository,
    trace: Trace,
    commit: str,
    direction: AlertDirection = AlertDirection.BOTH,
    *,
    who: str,
    note: str = "",
) -> MissedChange:
    """Mark a change that no alert found in ``trace``, and return it; the audit log names ``who``.

    ``commit`` is a revision, or two as in ``a..b`` for a change after a, up to b. One stands for the suspect range
    around it, from the last value before it to the first value at or after it. With the direction BOTH, the values say
    which way they moved.

    Raises:
        HistoryError: a commit is unknown, or is not on the default line of ``repository``.
        InputError: there are no values on both sides, the direction is unknown, or the change is known already.
    """
    if len(note) > _MOST_NOTE:
        raise InputError(f"the note has {len(note):,} characters", remedy=f"Write at most {_MOST_NOTE:,}.")
    lines = Lines(store, repository)
    line = lines.default
    values = np.asarray(store.frames.values(line, [trace.id])[0], dtype=np.float64)
    suspect_range = _suspect_range(store, line, np.flatnonzero(~np.isnan(values)), commit)
    movement = _movement(values, trace, line.positions[suspect_range.slot], direction)
    change = MissedChange(
        id=0,
        repository_id=repository.id,
        trace_id=trace.id,
        trace_key=trace.key,
        suspect_range=suspect_range,
        movement=movement,
        note=plain_line(note.strip(), _MOST_NOTE),
        who=who,
        time=datetime.now(UTC),
    )
    with store.transaction():
        _check_unknown(store, lines, change)
        added = store.findings.missed.add(change)
        store.audit.append(AuditKind.MISSED_MARKED, who, _described(store, repository, added))
    return added


def unmark_missed(store: Store, key: int, *, who: str) -> MissedChange:
    """Take the mark ``key`` back, and return it; the audit log names ``who``.

    Raises:
        InputError: there is none.
    """
    with store.transaction():
        change = store.findings.missed.get(key)
        (repository,) = [each for each in store.commits.repositories() if each.id == change.repository_id]
        store.findings.missed.remove(key)
        store.audit.append(AuditKind.MISSED_UNMARKED, who, _described(store, repository, change))
    return change


def list_missed(
    store: Store, repository: Repository, changes: Sequence[MissedChange] | None = None
) -> list[ListedMissedChange]:
    """Return ``changes`` of ``repository`` (all by default), each with the live finding that it is by now."""
    listed = store.findings.missed.all(repository) if changes is None else changes
    traces = {trace.id: trace for trace in store.traces.get(sorted({change.trace_id for change in listed}))}
    found = _findings_of(store, Lines(store, repository), listed)
    return [
        ListedMissedChange(
            change, direction_of(float(change.movement), traces[change.trace_id].better), found.get(change.id)
        )
        for change in listed
    ]


def _suspect_range(store: Store, line: Line, measured: NDArray[np.int64], text: str) -> SuspectRange:
    """Return the suspect range that ``text`` names on ``line``, for a trace measured at the positions ``measured``."""
    first, separator, last = text.partition(_RANGE)
    if separator:
        before = int(np.searchsorted(measured, _position(store, line, first), side="right")) - 1
        after = int(np.searchsorted(measured, _position(store, line, last)))
    else:
        after = int(np.searchsorted(measured, _position(store, line, first)))
        before = after - 1
    if not 0 <= before < after < measured.size:
        raise InputError(
            "the trace has no values on both sides of the change",
            where=f"commit {text}",
            remedy="Name a commit with a value of the trace at or after it, and one before it.",
        )
    return SuspectRange(line.name, line.slots[int(measured[before])], line.slots[int(measured[after])])


def _position(store: Store, line: Line, revision: str) -> int:
    found = store.commits.find(line.repository, revision) if revision else None
    if found is None or found.slot not in line.positions:
        what = f"there is no commit {revision!r}" if found is None else "the commit is not on the default line"
        raise HistoryError(
            what,
            where=f"{line.repository.name}, {revision!r}",
            remedy="Give a hash, its beginning, or a number; or a range as in 1a2b3c..4d5e6f.",
        )
    return line.positions[found.slot]


def _movement(values: NDArray[np.float64], trace: Trace, position: int, direction: AlertDirection) -> int:
    """Return +1 or -1: what ``direction`` says, or what the medians of up to 20 values on either side say."""
    if direction is AlertDirection.UP:
        return 1
    if direction is AlertDirection.DOWN:
        return -1
    if direction is not AlertDirection.BOTH:
        if trace.better is Better.UNKNOWN:
            raise InputError(
                "the better direction of this trace is unknown",
                where=trace.key,
                remedy="Give the direction as up or down.",
            )
        return 1 if (direction is AlertDirection.BETTER) == (trace.better is Better.HIGHER) else -1
    before, after = values[:position], values[position:]
    size = float(np.median(after[~np.isnan(after)][:NEAR]) - np.median(before[~np.isnan(before)][-NEAR:]))
    if not size:
        raise InputError(
            "the values on both sides have the same median",
            where=trace.key,
            remedy="Give the direction as up or down.",
        )
    return 1 if size > 0 else -1


def _check_unknown(store: Store, lines: Lines, change: MissedChange) -> None:
    """Refuse a change that an alert found, or that is marked already."""
    point = _findings_of(store, lines, [change]).get(change.id)
    if point is not None:
        raise InputError(
            f"this change is the finding P{point.id}, which {', '.join(point.alerts)} found",
            where=change.trace_key,
            remedy=f"Decide about it, as in knick triage P{point.id} --as acknowledged.",
        )
    for other in store.findings.missed.of_traces([change.trace_id]):
        if other.movement == change.movement and other.suspect_range == change.suspect_range:
            raise InputError(
                f"this change is already marked, as M{other.id}",
                where=change.trace_key,
                remedy="Remove that mark first to write another note.",
            )


def _findings_of(store: Store, lines: Lines, changes: Iterable[MissedChange]) -> dict[int, ChangePoint]:
    """Return missed change → the live change point that it is, by the rule of identity; others are left out."""
    by_trace: dict[tuple[str, int], list[MissedChange]] = defaultdict(list)
    for change in changes:
        by_trace[lines.line(change.suspect_range.line).name, change.trace_id].append(change)
    points = store.findings.of_traces({trace for _, trace in by_trace})
    found: dict[int, ChangePoint] = {}
    for (name, trace), marked in by_trace.items():
        on_line = [point for point in points.get(trace, ()) if lines.line(point.suspect_range.line).name == name]
        if on_line:
            found |= _matched(store, lines.line(name), marked, on_line)
    return found


def _matched(
    store: Store, line: Line, marked: Sequence[MissedChange], points: Sequence[ChangePoint]
) -> dict[int, ChangePoint]:
    """Match the marks of one trace with its change points on one line."""
    values = store.frames.values(line, [marked[0].trace_id])[0]
    ruler = Ruler(line.positions, np.flatnonzero(~np.isnan(values)))
    old = [(change, step) for change in marked if (step := ruler.locate(change.suspect_range, change.movement))]
    new = [
        (point, step) for point in points if (step := ruler.locate(point.suspect_range, point.movement, point.interval))
    ]
    pairs = match_points([step for _, step in old], [step for _, step in new])
    return {old[i][0].id: new[j][0] for i, j in pairs}


def _described(store: Store, repository: Repository, change: MissedChange) -> str:
    (commit,) = store.commits.get(repository, [change.suspect_range.slot])
    way = "up" if change.movement > 0 else "down"
    return f"M{change.id}: {repository.name}, {change.trace_key} went {way} at {commit.commit.short}"
