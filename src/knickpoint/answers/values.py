"""The values of traces, packed as binary numbers and thinned out to what a chart can draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from knickpoint.answers.base import Answer, Text
from knickpoint.budget import check_values
from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.model.summary import MEDIAN, Summary
from knickpoint.plots.shapes import thin
from knickpoint.store import Store
from knickpoint.watch.detection.commit_values import read_summaries

# Pack the values of traces as binary numbers, thinned out where there are more than a chart can draw.


MOST_TRACES: Final = 256
"""Traces in one answer that the request names."""

MOST_FOUND: Final = 1000
"""Traces in one answer that a query finds."""

MOST_SUMMARISED: Final = 16
"""Traces in one answer whose samples are read: they take many times the memory of values."""


def window(line: Line, first: int | None, last: int | None) -> tuple[int, int]:
    """Return the positions ``first`` to ``last`` that ``line`` has, both inclusive.

    Where it has none of them, the range is empty: its last position is before its first.

    Raises:
        InputError: ``last`` is before ``first``.
    """
    end = len(line.slots) - 1
    begin = 0 if first is None else first
    stop = end if last is None else min(last, end)
    if last is not None and last < begin:
        raise InputError(f"last={last} is before first={begin}", where="first", remedy="Swap the two.")
    return min(begin, end + 1), stop


@dataclass(frozen=True, slots=True)
class WantedValues:
    """Which values of traces on ``line`` are sent: from the position ``first`` to ``last``, thinned out to ``points``.

    Another ``summary`` than the median is made of the samples of each commit; commits with too few have no value.
    """

    line: Line
    traces: Sequence[int]
    first: int
    last: int
    points: int
    summary: Summary = MEDIAN

    def shared(self, crowd: int) -> WantedValues:
        """Thin the request so that many traces cost no more points in all than ``crowd`` of them."""
        points = max(2, self.points * crowd // len(self.traces)) if len(self.traces) > crowd else self.points
        return replace(self, points=points)

    def blocks(self, store: Store) -> Iterator[NDArray[np.float64]]:
        """Yield traces x positions, nan where there is no value, some traces at a time.

        Raises:
            InputError: the answer would have more values than a request may read, or samples of more traces are asked
                for than may be read at a time.
        """
        check_values(len(self.traces), min(self.points, max(0, self.last - self.first + 1)))
        if self.summary == MEDIAN:
            for part in store.frames.parts(self.line, self.traces, first=self.first, last=self.last):
                values = store.frames.values(self.line, part, first=self.first, last=self.last)
                yield np.asarray(values, dtype=np.float64)
            return
        if len(self.traces) > MOST_SUMMARISED:
            raise InputError(
                f"the request asks for the samples of {len(self.traces)} traces",
                where="traces",
                remedy=f"Name at most {MOST_SUMMARISED} with a summary.",
            )
        frame = store.frames.read(self.line, self.traces, first=self.first, last=self.last)
        yield read_summaries(store, frame, self.summary)


class _Kept(NamedTuple):
    """What is sent of some traces.

    Attributes:
        counts: points of each trace.
        measured: measured commits of each, more than points where values were thinned out.
        begins: where the points of each trace begin in what follows.
        positions: those of all points, one trace after the other.
        values: theirs.
    """

    counts: NDArray[np.int64]
    measured: NDArray[np.int64]
    begins: NDArray[np.int64]
    positions: NDArray[np.int64]
    values: NDArray[np.float64]


def pack_values(store: Store, wanted: WantedValues) -> bytes:
    """Return the measured values of some traces.

    Everything is little-endian float64. One trace after the other, in the order of ``traces``: the number n of
    points, the number of measured commits (more than n where values were thinned out), n positions, n values.
    """
    pieces: list[NDArray[np.float64]] = []
    for kept in _kept(store, wanted):
        positions = kept.positions.astype(np.float64)
        heads = np.stack([kept.counts, kept.measured], axis=1).astype(np.float64)
        for head, begin, count in zip(heads, kept.begins.tolist(), kept.counts.tolist(), strict=True):
            pieces += [head, positions[begin : begin + count], kept.values[begin : begin + count]]
    return np.concatenate(pieces).astype("<f8").tobytes() if pieces else b""


def pack_compact_values(store: Store, wanted: WantedValues) -> bytes:
    """Pack values as ``pack_values`` does in half as many bytes, with about seven digits of each value.

    Little-endian, one trace after the other: n and the number of measured commits as uint32, the factor that its
    values are multiplied with as float64 (1 unless they are out of the range of float32), n distances from the
    position before as uint32 (the first one from 0), n values as float32. Distances repeat, so they compress well.
    """
    pieces: list[bytes] = []
    for kept in _kept(store, wanted):
        begun = kept.counts > 0
        first = kept.begins[begun]
        greatest = np.zeros(len(kept.counts))
        if len(first):
            greatest[begun] = np.maximum.reduceat(np.abs(kept.values), first)
        factors = value_factors(greatest)
        distances = np.diff(kept.positions, prepend=0)
        distances[first] = kept.positions[first]

        head = np.empty(len(kept.counts), dtype=[("points", "<u4"), ("measured", "<u4"), ("factor", "<f8")])
        head["points"], head["measured"], head["factor"] = kept.counts, kept.measured, factors
        heads, steps = head.tobytes(), distances.astype("<u4").tobytes()
        values = (kept.values / np.repeat(factors, kept.counts)).astype("<f4").tobytes()
        for number, (begin, count) in enumerate(zip(kept.begins.tolist(), kept.counts.tolist(), strict=True)):
            of_trace = slice(4 * begin, 4 * (begin + count))
            pieces += [heads[16 * number : 16 * (number + 1)], steps[of_trace], values[of_trace]]
    return b"".join(pieces)


def pack_found_values(store: Store, wanted: WantedValues, *, compact: bool) -> bytes:
    """Return the values of traces that the asker does not know yet.

    Before what ``pack_values`` or ``pack_compact_values`` returns stand, as float64, the number of traces, 1 if
    what follows is compact, else 0, and the ids of the traces.
    """
    head = np.array([len(wanted.traces), compact, *wanted.traces], dtype="<f8")
    return head.tobytes() + (pack_compact_values if compact else pack_values)(store, wanted)


def value_factors(greatest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the divisors that bring values into the range of float32, by their ``greatest`` magnitudes."""
    limits = np.finfo(np.float32)
    fits = (greatest == 0) | ((greatest >= float(limits.tiny)) & (greatest <= float(limits.max)))
    return np.where(fits, 1.0, greatest)


def _kept(store: Store, wanted: WantedValues) -> Iterator[_Kept]:
    """Yield what is sent, some traces at a time; traces with more values than ``points`` are thinned out."""
    for block in wanted.blocks(store):
        present = ~np.isnan(block)
        measured = np.count_nonzero(present, axis=1)
        positions, values = np.nonzero(present)[1] + wanted.first, block[present]
        counts = measured
        if measured.max(initial=0) > wanted.points:
            begins = np.cumsum(measured) - measured
            places = [
                begin + thin(values[begin : begin + count], wanted.points)
                for begin, count in zip(begins.tolist(), measured.tolist(), strict=True)
            ]
            counts = np.array([len(each) for each in places])
            thinned = np.concatenate(places)
            positions, values = positions[thinned], values[thinned]
        yield _Kept(counts, measured, np.cumsum(counts) - counts, positions, values)


# Bodies about values: of traces, of commits, and as Grafana asks for them.


class TraceValuesAnswer(Answer):
    """The values of a trace: `measured` commits, of which some may be thinned out."""

    trace: int
    measured: int
    positions: list[int]
    values: list[float]


class TimesAnswer(Answer):
    """The time of each commit of a line, oldest first; null where it is unknown."""

    times: list[datetime | None]


class _Foreign(BaseModel):
    """Base of the bodies that Grafana sends: it adds fields from version to version, so unknown ones are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


GrafanaText = Annotated[Text, Field(max_length=10_000)] | None
"""A text that Grafana leaves out, or sends as null, while its field is empty."""


class GrafanaSearchRequest(_Foreign):
    """What a person typed into the field of a query."""

    target: GrafanaText = ""


class GrafanaRange(_Foreign):
    """The time range of a dashboard."""

    start: datetime = Field(alias="from")
    end: datetime = Field(alias="to")


class GrafanaTarget(_Foreign):
    """A query of a panel: terms on params, or a formula behind `=`."""

    target: GrafanaText = ""
    hide: bool = False


class GrafanaQueryRequest(_Foreign):
    """The queries of a panel."""

    range: GrafanaRange
    targets: Annotated[list[GrafanaTarget], Field(max_length=50)]
    maxDataPoints: Annotated[int, Field(ge=2, le=100_000)] = 2400  # noqa: N815  # as Grafana writes it


class GrafanaAnnotationRequest(_Foreign):
    """Which annotations a dashboard wants: those of the traces that `query` matches."""

    query: GrafanaText = ""


class GrafanaAnnotationsRequest(_Foreign):
    """The annotations of a dashboard."""

    range: GrafanaRange
    annotation: GrafanaAnnotationRequest = GrafanaAnnotationRequest()


class GrafanaMetric(Answer):
    """A term that a query can have."""

    label: str
    value: str


class GrafanaSeries(Answer):
    """A series of a panel: pairs of a value and the time of its commit in milliseconds since 1970."""

    target: str
    datapoints: list[tuple[float, int]]


class GrafanaAnnotation(Answer):
    """A change at the time of the first commit measured at its new level, in milliseconds since 1970."""

    time: int
    title: str
    text: str
    tags: list[str]
