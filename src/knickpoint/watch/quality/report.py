"""Measure the alerts by findings, decisions and missed changes: a table of alerts, and one of noisy traces.

It is the table by which the users of change point detection report on their alerts: acknowledged, hidden, ticketed,
missed. Undecided findings are counted, and take no part in the rates.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Condition, Status
from knickpoint.model.commit import Repository
from knickpoint.model.distribution import MAD
from knickpoint.model.params import decode_key
from knickpoint.model.quality import FindingRecord, Label
from knickpoint.model.query import Query, parse_query
from knickpoint.store import Store
from knickpoint.watch.missed_changes import list_missed

# How long changes take: from the commit to the finding, and from the finding to the first decision of a person.


@dataclass(frozen=True, slots=True)
class Delay:
    """The median and the 90th percentile of ``count`` times, in hours; nan without any."""

    count: int
    median: float
    p90: float

    @classmethod
    def of(cls, hours: Sequence[float]) -> Delay:
        """Summarise times in hours."""
        if not hours:
            return cls(0, math.nan, math.nan)
        median, p90 = np.percentile(hours, [50, 90])
        return cls(len(hours), float(median), float(p90))


def delay_to_finding(records: Iterable[FindingRecord]) -> Delay:
    """Return the delays from commits to findings, where the time of the commit is known."""
    pairs = [(record.committed, record.found) for record in records]
    return Delay.of([_hours(begin, end) for begin, end in pairs if begin is not None and begin <= end])


def delay_to_decision(records: Iterable[FindingRecord]) -> Delay:
    """Return the delays from findings to their first decision, over those that have one."""
    return Delay.of([_hours(record.found, record.decided) for record in records if record.decided is not None])


def _hours(begin: datetime, end: datetime) -> float:
    return (end - begin).total_seconds() / 3600


# Shares of counts, with intervals that hold for few counts as well.
#
# The interval is the one of Wilson, "Probable inference, the law of succession, and statistical inference", J. Am.
# Stat. Assoc. 22 (1927): the shares that a test with the normal approximation would not reject. Unlike the share with
# its own standard error, it stays in [0, 1] and is not empty at 0 of n and at n of n.


_Z: Final = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: intervals hold 95 %."""


@dataclass(frozen=True, slots=True)
class Rate:
    """``part`` of ``whole`` counts."""

    part: int
    whole: int

    @property
    def share(self) -> float:
        """The part over the whole, nan where there is nothing."""
        return self.part / self.whole if self.whole else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the share, (0, 1) where there is nothing."""
        if not self.whole:
            return 0.0, 1.0
        number, square = self.whole, _Z * _Z
        centre = (self.part + square / 2) / (number + square)
        spread = self.part * (number - self.part) / number + square / 4
        half = _Z * math.sqrt(spread) / (number + square)
        return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, slots=True)
class MissedMark:
    """A missed change: the alerts that watch its trace, and those of them that find it by now."""

    watched_by: frozenset[str]
    found_by: frozenset[str]


@dataclass(frozen=True, slots=True)
class AlertRow:
    """What became of the findings of one alert by one method.

    The four statuses sum to ``findings``. ``gone`` of them are no longer in the data, whatever their status.
    ``changes`` and ``tickets`` count different ones. ``missed`` are marks in traces of the alert that it still does not
    find.
    """

    alert: str
    method: str
    findings: int
    acknowledged: int
    hidden: int
    ticketed: int
    undecided: int
    gone: int
    changes: int
    tickets: int
    missed: int
    to_finding: Delay
    to_decision: Delay

    @property
    def precision(self) -> Rate:
        """The share of the decided findings that people acknowledged or ticketed."""
        real = self.acknowledged + self.ticketed
        return Rate(real, real + self.hidden)

    @property
    def recall(self) -> Rate:
        """The share of the real changes that the alert found, of those that people know of: found or marked."""
        real = self.acknowledged + self.ticketed
        return Rate(real, real + self.missed)

    @property
    def findings_a_ticket(self) -> float:
        """How many findings a person sees for each ticket, nan without tickets."""
        return self.findings / self.tickets if self.tickets else math.nan


def row_of(alert: str, method: str, records: Sequence[FindingRecord], missed: int) -> AlertRow:
    """Count ``records`` as one row."""
    statuses = [record.status for record in records]
    return AlertRow(
        alert=alert,
        method=method,
        findings=len(records),
        acknowledged=statuses.count(Status.ACKNOWLEDGED),
        hidden=statuses.count(Status.HIDDEN),
        ticketed=statuses.count(Status.TICKET),
        undecided=statuses.count(Status.NEW),
        gone=sum(record.condition is Condition.GONE for record in records),
        changes=len({record.change_id for record in records}),
        tickets=len({record.ticket for record in records if record.ticket and record.label is Label.REAL}),
        missed=missed,
        to_finding=delay_to_finding(records),
        to_decision=delay_to_decision(records),
    )


def alert_rows(
    records: Iterable[FindingRecord], marks: Sequence[MissedMark], methods: Iterable[tuple[str, str]]
) -> list[AlertRow]:
    """Return one row for each alert and method, by name.

    ``methods`` are the alerts that are configured, each with its method: they have a row even without findings. A
    finding that several alerts found counts for each of them. Marks count for the configured method of an alert.
    """
    found: dict[tuple[str, str], list[FindingRecord]] = defaultdict(list)
    for record in records:
        for pair in record.methods.items():
            found[pair].append(record)
    configured = dict(methods)
    pairs = sorted({*found, *configured.items()})
    return [
        row_of(
            alert,
            method,
            found.get((alert, method), ()),
            _missed(marks, alert) if configured.get(alert) == method else 0,
        )
        for alert, method in pairs
    ]


def _missed(marks: Iterable[MissedMark], alert: str) -> int:
    return sum(alert in mark.watched_by and alert not in mark.found_by for mark in marks)


# The noisiest traces: those whose findings people hid, or later data took back, most often.


@dataclass(frozen=True, slots=True)
class NoisyTrace:
    """What became of the findings of one trace.

    ``hidden`` and ``real`` count labels. ``gone`` counts the undecided ones that later data took back. ``share`` is its
    part of all hidden findings, ``cumulated`` that of this trace and the noisier ones before it.
    """

    repository_id: int
    trace_id: int
    trace_key: str
    findings: int
    hidden: int
    real: int
    gone: int
    share: float
    cumulated: float


def noisiest_traces(records: Iterable[FindingRecord], repositories: dict[int, int]) -> list[NoisyTrace]:
    """Return the traces with hidden or vanished findings, the noisiest first: by hidden, by gone, then by key.

    ``repositories`` is finding → id of its repository.
    """
    listed = list(records)
    total = sum(record.label is Label.NOISE for record in listed)
    # Most traces have neither: theirs are not counted.
    by_trace: dict[int, list[FindingRecord]] = {record.trace_id: [] for record in listed if _is_noisy(record)}
    for record in listed:
        if record.trace_id in by_trace:
            by_trace[record.trace_id].append(record)
    noisy = [(key, several, _hidden(several), _gone(several)) for key, several in by_trace.items()]
    noisy.sort(key=lambda each: (-each[2], -each[3], each[1][0].trace_key, each[0]))
    found: list[NoisyTrace] = []
    before = 0
    for key, several, hidden, gone in noisy:
        before += hidden
        found.append(
            NoisyTrace(
                repository_id=repositories[several[0].id],
                trace_id=key,
                trace_key=several[0].trace_key,
                findings=len(several),
                hidden=hidden,
                real=sum(record.label is Label.REAL for record in several),
                gone=gone,
                share=hidden / total if total else 0.0,
                cumulated=before / total if total else 0.0,
            )
        )
    return found


def traces_for_share(traces: Sequence[NoisyTrace], share: float) -> list[NoisyTrace]:
    """Return the fewest of ``traces``, the noisiest first, that made at least ``share`` of what was hidden."""
    found: list[NoisyTrace] = []
    for trace in traces:
        if not trace.hidden:
            break
        found.append(trace)
        if trace.cumulated >= share:
            break
    return found


def _is_noisy(record: FindingRecord) -> bool:
    return record.label is Label.NOISE or _is_taken_back(record)


def _is_taken_back(record: FindingRecord) -> bool:
    return record.condition is Condition.GONE and record.label is Label.UNDECIDED


def _hidden(records: Iterable[FindingRecord]) -> int:
    return sum(record.label is Label.NOISE for record in records)


def _gone(records: Iterable[FindingRecord]) -> int:
    return sum(map(_is_taken_back, records))


# The smallest change that a trace could show: how large a step must be for the default method to find most of them.
#
# For a step between ``before`` and ``after`` values with independent noise of the standard deviation s, the default
# method finds four of five steps of the size :data:`FACTOR` · s · √(1/before + 1/after). The root is the standard error
# of the difference between the means of both sides. A test of one known place would need 2.8 of them for that power at
# 5 %; the rest is the price of not knowing the place. The factor is measured by simulation, and a test repeats it.


FACTOR: Final = 5.75
AFTER: Final = 20
"""Values after a change at which it should be found."""


@dataclass(frozen=True, slots=True)
class DetectableChange:
    """The smallest change that ``after`` values could show behind the ``before`` values of the newest stable region.

    ``size`` is in the unit of the trace, ``relative_size`` that over the |median| of the region, inf where that is 0.
    """

    before: int
    after: int
    deviation: float
    size: float
    relative_size: float


def detectable_size(deviation: float, before: int, after: int) -> float:
    """Return the size of a step that the default method finds in four of five cases."""
    return FACTOR * deviation * math.sqrt(1 / before + 1 / after)


def detectable_change(values: NDArray[np.float64], *, after: int = AFTER) -> DetectableChange | None:
    """Return the smallest change behind ``values``, the newest stable region without gaps; None below four values.

    The deviation is the robust one of the median absolute deviation.
    """
    if values.size < 4:
        return None
    centre = float(np.median(values))
    deviation = MAD * float(np.median(np.abs(values - centre)))
    size = detectable_size(deviation, values.size, after)
    return DetectableChange(values.size, after, deviation, size, size / abs(centre) if centre else math.inf)


# Read the smallest change that each of some traces could show with its next values.


def smallest_changes(
    store: Store, repositories: Sequence[Repository], traces: Sequence[NoisyTrace]
) -> dict[int, DetectableChange]:
    """Return the smallest change that each of ``traces`` could show behind its newest finding, by id.

    Traces with fewer than four values there are left out.
    """
    found: dict[int, DetectableChange] = {}
    for repository in repositories:
        ids = sorted(each.trace_id for each in traces if each.repository_id == repository.id)
        if ids:
            found |= _in_repository(store, repository, ids)
    return found


def _in_repository(store: Store, repository: Repository, trace_ids: Sequence[int]) -> dict[int, DetectableChange]:
    line = store.commits.line(repository)
    points = store.findings.of_traces(trace_ids)
    found: dict[int, DetectableChange] = {}
    for key, row in zip(trace_ids, store.frames.values(line, trace_ids), strict=True):
        places = [
            line.positions.get(point.suspect_range.slot, 0)
            for point in points.get(key, ())
            if point.condition is not Condition.GONE
        ]
        values = np.asarray(row[max(places, default=0) :], dtype=np.float64)
        change = detectable_change(values[~np.isnan(values)])
        if change is not None:
            found[key] = change
    return found


# The audit of labels: decisions that contradict each other or the data, as lists that a person can go through.
#
# Labels measure the alerts and train what comes after them, so wrong ones cost twice. The usual causes are a whole
# group that is acknowledged because of one member, and the wrong button.


class LabelDoubt(Enum):
    """Why a label is in doubt."""

    ACKNOWLEDGED_WITHOUT_TICKET = "acknowledged-without-ticket"
    HIDDEN_WITH_TICKET = "hidden-with-ticket"
    ACKNOWLEDGED_GONE = "acknowledged-gone"
    HIDDEN_GONE = "hidden-gone"
    ACKNOWLEDGED_WITHIN_NOISE = "acknowledged-within-noise"
    MIXED = "mixed"

    @property
    def meaning(self) -> str:
        """What the list holds, in words."""
        return _MEANINGS[self]


_MEANINGS: Final[Mapping[LabelDoubt, str]] = {
    LabelDoubt.ACKNOWLEDGED_WITHOUT_TICKET: "acknowledged, without a ticket",
    LabelDoubt.HIDDEN_WITH_TICKET: "hidden as noise, and a ticket is about it",
    LabelDoubt.ACKNOWLEDGED_GONE: "acknowledged, and later data no longer show it",
    LabelDoubt.HIDDEN_GONE: "hidden, and gone from later data",
    LabelDoubt.ACKNOWLEDGED_WITHIN_NOISE: "acknowledged, and smaller than the deviation of single values",
    LabelDoubt.MIXED: "of a change in which some findings count as real and others as noise",
}

_DOUBTS: Final[Mapping[LabelDoubt, Callable[[FindingRecord], bool]]] = {
    LabelDoubt.ACKNOWLEDGED_WITHOUT_TICKET: lambda each: each.status is Status.ACKNOWLEDGED and not each.ticket,
    LabelDoubt.HIDDEN_WITH_TICKET: lambda each: each.status is Status.HIDDEN and bool(each.ticket),
    LabelDoubt.ACKNOWLEDGED_GONE: lambda each: each.status is Status.ACKNOWLEDGED and each.condition is Condition.GONE,
    LabelDoubt.HIDDEN_GONE: lambda each: each.status is Status.HIDDEN and each.condition is Condition.GONE,
    LabelDoubt.ACKNOWLEDGED_WITHIN_NOISE: lambda each: (
        each.status is Status.ACKNOWLEDGED and abs(each.size) < each.deviation
    ),
}


@dataclass(frozen=True, slots=True)
class AuditedList:
    """The findings whose label is in doubt for one reason, the newest first."""

    doubt: LabelDoubt
    records: tuple[FindingRecord, ...]


def audit_labels(records: Iterable[FindingRecord]) -> list[AuditedList]:
    """Return one list for each doubt, in the order of :class:`LabelDoubt`; a finding may be in several."""
    decided = [record for record in records if record.label is not Label.UNDECIDED]
    newest = sorted(decided, key=lambda record: (record.found, record.id), reverse=True)
    mixed = _mixed_changes(newest)
    lists = [AuditedList(doubt, tuple(each for each in newest if holds(each))) for doubt, holds in _DOUBTS.items()]
    return [*lists, AuditedList(LabelDoubt.MIXED, tuple(each for each in newest if each.change_id in mixed))]


def _mixed_changes(records: Sequence[FindingRecord]) -> set[int]:
    real, noise = (
        {record.change_id for record in records if record.label is label} for label in (Label.REAL, Label.NOISE)
    )
    return real & noise


@dataclass(frozen=True, slots=True)
class Period:
    """Findings count when they were found, and marks when they were made, from ``since`` on and before ``until``."""

    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class QualityReport:
    """The measures of all alerts in a period.

    ``total`` counts each finding once, however many alerts found it; its missed changes are those that no alert finds.
    ``records`` are the findings that were measured.
    """

    period: Period
    records: tuple[FindingRecord, ...]
    rows: tuple[AlertRow, ...]
    total: AlertRow
    audit: tuple[AuditedList, ...]
    noisiest: tuple[NoisyTrace, ...]


def read_records(
    store: Store, repositories: Iterable[Repository], period: Period = Period()
) -> dict[int, list[FindingRecord]]:
    """Return the findings of ``repositories`` in ``period``, by id of the repository."""
    return {each.id: store.findings.records.all(each, since=period.since, until=period.until) for each in repositories}


def list_records(store: Store, repositories: Iterable[Repository], period: Period = Period()) -> list[FindingRecord]:
    """Return the findings of ``repositories`` in ``period``, one repository after the other."""
    return [record for several in read_records(store, repositories, period).values() for record in several]


def measure_quality(
    store: Store, alerts: Sequence[Alert], repositories: Sequence[Repository], period: Period = Period()
) -> QualityReport:
    """Measure ``alerts`` in ``repositories`` by what people decided about the findings of ``period``."""
    with store.database.reading():
        by_repository = read_records(store, repositories, period)
        marks = [mark for each in repositories for mark in _marks(store, alerts, each, period)]
    records = [record for several in by_repository.values() for record in several]
    owners = {record.id: key for key, several in by_repository.items() for record in several}
    open_marks = sum(not mark.found_by for mark in marks)
    return QualityReport(
        period=period,
        records=tuple(records),
        rows=tuple(alert_rows(records, marks, [(alert.name, alert.method) for alert in alerts])),
        total=row_of("", "", records, open_marks),
        audit=tuple(audit_labels(records)),
        noisiest=tuple(noisiest_traces(records, owners)),
    )


def _marks(store: Store, alerts: Sequence[Alert], repository: Repository, period: Period) -> list[MissedMark]:
    """Return the missed changes of a repository, each with the alerts that watch its trace and that find it by now."""
    changes = store.findings.missed.all(repository, since=period.since, until=period.until)
    queries: Mapping[str, Query] = {
        alert.name: parse_query(alert.query) for alert in alerts if alert.repository in {"", repository.name}
    }
    found = []
    for listed in list_missed(store, repository, changes):
        params = decode_key(listed.change.trace_key)
        watching = frozenset(name for name, query in queries.items() if query.matches(params))
        found.append(MissedMark(watching, frozenset(listed.point.alerts if listed.point else ())))
    return found
