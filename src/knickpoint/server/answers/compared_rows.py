"""Build the list of a comparison: its rows worst first, or by suite with a sum for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from knickpoint.model.judgement import Judgement, worst_first
from knickpoint.model.params import decode_key
from knickpoint.model.step import Verdict
from knickpoint.model.unit import Better
from knickpoint.server.answers.trends import MOST_PARTS, SUITE_PARAMS
from knickpoint.server.schemas.comparisons import ComparedSuiteAnswer, ComparedTraceAnswer

__all__ = ["ComparedRow", "RowList", "RowRequest", "list_rows"]

_CHANGED: Final = frozenset({Verdict.REGRESSED, Verdict.IMPROVED})
_FEWEST_TRACES: Final = 2
"""Traces that a suite has on average at least: a sum of one row says nothing that the row does not."""

_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """The verdict on one trace, and what it rests on; ``id`` is None where the history does not know the trace."""

    key: str
    id: int | None
    unit: str
    better: Better
    judgement: Judgement
    margin: float
    past: tuple[float, ...]
    new: tuple[float, ...]
    decides: bool


@dataclass(frozen=True, slots=True)
class RowRequest:
    """Which rows are listed: only changes or all, in one list or by suite, and which of them."""

    changed: bool
    by_suite: bool
    first: int
    limit: int


@dataclass(frozen=True, slots=True)
class RowList:
    """The listed rows, ``total`` in all; ``by`` is the param that parts them into suites, "" where there are none."""

    total: int
    traces: list[ComparedTraceAnswer]
    by: str
    suites: list[ComparedSuiteAnswer]


def list_rows(rows: Sequence[ComparedRow], wanted: RowRequest) -> RowList:
    """Return the rows of a list, the worst first; by suite, that with the worst row comes first, and its rows follow it."""
    worst = sorted(rows, key=lambda each: (*worst_first(each.judgement), each.key, each.unit))
    params = {each.key: dict(decode_key(each.key)) for each in worst}
    by = _suite_param([params[each.key] for each in worst]) if wanted.by_suite else ""
    names = {key: found.get(by, "") if by else "" for key, found in params.items()}
    counts: dict[str, Counter[Verdict]] = {}
    for each in worst:
        suite = counts.setdefault(names[each.key], Counter())
        if each.decides:
            suite[each.judgement.verdict] += 1
    places = {name: place for place, name in enumerate(counts)}
    worst.sort(key=lambda each: places[names[each.key]])
    listed = [each for each in worst if not wanted.changed or each.judgement.verdict in _CHANGED]
    page = listed[wanted.first : wanted.first + wanted.limit]
    return RowList(
        len(listed),
        [_row(each, params[each.key], names[each.key]) for each in page],
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


def _row(each: ComparedRow, params: dict[str, str], suite: str) -> ComparedTraceAnswer:
    found = each.judgement
    centre = abs(found.centre)
    margin = each.margin / centre if centre else np.nan
    return ComparedTraceAnswer(
        id=each.id,
        key=each.key,
        params=params,
        suite=suite,
        unit=each.unit,
        better=each.better,
        verdict=found.verdict,
        conditional=found.conditional,
        reason=found.reason,
        decides=each.decides,
        before=found.centre,
        after=found.level,
        change=found.relative_size,
        low=found.relative_size - margin,
        high=found.relative_size + margin,
        detectable=found.detectable_relative,
        past=_short(each.past),
        new=_short(each.new),
    )


def _short(values: tuple[float, ...]) -> list[float]:
    """Return values with as many digits as a drawing shows."""
    return [float(f"{value:.{_DIGITS}g}") for value in values]
