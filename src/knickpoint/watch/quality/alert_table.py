"""The table of alerts: what people did with the findings of each alert and method, and what it missed.

It is the table by which the users of change point detection report on their alerts: acknowledged, hidden, ticketed,
missed. Undecided findings are counted, and take no part in the rates.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knickpoint.model.change_point import Condition, Status
from knickpoint.model.quality import FindingRecord, Label
from knickpoint.watch.quality.delays import Delay, delay_to_decision, delay_to_finding
from knickpoint.watch.quality.rates import Rate

__all__ = ["AlertRow", "MissedMark", "alert_rows", "row_of"]


@dataclass(frozen=True, slots=True)
class MissedMark:
    """A missed change: the alerts that watch its trace, and those of them that find it by now."""

    watched_by: frozenset[str]
    found_by: frozenset[str]


@dataclass(frozen=True, slots=True)
class AlertRow:
    """What became of the findings of one alert by one method.

    The four statuses sum to ``findings``. ``gone`` of them are no longer in the data, whatever their status. ``changes``
    and ``tickets`` count different ones. ``missed`` are marks in traces of the alert that it still does not find.
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

    ``methods`` are the alerts that are configured, each with its method: they have a row even without findings. A finding
    that several alerts found counts for each of them. Marks count for the configured method of an alert.
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
