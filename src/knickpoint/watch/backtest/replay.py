"""Replay an alert, and score it: write a history commit by commit into a store of its own, and run the alert over it.

The store is a temporary file. So everything that a run does takes part as it is: detection, filters, identity, groups,
settlement and the announcement ledger. The order is that of the line; results that came late are taken as punctual, and
the value of a commit with re-runs is its final median. Decisions take no part: nothing is hidden while the replay runs.

The score compares what was announced with the labels: found, lost, noise, avoided, new.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

import numpy as np

from knickpoint.model.alert import Alert, AlertKind
from knickpoint.model.change_point import ChangePoint, Condition
from knickpoint.model.commit import Repository
from knickpoint.model.notification import AnnouncementKind
from knickpoint.model.params import decode_key
from knickpoint.model.quality import Label
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite, Store, create_store
from knickpoint.store.commit_rows import Release
from knickpoint.watch.alert_run.run import Progress, run_alerts
from knickpoint.watch.backtest.history import PlacedLabel, ReplayHistory
from knickpoint.watch.detection.judged_rows import CachingRunner
from knickpoint.watch.identity import StepLocation, match_points
from knickpoint.watch.quality.report import Rate


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


class Outcome(Enum):
    """What became of one label or of one announced finding.

    FOUND and LOST are real changes, announced or not. NOISE was announced although people hid it, AVOIDED was hidden
    and is not announced. UNDECIDED was announced and is a finding without a decision, NEW was announced and is no
    finding so far.
    """

    FOUND = "found"
    LOST = "lost"
    NOISE = "noise"
    AVOIDED = "avoided"
    UNDECIDED = "undecided"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class ScoredFinding:
    """One line of the result: a label, the announced finding that is the same change, or both.

    ``position`` is that of the announced finding, else of the label. ``delay`` is in values, None where nothing was
    announced.
    """

    outcome: Outcome
    trace_key: str
    position: int
    relative_size: float
    name: str = ""
    delay: int | None = None
    chain: int = 0


@dataclass(frozen=True, slots=True)
class Score:
    """How an alert would have done.

    ``precision`` is the share of the real changes among the announced findings with a label, ``recall`` the share of
    the real changes that were announced. ``delays`` are the values from each found change to its announcement,
    ascending. ``chains`` counts the announced changes by what people say of their findings, each once: the first of
    real, noise and undecided that one of them is. ``announcements`` counts all rows of the ledger by kind.
    """

    findings: tuple[ScoredFinding, ...]
    chains: Mapping[Label, int]
    announcements: Mapping[AnnouncementKind, int]

    def count(self, outcome: Outcome) -> int:
        """Return the number of findings with ``outcome``."""
        return sum(each.outcome is outcome for each in self.findings)

    @property
    def precision(self) -> Rate:
        """FOUND among FOUND and NOISE."""
        found = self.count(Outcome.FOUND)
        return Rate(found, found + self.count(Outcome.NOISE))

    @property
    def recall(self) -> Rate:
        """FOUND among FOUND and LOST."""
        found = self.count(Outcome.FOUND)
        return Rate(found, found + self.count(Outcome.LOST))

    @property
    def delays(self) -> tuple[int, ...]:
        """The delays of what was FOUND."""
        found = (each.delay for each in self.findings if each.outcome is Outcome.FOUND)
        return tuple(sorted(delay for delay in found if delay is not None))

    def delay(self, percentile: float) -> float:
        """Return a percentile of the delays, nan without any."""
        return float(np.percentile(self.delays, percentile)) if self.delays else float("nan")

    @property
    def messages(self) -> int:
        """How many messages one recipient of everything would have got, each announcement at once."""
        return sum(self.announcements.values())


def score(history: ReplayHistory, replayed: Replay, labels: Sequence[PlacedLabel]) -> Score:
    """Match announced findings with ``labels`` behind the start, trace by trace, by the rule of identity."""
    rows = {trace.id: row for row, trace in enumerate(history.traces)}
    in_row: dict[int, list[PlacedLabel]] = defaultdict(list)
    for label in labels:
        if label.position > history.start and label.trace_id in rows:
            in_row[rows[label.trace_id]].append(label)
    announced: dict[int, list[ReplayedFinding]] = defaultdict(list)
    for finding in replayed.findings:
        announced[finding.trace].append(finding)

    scored: list[ScoredFinding] = []
    chains: dict[int, set[Label]] = defaultdict(set)
    for row in sorted({*in_row, *announced}):
        for each in _score_row(history, row, in_row[row], announced[row]):
            scored.append(each)
            if each.chain:
                chains[each.chain].add(_LABELS[each.outcome])
    order = list(Label)
    heard = [min(labels_of_chain, key=order.index) for labels_of_chain in chains.values()]
    return Score(tuple(scored), {label: heard.count(label) for label in Label}, replayed.announcements)


_LABELS: Mapping[Outcome, Label] = {
    Outcome.FOUND: Label.REAL,
    Outcome.NOISE: Label.NOISE,
    Outcome.UNDECIDED: Label.UNDECIDED,
    Outcome.NEW: Label.UNDECIDED,
}


def _score_row(
    history: ReplayHistory, row: int, labels: Sequence[PlacedLabel], findings: Sequence[ReplayedFinding]
) -> list[ScoredFinding]:
    measured = np.flatnonzero(~np.isnan(history.values[row]))

    def locate(each: PlacedLabel | ReplayedFinding) -> StepLocation:
        rank = int(np.searchsorted(measured, each.position))
        return StepLocation(each.previous, each.position, rank, each.movement, each.interval)

    # Decisions first: where a hidden and a real change are near to each other, an undecided one takes neither.
    partner: dict[int, PlacedLabel] = {}
    matched: set[int] = set()
    for wanted in (True, False):
        chosen = [label for label in labels if (label.label is not Label.UNDECIDED) is wanted]
        for i, j in match_points([locate(each) for each in chosen], [locate(each) for each in findings], taken=partner):
            partner[j] = chosen[i]
            matched.add(id(chosen[i]))
    key = history.traces[row].key
    found = [_announced(key, finding, partner.get(j)) for j, finding in enumerate(findings)]
    found += [
        ScoredFinding(
            Outcome.LOST if label.label is Label.REAL else Outcome.AVOIDED,
            key,
            label.position,
            label.relative_size,
            label.name,
        )
        for label in labels
        if id(label) not in matched and label.label is not Label.UNDECIDED
    ]
    return sorted(found, key=lambda each: (each.position, each.outcome.value, each.name))


def _announced(key: str, finding: ReplayedFinding, label: PlacedLabel | None) -> ScoredFinding:
    """Return the line of an announced finding with its label; missed or withdrawn, what was announced was announced."""
    outcome = Outcome.NEW if label is None else _OUTCOMES[label.label]
    name = label.name if label else ""
    return ScoredFinding(
        outcome, key, finding.position, finding.relative_size, name, delay=finding.delay, chain=finding.chain
    )


_OUTCOMES: Mapping[Label, Outcome] = {
    Label.REAL: Outcome.FOUND,
    Label.NOISE: Outcome.NOISE,
    Label.UNDECIDED: Outcome.UNDECIDED,
}
