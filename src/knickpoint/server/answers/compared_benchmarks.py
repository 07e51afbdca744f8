"""Build the list of a comparison: its benchmarks, those that changed first, or by suite with a sum for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from knickpoint.gate import GateReport, Standing
from knickpoint.model.step import Verdict
from knickpoint.server.answers.trends import MOST_PARTS, SUITE_PARAMS
from knickpoint.server.schemas.comparisons import ComparedSuiteAnswer, JudgedBenchmarkAnswer

__all__ = ["BenchmarkList", "ListRequest", "list_benchmarks"]

_CHANGED: Final = frozenset({Verdict.REGRESSED, Verdict.IMPROVED})
_FEWEST_TRACES: Final = 2
"""Traces that a suite has on average at least: a sum of one row says nothing that the row does not."""

_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class ListRequest:
    """Which benchmarks are listed: only changes or all, in one list or by suite, and which of them."""

    changed: bool
    by_suite: bool
    first: int
    limit: int


@dataclass(frozen=True, slots=True)
class BenchmarkList:
    """The listed benchmarks, ``total`` in all; ``by`` is the param that parts them into suites, "" where there are none."""

    total: int
    traces: list[JudgedBenchmarkAnswer]
    by: str
    suites: list[ComparedSuiteAnswer]


def list_benchmarks(report: GateReport, wanted: ListRequest) -> BenchmarkList:
    """Return a list, what changed first; by suite, that with the worst row comes first, and its rows follow it."""
    worst = sorted(report.benchmarks, key=lambda each: (*each.changed_first, each.trace, each.unit))
    params = {each.trace: dict(each.params) for each in worst}
    by = _suite_param([params[each.trace] for each in worst]) if wanted.by_suite else ""
    names = {trace: found.get(by, "") if by else "" for trace, found in params.items()}
    counts: dict[str, Counter[Verdict]] = {}
    for each in worst:
        suite = counts.setdefault(names[each.trace], Counter())
        if each.decides:
            suite[each.verdict] += 1
    places = {name: place for place, name in enumerate(counts)}
    worst.sort(key=lambda each: places[names[each.trace]])
    listed = [each for each in worst if not wanted.changed or each.verdict in _CHANGED]
    return BenchmarkList(
        len(listed),
        [
            JudgedBenchmarkAnswer.of(
                each,
                suite=names[each.trace],
                accepted=each.accepted.reason if each.accepted else None,
                fails=report.standing(each) is Standing.FAILS,
                past=_short(each.past),
                new=_short(each.new),
            )
            for each in listed[wanted.first : wanted.first + wanted.limit]
        ],
        by,
        [ComparedSuiteAnswer(name=name, counts=dict(found)) for name, found in counts.items()] if by else [],
    )


def _suite_param(params: Sequence[dict[str, str]]) -> str:
    """Return the first usual param of suites that parts the traces into several, "" for none."""
    for name in SUITE_PARAMS:
        count = len({each.get(name, "") for each in params})
        if 1 < count <= min(MOST_PARTS, len(params) // _FEWEST_TRACES):
            return name
    return ""


def _short(values: tuple[float, ...]) -> list[float]:
    """Return values with as many digits as a drawing shows."""
    return [float(f"{value:.{_DIGITS}g}") for value in values]
