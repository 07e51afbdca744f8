"""Report how far long work is.

A report is a context variable, as the budget of a request is (:mod:`knickpoint.budget`): no function between the
request and the work passes it on. Where nobody waits, reporting costs one look-up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import Enum


class Stage(Enum):
    """What a clustering does: read values, group traces by k-means, or fit steps to the groups."""

    READING = "reading"
    GROUPING = "grouping"
    FITTING = "fitting"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far work is: its stage, the start of k-means among all ``starts``, from 1 on, and its iteration."""

    stage: Stage
    start: int = 0
    starts: int = 0
    iteration: int = 0


class Report:
    """The last reported progress; None before the first report."""

    newest: Progress | None = None


_REPORT: ContextVar[Report | None] = ContextVar("report", default=None)


@contextmanager
def reporting(report: Report | None = None) -> Iterator[Report]:
    """Let all work that begins within a ``with`` report its progress to ``report``, a new one by default."""
    report = report or Report()
    token = _REPORT.set(report)
    try:
        yield report
    finally:
        _REPORT.reset(token)


def report_progress(stage: Stage, **facts: int) -> None:
    """Report that the work is at ``stage``.

    Of the other fields of :class:`Progress`, ``facts`` are new and the rest as before.
    """
    report = _REPORT.get()
    if report is not None:
        report.newest = replace(report.newest or Progress(stage), stage=stage, **facts)
