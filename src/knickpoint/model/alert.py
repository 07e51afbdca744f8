"""Alerts: what to watch, how to judge it, and what to report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

__all__ = ["Alert", "AlertDirection"]


class AlertDirection(Enum):
    """Which movements an alert reports."""

    BOTH = "both"
    WORSE = "worse"
    BETTER = "better"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Alert:
    """Watch the traces that ``query`` matches.

    Attributes:
        name: unique in the instance.
        query: text of a query; "" matches every trace.
        repository: name, "" for every repository.
        line: name of the line to look at, "" for the repository's default line.
        group_by: params; traces with equal values of them form a group. A method for groups, such as ``cluster``, judges
            a group together, and ``minimum_traces`` counts within it.
        method: name of a detection method.
        parameters: the method's parameters.
        direction: which movements to report.
        minimum_effect: smallest |relative size| to report (0.02 is 2 %).
        minimum_traces: smallest number of traces that must move together.
        window: report changes in so many of the last measured commits of each trace, 0 for all.
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
    minimum_traces: int = 1
    window: int = 0
