"""Replay an alert: write a history commit by commit into a store of its own, and run the alert as a worker does.

The store is a temporary file. So everything that a run does takes part as it is: detection, filters, identity, groups,
settlement and the announcement ledger. The order is that of the line; results that came late are taken as punctual, and
the value of a commit with re-runs is its final median. Decisions take no part: nothing is hidden while the replay runs.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from knickpoint.model.alert import Alert, AlertKind
from knickpoint.model.change_point import ChangePoint, Condition
from knickpoint.model.commit import Repository
from knickpoint.model.notification import AnnouncementKind
from knickpoint.model.params import decode_key
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite, Store, create_store
from knickpoint.store.commit_rows import Release
from knickpoint.watch.alert_run.run import Progress, run_alerts
from knickpoint.watch.backtest.history import ReplayHistory
from knickpoint.watch.detection.judged_rows import CachingRunner


@dataclass(frozen=True, slots=True)
class ReplayedFinding:
    """A finding that was announced in a replay, with all others of its change.

    ``trace`` is the row of the history. The change lies in the positions (``previous``, ``position``]. ``announced`` is
    the position of the newest commit when its change was announced, ``delay`` the number of values of the trace from
    the change up to there. ``chain`` is the announcement that it belongs to. ``withdrawn`` says that later values took
    it back.
    """

    trace: int
    previous: int
    position: int
    movement: int
    interval: int
    relative_size: float
    announced: int
    delay: int
    chain: int
    withdrawn: bool


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay announced: the findings by trace and position, and how many announcements there were of each kind.

    ``failure`` says why the alert could not run, "" where it could.
    """

    findings: tuple[ReplayedFinding, ...]
    announcements: Mapping[AnnouncementKind, int]
    failure: str = ""


def replay(history: ReplayHistory, alert: Alert, *, every: int = 1, progress: Progress | None = None) -> Replay:
    """Replay ``history`` with ``alert``, ``every`` commits at a time, and return what was announced."""
    with ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="knick-backtest-"))
        store = stack.enter_context(create_store(Path(place) / "store.db"))
        return _Replayer(store, history, alert).run(every, progress)


def _samples_by_position(history: ReplayHistory) -> Mapping[int, Mapping[int, list[tuple[float, ...]]]]:
    """Return, by position and row, the samples of each run; points that are one sample are left out."""
    found: dict[int, dict[int, list[tuple[float, ...]]]] = defaultdict(lambda: defaultdict(list))
    if history.samples is not None:
        entries = history.samples
        runs = np.split(entries.samples, np.cumsum(entries.sizes)[:-1])
        for row, column, run in zip(entries.rows.tolist(), entries.columns.tolist(), runs, strict=False):
            found[column][row].append(tuple(run.tolist()))
    return found


class _Replayer:
    """The state of a replay: its store, and what was announced so far."""

    def __init__(self, store: Store, history: ReplayHistory, alert: Alert) -> None:
        self._store = store
        self._history = history
        self._repository: Repository = store.commits.add_repository(history.repository)
        # The replay knows one repository and one line, and announces what it finds, whatever the alert says.
        self._alert = replace(alert, repository="", line="", every_minutes=0.0, kind=AlertKind.WORK)
        slots = store.commits.add(self._repository, history.commits)
        self._slots = [slots[commit.hash] for commit in history.commits]
        self._positions = {slot: position for position, slot in enumerate(self._slots)}
        self._params = [decode_key(trace.key) for trace in history.traces]
        self._runs = _samples_by_position(history)
        self._runner = CachingRunner()
        self._rows: dict[int, int] = {}
        self._known: dict[int, int] = {}
        self._opened: dict[int, int] = {}
        self._kinds: Counter[AnnouncementKind] = Counter()
        self._last = 0

    def run(self, every: int, progress: Progress | None) -> Replay:
        """Feed everything, and return what was announced."""
        history = self._history
        self._store.commits.set_line(self._repository, "main", self._slots[: history.start + 1])
        failure = self._feed(range(history.start + 1)) if history.start >= 0 else ""
        behind = range(history.start + 1, len(history.commits))
        for begin in range(behind.start, behind.stop, every):
            batch = range(begin, min(begin + every, behind.stop))
            self._store.commits.append_line(self._repository, "main", self._slots[batch.start : batch.stop])
            failure = self._feed(batch) or failure
            self._note_announcements(batch.stop - 1)
            if progress:
                progress(batch.stop - behind.start, len(behind))
        return Replay(tuple(self._findings()), dict(self._kinds), failure)

    def _feed(self, batch: range) -> str:
        """Write the results of some commits and run the alert; return why it could not run, ""."""
        writes = [write for position in batch for write in self._writes(position)]
        if not writes:
            return ""
        if self._history.release >= 0:
            # The release is known from its commit on; until then, all drifts end before it.
            position = min(self._history.release, batch.stop - 1)
            release = Release(self._history.commits[position].hash, self._slots[position])
            self._store.releases.replace(self._repository, {self._alert.since: release})
        self._store.runs.write(self._repository, writes)
        held = ~np.isnan(self._history.values[:, batch.start : batch.stop])
        rows = np.flatnonzero(held.any(axis=1))
        summary = run_alerts(
            self._store,
            [self._alert],
            names=[self._alert.name],
            traces=self._ids(rows.tolist()),
            runner=self._runner,
            as_work=batch.start > self._history.start,
        )
        return summary.failures.get(self._alert.name, "")

    def _writes(self, position: int) -> Iterator[RunWrite]:
        """Yield the results at one commit as runs: one, or as many as a trace has with samples of their own."""
        rows = np.flatnonzero(~np.isnan(self._history.values[:, position])).tolist()
        runs = self._runs[position]
        samples = {row: runs.get(row) or [(float(self._history.values[row, position]),)] for row in rows}
        for number in range(max(map(len, samples.values()), default=0)):
            table = ResultTable.of(
                Result(
                    self._params[row], several[number], self._history.traces[row].unit, self._history.traces[row].better
                )
                for row, several in samples.items()
                if number < len(several)
            )
            name = f"{position}.{number}"
            yield RunWrite(self._slots[position], RunReport(table, identity=name), name, name, "backtest")

    def _ids(self, rows: Sequence[int]) -> list[int]:
        """Return the ids that the traces in ``rows`` of the history have in the store of the replay, ascending."""
        new = [row for row in rows if row not in self._known]
        ids = self._store.traces.find_ids(self._repository, {self._history.traces[row].key for row in new})
        dimensions = {trace.id: trace.dimension for key in ids.values() for trace in self._store.traces.get(key)}
        for row in new:
            trace = self._history.traces[row]
            (found,) = [key for key in ids[trace.key] if dimensions[key] == trace.dimension]
            self._known[row] = found
            self._rows[found] = row
        return sorted(self._known[row] for row in rows)

    def _note_announcements(self, position: int) -> None:
        """Keep which chains opened while ``position`` was the newest commit."""
        while rows := self._store.findings.announcements.after(self._last):
            for row in rows:
                self._kinds[row.kind] += 1
                if row.kind.opens:
                    self._opened[row.chain] = position
            self._last = rows[-1].id

    def _findings(self) -> list[ReplayedFinding]:
        """Return the findings that were announced, by trace and position."""
        points = self._store.findings.announcements.members(self._opened)
        found = [self._finding(point) for point in points]
        return sorted(found, key=lambda each: (each.trace, each.position, each.movement, each.chain))

    def _finding(self, point: ChangePoint) -> ReplayedFinding:
        row = self._rows[point.trace_id]
        position = self._positions[point.suspect_range.slot]
        announced = self._opened[point.announced]
        since = self._history.values[row, position : announced + 1]
        return ReplayedFinding(
            trace=row,
            previous=self._positions.get(point.suspect_range.previous, position - 1),
            position=position,
            movement=point.movement,
            interval=point.interval,
            relative_size=point.numbers.relative_size,
            announced=announced,
            delay=int((~np.isnan(since)).sum()),
            chain=point.announced,
            withdrawn=point.condition is Condition.GONE,
        )
