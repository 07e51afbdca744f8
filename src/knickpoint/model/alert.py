"""Alerts: what to watch, how to judge it, what to report; and as the plain values that are stored and compared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from functools import cache, lru_cache
from typing import Any, Final, get_type_hints

from knickpoint.model.errors import StoreError
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
        summary: which summary of the samples of a run is judged instead of their level, such as `p99`; "" for
            the level.
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


_AFTERWARDS: Final = frozenset({"kind", "severity", "owners", "notify", "every_minutes"})
"""Settings about what happens with findings, and about when the alert runs: they do not change what it finds."""

_BY_WEIGHT: Final = (AlertKind.WORK, AlertKind.CANARY, AlertKind.INFORMATIONAL)
_BY_URGENCY: Final = (AlertSeverity.HIGH, AlertSeverity.NORMAL, AlertSeverity.LOW)


def alert_settings(alert: Alert) -> dict[str, object]:
    """Return the settings of ``alert`` but for its name, as plain values."""

    def plain(value: object) -> object:
        if isinstance(value, Enum):
            return value.value
        return list(value) if isinstance(value, tuple) else value

    return {name: plain(value) for name, value in asdict(alert).items() if name != "name"}


def judging_settings(alert: Alert) -> dict[str, object]:
    """Return those of :func:`alert_settings` on which depends what ``alert`` finds."""
    return {name: value for name, value in alert_settings(alert).items() if name not in _AFTERWARDS}


def alert_from(name: str, settings: Mapping[str, Any]) -> Alert:
    """Return the alert ``name`` with plain ``settings``, as :func:`alert_settings` returns them.

    Settings that this version does not know are left out; those that are missing have their defaults.
    """
    hints = _hints()
    values: dict[str, Any] = {}
    for each in fields(Alert):
        if each.name not in settings or each.name == "name":
            continue
        value, hint = settings[each.name], hints[each.name]
        if isinstance(value, list):
            value = tuple(value)
        elif isinstance(hint, type) and issubclass(hint, Enum):
            value = hint(value)
        values[each.name] = value
    return Alert(name, **values)


@lru_cache(maxsize=4096)
def alert_from_json(name: str, definition: str) -> Alert:
    """Return :func:`alert_from` of the settings that are written as JSON in ``definition``.

    The alerts of a store are read with most answers and seldom change, so they are kept. The settings of an alert must
    not be changed in place.

    Raises:
        StoreError: the text is damaged.
    """
    try:
        return alert_from(name, settings_from_json(name, definition))
    except ValueError as error:
        raise _damaged(name, error) from error


def settings_from_json(name: str, definition: str) -> Mapping[str, Any]:
    """Return the settings that are stored as JSON in ``definition``.

    Raises:
        StoreError: the text is damaged.
    """
    try:
        return {**json.loads(definition)}
    except (TypeError, ValueError) as error:
        raise _damaged(name, error) from error


def _damaged(name: str, error: Exception) -> StoreError:
    return StoreError(
        f"the stored settings of the alert {name!r} are damaged ({error})",
        remedy="Run knick doctor --deep, and restore the newest backup with knick restore.",
    )


@cache
def _hints() -> Mapping[str, Any]:
    return get_type_hints(Alert)


def kind_of_finding(alerts: Iterable[Alert]) -> AlertKind:
    """Return the kind of a finding that ``alerts`` found: work where one of them finds work.

    Canary before informational.

    Without alerts it is work: nothing that a person may have to look at is left out.
    """
    kinds = {alert.kind for alert in alerts}
    return next((kind for kind in _BY_WEIGHT if kind in kinds), AlertKind.WORK)


def severity_of_finding(alerts: Iterable[Alert]) -> AlertSeverity:
    """Return the highest severity of ``alerts``, normal without any.

    Alerts of a lesser kind than the finding do not count.
    """
    known = list(alerts)
    kind = kind_of_finding(known)
    severities = {alert.severity for alert in known if alert.kind is kind}
    return next((severity for severity in _BY_URGENCY if severity in severities), AlertSeverity.NORMAL)
