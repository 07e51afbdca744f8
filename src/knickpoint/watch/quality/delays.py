"""How long changes take: from the commit to the finding, and from the finding to the first decision of a person."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from knickpoint.model.quality import FindingRecord

__all__ = ["Delay", "delay_to_decision", "delay_to_finding"]


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
    """Return how long after their commits findings were made, where the time of the commit is known."""
    pairs = [(record.committed, record.found) for record in records]
    return Delay.of([_hours(begin, end) for begin, end in pairs if begin is not None and begin <= end])


def delay_to_decision(records: Iterable[FindingRecord]) -> Delay:
    """Return how long findings waited for their first decision, over those that have one."""
    return Delay.of([_hours(record.found, record.decided) for record in records if record.decided is not None])


def _hours(begin: datetime, end: datetime) -> float:
    return (end - begin).total_seconds() / 3600
