"""Alerts: what to watch, how to judge it, and what to report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from knickpoint.model.settlement import DEFAULT_RULE, SettleRule
from knickpoint.model.summary import NO_SUMMARY

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class AlertDirection(Enum):
    """Which movements an alert reports."""

    BOTH = "both"
    WORSE = "worse"
    BETTER = "better"
    UP = "up"
    DOWN = "down"


SINCE_START: Final = "start"
"""A drift is compared with the level where it begins."""

SINCE_BEST: Final = "best"
"""A drift is compared with the best level that the trace had before: several that are small by themselves add up."""


def is_day(since: str) -> bool:
    """Return True if ``since`` of an alert is a date such as ``2026-05-31``, not the name of a release."""
    return _DAY.fullmatch(since) is not None


class AlertKind(Enum):
    """What the findings of an alert are for.

    WORK is to be triaged. INFORMATIONAL findings are listed on request only, and never announced. CANARY findings say
    that machines moved, not code: they are not work either, and hold back findings of the same machines.
    """

    WORK = "work"
    INFORMATIONAL = "informational"
    CANARY = "canary"


class AlertSeverity(Enum):
    """How much a finding of an alert matters: for the order of lists, for messages and for tickets."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """The place in the order: 0 for low, 1 for normal, 2 for high."""
        return tuple(AlertSeverity).index(self)


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert: which traces to watch, with which method, and which steps to report.

    Attributes:
        name: unique in the instance.
        query: text of a query; "" matches every trace.
        repository: name, "" for every repository.
        line: name of the line, "" for the default line of the repository.
        group_by: params; traces with equal values of them form a group. A method for groups, such as ``cluster``,
            judges a group together, and ``minimum_traces`` counts within it.
        method: name of a detection method.
        parameters: parameters of the method.
        direction: which movements to report.
        minimum_effect: smallest |relative size| to report (0.02 is 2 %).
        minimum_change: smallest |size| to report, in the unit of the trace; a step must pass `minimum_effect` as well.
        since: what a drift is compared with: `start`, where it begins; `best`, the best level before it; a date such as
            `2026-05-31`; or a release, by the name of its tag in git.
        samples: whether a commit is judged by all samples of its runs, where several are kept, and not by their median
            alone.
        summary: which summary of the samples of a run is judged instead of their level, such as `p99`
            (:func:`~knickpoint.model.summary.read_summary`); "" for the level.
        minimum_traces: smallest number of traces that must move together.
        window: number of last measured commits of each trace in which steps are reported, 0 for all.
        settle_share: share of the values since a change with which, in a row up to the newest, it must be found to be
            settled.
        settle_least: smallest number of these values; 1 with a share of 0 settles every finding at once.
        settle_most: largest number of these values.
        kind: `work`, `informational` (listed on request, never announced) or `canary` (says that machines moved).
        severity: `low`, `normal` or `high`.
        owners: names of people, or mail addresses, who answer for its findings.
        notify: names of the channels that its findings go to.
        every_minutes: pause between two runs over all its traces. 0: it runs over what changed, whenever results
            arrive.
    """

    name: str
    query: str = ""
    repository: str = ""
    line: str = ""
    group_by: tuple[str, ...] = ()
    method: str = "default"
    parameters: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    direction: AlertDirection = AlertDirection.BOTH
    minimum_effect: float = 0.0
    minimum_change: float = 0.0
    since: str = SINCE_START
    samples: bool = False
    summary: str = NO_SUMMARY
    minimum_traces: int = 1
    window: int = 0
    settle_share: float = DEFAULT_RULE.share
    settle_least: int = DEFAULT_RULE.least
    settle_most: int = DEFAULT_RULE.most
    kind: AlertKind = AlertKind.WORK
    severity: AlertSeverity = AlertSeverity.NORMAL
    owners: tuple[str, ...] = ()
    notify: tuple[str, ...] = ()
    every_minutes: float = 0.0

    @property
    def reads_samples(self) -> bool:
        """Whether it judges what runs measured, and not the points alone."""
        return self.samples or self.summary != NO_SUMMARY

    @property
    def settle_rule(self) -> SettleRule:
        """When a finding of this alert is settled."""
        return SettleRule(self.settle_share, self.settle_least, self.settle_most)
