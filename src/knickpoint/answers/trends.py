"""Sums of many traces: the geometric mean of a query, and of its parts by one param."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from knickpoint.answers.base import Answer, ChangeId, FiniteOrNull
from knickpoint.answers.visible_repositories import UnknownError
from knickpoint.calc import Trend, combine_trends, trend_of
from knickpoint.model.change_point import Direction
from knickpoint.model.commit import Line
from knickpoint.model.query import parse_query
from knickpoint.model.unit_names import Better
from knickpoint.store import Store
from knickpoint.store.findings.selection import ChangeMark


class TrendMarkAnswer(Answer):
    """A finding in the drawing of a sum."""

    index: int = Field(description="Index of its commit in `points`.")
    direction: Direction = Field(description="The one whose findings there have the largest sum of sizes.")
    findings: int
    change: ChangeId = Field(description="The change of the largest finding in this direction.")
    size: FiniteOrNull = Field(description="|ln(before / after)| of that finding; null if it is unknown.")
    undone: bool = Field(description="Whether the level before is back, for all of them.")


class TrendAnswer(Answer):
    """How the geometric mean of some traces went, relative to the beginning of the range of commits.

    Where it has traces for which lower is better, those for which higher is better count by their inverse.
    """

    value: str = Field(description="Their value of the param; empty for all, or for traces without the param.")
    traces: int
    read: int = Field(description="How many of them were read. The sum of the others is part of the uncertainty.")
    used: int = Field(description="How many of those have values at both ends of the range.")
    better: Better = Field(description="Which side of 1 is better; `higher` where that is so for all of its traces.")
    change: float | None = Field(
        description="Relative change from the beginning to the end: 0.02 is 2 %; null if unknown."
    )
    low: float | None = Field(description="Lower end of the 95 % interval of the change.")
    high: float | None
    points: list[float | None] = Field(description="The sum at evenly spread commits, 1 at the beginning.")
    measured: list[float] = Field(description="At the same commits, the share of the read traces that have a value.")
    marks: list[TrendMarkAnswer]


class TrendsAnswer(Answer):
    """The sums of a query: of all of it, and of its parts."""

    repository: str
    line: str
    first: int = Field(description="Position of the first commit of the range.")
    last: int
    positions: list[int] = Field(description="Position of the commit of each point.")
    times: list[datetime] = Field(description="Time of the commit of each point.")
    directed: bool = Field(description="Whether a direction is known.")
    by: str = Field(description="The param that the parts differ in; empty without parts.")
    choices: list[str] = Field(description="Params that can part the query.")
    total: TrendAnswer
    parts: list[TrendAnswer] = Field(description="At most 60, the worst first.")


# Build the sums of many traces: how a project goes, and each of its suites.
#
# Not all values are read: of each part, a few chunks of traces are chosen, spread evenly over its ids, and a few traces
# in each. What is read is bounded, whatever the size of the instance.


MOST_PARTS: Final = 60
"""Parts of one answer."""

SUITE_PARAMS: Final = ("suite", "group", "module", "component", "category", "package", "benchmark", "test", "name")
"""Params that people part their benchmarks by, the usual ones first."""

_MOST_READ: Final = 1536
"""Traces that are read for one answer."""

_MOST_CHUNKS: Final = 96
"""Chunks of 1,024 traces that are read of, for one answer."""

_CHUNK: Final = 1024
_FEWEST_READ: Final = 8
_POINTS: Final = 80
_MOST_MARKS: Final = 24
_NEWEST_FINDINGS: Final = 5000
_ALL: Final = -1
_DIGITS: Final = 5
_TWO_SIDED_95: Final = 1.959964


@dataclass(frozen=True, slots=True)
class TrendRange:
    """What is summed: the newest ``commits`` of ``line``, the traces of ``query``, parted by a param.

    ``by`` is "" for the usual param.
    """

    line: Line
    query: str
    by: str
    commits: int


@dataclass(frozen=True)
class _Sample:
    """The traces that are read of one part, and which of all traces the part has."""

    value: str
    ids: NDArray[np.int64]
    read: NDArray[np.int64]


def read_trends(store: Store, wanted: TrendRange) -> TrendsAnswer:
    """Return the sums of a query.

    Raises:
        QueryError: the query cannot be read.
        UnknownError: the traces cannot be split by the param.
    """
    line = wanted.line
    query = parse_query(wanted.query)
    facets = store.traces.facets(line.repository, query)
    total = len(store.traces.select(line.repository, query))
    choices = [name for name, counts in facets.items() if 1 < len(counts) <= MOST_PARTS]
    by = wanted.by or next((name for name in SUITE_PARAMS if name in choices), "")
    if by and by not in choices:
        raise UnknownError(
            f"the traces cannot be split by {by!r}",
            where="by",
            remedy=f"Choose a param with 2 to {MOST_PARTS} values: {', '.join(choices) or 'there is none'}.",
        )
    first = max(0, len(line.slots) - wanted.commits)
    last = len(line.slots) - 1
    samples = _samples(store.traces.partition(line.repository, query, by)) if total else []
    values, signs, directed = _read(store, line, samples, first, last)
    trends = [_trend(sample, values, signs) for sample in samples]
    columns = _columns(last - first + 1)
    marks = _marks(store, line, samples, first, columns)
    parts = [
        _answer(sample, trend, values, columns, marks.get(number, []), better=_better(sample, signs, directed=directed))
        for number, (sample, trend) in enumerate(zip(samples, trends, strict=True))
    ]
    everything = _Sample(
        "", *(np.sort(np.concatenate([_NO_IDS, *(part[field] for part in map(_ids, samples))])) for field in (0, 1))
    )
    whole = combine_trends(trends) or Trend(np.full(last - first + 1, math.nan), math.nan, math.nan, 0, total)
    return TrendsAnswer(
        repository=line.repository.name,
        line=line.name,
        first=first,
        last=max(last, 0),
        positions=(columns + first).tolist(),
        times=_times(store, line, (columns + first).tolist()),
        directed=directed,
        by=by,
        choices=sorted(choices),
        total=_answer(
            everything,
            whole,
            values,
            columns,
            marks.get(_ALL, []),
            better=_better(everything, signs, directed=directed),
        ),
        parts=sorted(parts, key=_badness) if by else [],
    )


def _times(store: Store, line: Line, positions: Sequence[int]) -> list[datetime]:
    slots = [line.slots[position] for position in positions if position < len(line.slots)]
    times = {found.slot: found.commit.time for found in store.commits.get(line.repository, slots)}
    return [times[slot] for slot in slots]


_NO_IDS: Final = np.zeros(0, dtype=np.int64)


def _ids(sample: _Sample) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return sample.ids, sample.read


def _samples(parts: Mapping[str, NDArray[np.int64]]) -> list[_Sample]:
    """Choose the traces to read of each part: all of a small one, a few from several chunks of a large one."""
    most = max(_FEWEST_READ, _MOST_READ // len(parts))
    chunks = max(1, _MOST_CHUNKS // len(parts))
    return [_Sample(value, ids, _spread(ids, most, chunks)) for value, ids in parts.items()]


def _spread(ids: NDArray[np.int64], most: int, chunks: int) -> NDArray[np.int64]:
    there = np.unique(ids // _CHUNK)
    if len(ids) <= most and len(there) <= chunks:
        return ids
    chosen = _evenly(there, chunks)
    each = max(1, most // len(chosen))
    bounds = np.searchsorted(ids, [chosen * _CHUNK, (chosen + 1) * _CHUNK])
    return np.concatenate([_evenly(ids[begin:end], each) for begin, end in bounds.T.tolist()])


def _evenly(ids: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    if len(ids) <= most:
        return ids
    return ids[np.linspace(0, len(ids) - 1, most).round().astype(np.int64)]


class _Values:
    """The values that were read, by trace."""

    def __init__(self, ids: NDArray[np.int64], values: NDArray[np.floating]) -> None:
        self._ids = ids
        self._values = values

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.floating]:
        return self._values[np.searchsorted(self._ids, ids)]


def _read(
    store: Store, line: Line, samples: Sequence[_Sample], first: int, last: int
) -> tuple[_Values, Mapping[int, float], bool]:
    """Return values, the sign of each trace that counts, and whether its direction is known.

    Traces without a direction count only where no other ones were read.
    """
    ids = np.sort(np.concatenate([_NO_IDS, *(sample.read for sample in samples)]))
    values = store.frames.values(line, ids, first=first, last=last)
    betters = {trace.id: trace.better for trace in store.traces.get(ids)}
    signs = {
        key: -1.0 if better is Better.HIGHER else 1.0 for key, better in betters.items() if better is not Better.UNKNOWN
    }
    directed = bool(signs) or not betters
    return _Values(ids, values), signs or dict.fromkeys(betters, 1.0), directed


def _trend(sample: _Sample, values: _Values, signs: Mapping[int, float]) -> Trend:
    ids = np.array([key for key in sample.read.tolist() if key in signs], dtype=np.int64)
    return trend_of(values.of(ids), np.array([signs[key] for key in ids.tolist()]), len(sample.ids))


def _better(sample: _Sample, signs: Mapping[int, float], *, directed: bool) -> Better:
    """Return the better side of 1 for a part: that of its traces, if all agree, else below 1."""
    if not directed:
        return Better.UNKNOWN
    agree = {signs[key] for key in sample.read.tolist() if key in signs} == {-1.0}
    return Better.HIGHER if agree else Better.LOWER


def _columns(commits: int) -> NDArray[np.int64]:
    """Return the indices of the commits that are drawn."""
    return np.unique(np.linspace(0, max(0, commits - 1), min(_POINTS, commits)).round().astype(np.int64))


def _marks(
    store: Store, line: Line, samples: Sequence[_Sample], first: int, columns: NDArray[np.int64]
) -> dict[int, list[TrendMarkAnswer]]:
    """Return the marks of the newest findings, by number of the part; those of all parts are at ``_ALL``."""
    part_of = np.concatenate([_NO_IDS, *(np.full(len(each.ids), number) for number, each in enumerate(samples))])
    ids = np.concatenate([_NO_IDS, *(each.ids for each in samples)])
    order = np.argsort(ids)
    ids, part_of = ids[order], part_of[order]
    found: dict[tuple[int, int], list[ChangeMark]] = defaultdict(list)
    for mark in store.findings.marks.newest(line, limit=_NEWEST_FINDINGS):
        position = line.positions.get(mark.slot, -1)
        place = int(np.searchsorted(ids, mark.trace_id))
        if position < first or place == len(ids) or ids[place] != mark.trace_id:
            continue
        column = min(int(np.searchsorted(columns, position - first)), len(columns) - 1)
        for part in (int(part_of[place]), _ALL):
            found[part, column].append(mark)
    marks: dict[int, list[TrendMarkAnswer]] = defaultdict(list)
    for (part, column), there in found.items():
        marks[part].append(_mark(column, there))
    strongest = {part: sorted(each, key=_weight, reverse=True)[:_MOST_MARKS] for part, each in marks.items()}
    return {part: sorted(each, key=lambda mark: mark.index) for part, each in strongest.items()}


def _mark(column: int, there: Sequence[ChangeMark]) -> TrendMarkAnswer:
    """Join the findings at a commit: what stands counts, unless all of them were undone."""
    counting = [mark for mark in there if not mark.undone] or there
    sums: defaultdict[Direction, float] = defaultdict(float)
    for mark in counting:
        sums[mark.direction] += _known(mark.size)
    direction = max(sums, key=lambda each: sums[each])
    largest = max(
        (mark for mark in counting if mark.direction is direction), key=lambda mark: (_known(mark.size), mark.change_id)
    )
    return TrendMarkAnswer(
        index=column,
        direction=direction,
        findings=len(there),
        change=largest.change_id,
        size=largest.size,
        undone=largest.undone,
    )


def _known(size: float) -> float:
    return 0.0 if math.isnan(size) else size


def _weight(mark: TrendMarkAnswer) -> tuple[bool, float, int]:
    return not mark.undone, mark.size or 0.0, mark.findings


def _badness(part: TrendAnswer) -> tuple[float, float, float, str]:
    """Order the parts: what clearly got worse, then the worst regression that stands, then what got least better."""
    sign = -1.0 if part.better is Better.HIGHER else 1.0
    ends = [math.log1p(end) * sign for end in (part.low, part.high) if end is not None and end > -1]
    is_clear = part.better is not Better.UNKNOWN and ends and min(ends) * max(ends) > 0
    nearest = min(ends, key=abs) if is_clear else 0.0
    standing = [
        mark.size or 0.0 for mark in part.marks if mark.direction is not Direction.IMPROVEMENT and not mark.undone
    ]
    return -max(nearest, 0.0), -max(standing, default=0.0), -min(nearest, 0.0), part.value


def _answer(
    sample: _Sample,
    trend: Trend,
    values: _Values,
    columns: NDArray[np.int64],
    marks: list[TrendMarkAnswer],
    *,
    better: Better,
) -> TrendAnswer:
    """Build the answer about a part; where higher is better for all of it, it rises as its values do."""
    sign = -1.0 if better is Better.HIGHER else 1.0
    change, series = sign * trend.change, sign * trend.series
    known = ~np.isnan(values.of(sample.read)) if len(sample.read) else np.zeros((1, len(trend.series)), dtype=np.bool_)
    half = _TWO_SIDED_95 * trend.deviation
    return TrendAnswer(
        value=sample.value,
        traces=len(sample.ids),
        read=len(sample.read),
        used=trend.used,
        better=better,
        change=_relative(change),
        low=_relative(change - half),
        high=_relative(change + half),
        points=[_point(value) for value in _at(series, columns)],
        measured=[round(float(share), 3) for share in known.mean(axis=0)[columns]],
        marks=marks,
    )


def _at(series: NDArray[np.float64], columns: NDArray[np.int64]) -> list[float]:
    """Return the series at ``columns``; a commit without a value takes the last one since the column before."""
    found = []
    before = -1
    for column in columns.tolist():
        between = series[before + 1 : column + 1]
        known = between[~np.isnan(between)]
        found.append(float(known[-1]) if len(known) else math.nan)
        before = column
    return found


def _relative(log_ratio: float) -> float | None:
    """Return the relative change of a log ratio, null where it has none or is beyond what a number holds."""
    if math.isnan(log_ratio) or abs(log_ratio) > 700:
        return None
    return float(f"{math.expm1(log_ratio):.{_DIGITS}g}")


def _point(log_ratio: float) -> float | None:
    change = _relative(log_ratio)
    return None if change is None else float(f"{1 + change:.{_DIGITS}g}")
