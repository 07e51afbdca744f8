"""The table of alerts: what people did with the findings of each alert and method, and what it missed.

It is the table by which the users of change point detection report on their alerts: acknowledged, hidden, ticketed,
missed. Undecided findings are counted, and take no part in the rates.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from knickpoint.model.change_point import Condition, Status
from knickpoint.model.quality import FindingRecord, Label

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
