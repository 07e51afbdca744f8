"""Read findings, decisions and missed changes, and measure the alerts by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Condition, Status
from knickpoint.model.commit import Repository
from knickpoint.model.params import decode_key
from knickpoint.model.quality import FindingRecord, Label
from knickpoint.model.query import Query, parse_query
from knickpoint.store import Store
from knickpoint.watch.missed_changes import list_missed
from knickpoint.watch.quality.alert_table import AlertRow, MissedMark, alert_rows, row_of
from knickpoint.watch.quality.traces import NoisyTrace, noisiest_traces

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
    LabelDoubt.ACKNOWLEDGED_WITHOUT_TICKET: "acknowledged, and no ticket follows it",
    LabelDoubt.HIDDEN_WITH_TICKET: "hidden as noise, and a ticket is about it",
    LabelDoubt.ACKNOWLEDGED_GONE: "acknowledged, and later data no longer show it",
    LabelDoubt.HIDDEN_GONE: "hidden, and later data took it back anyway",
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
