"""Export points: a row for each, in an order and with columns that do not depend on the instance.

Ids and slots differ between two instances with the same data. So an export has names instead: keys of traces, hashes of
commits and positions on a line; and it is sorted by them. Equal data give equal bytes.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import NO_TIME, Commit, Line, Repository
from knickpoint.model.errors import HistoryError, StoreError
from knickpoint.model.frame import Trace
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import guarded
from knickpoint.model.query import Query
from knickpoint.model.unit_names import Better
from knickpoint.store.points.integrity import LOST_UNIT

if TYPE_CHECKING:
    from knickpoint.store.store import Store

_MEMORY: Final = 64 * 2**20
_LOST: Final = Commit("", "", "", NO_TIME, "")
"""A commit whose row is damaged and left out, and so are its points."""


class ExportRow(NamedTuple):
    """A point as it is exported.

    ``id`` is the trace key, and ``pos`` the position of the commit on its line: 0 is the oldest. ``better`` and
    ``commit_time`` (ISO, UTC) are "" where they are unknown.
    """

    repository: str
    line: str
    id: str
    unit: str
    pos: int
    commit: str
    value: float
    better: str
    commit_time: str


COLUMNS: Final = ExportRow._fields
"""The columns of an export, in their order."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Points of some traces on one line, by trace and position.

    ``trace``, ``position`` and ``value`` have an entry for each point; ``trace`` counts in ``traces``. ``commits``,
    ``times`` and ``authors`` are hashes, times and authors of commits by position.
    """

    repository: str
    line: str
    traces: Sequence[Trace]
    commits: Sequence[str]
    times: Sequence[str]
    authors: Sequence[str]
    trace: NDArray[np.int64]
    position: NDArray[np.int64]
    value: NDArray[np.float64]


def batches(
    store: Store, repositories: Sequence[Repository] | None = None, *, line: str = "", query: Query | None = None
) -> Iterator[Batch]:
    """Stream the points: repositories by name, traces by key and unit, commits in the order of the line.

    ``line`` is "" for each repository's default line. No more than 64 MiB of values are held at a time.
    """
    for repository in sorted(repositories or store.commits.repositories(), key=lambda each: each.name):
        try:
            order = store.commits.line(repository, line)
        except HistoryError:
            if line:
                raise
            continue  # without its default line, a repository has no order
        found = store.traces.get(store.traces.select(repository, query or Query()))
        traces = [trace for trace in found if trace.unit != LOST_UNIT]
        yield from _line_batches(store, order, sorted(traces, key=lambda trace: (trace.key, trace.unit)))


def calculated(store: Store, line: Line, traces: Sequence[Trace], values: NDArray[np.float64]) -> Batch:
    """Return the points of calculated traces (values: traces x commits of ``line``, ``nan`` for none)."""
    commits = _commits(store, line)
    trace, position = np.nonzero(~np.isnan(values))
    return Batch(line.repository.name, line.name, traces, *commits, trace, position, values[trace, position])


def _commits(store: Store, line: Line) -> tuple[list[str], list[str], list[str]]:
    """Return the hashes, times and authors of the commits of a line."""
    known = {each.slot: each.commit for each in store.commits.get(line.repository, line.slots)}
    ran = store.runs.first_times(line.repository)
    commits = [known.get(slot, _LOST) for slot in line.slots]
    times = [_time(commit, ran.get(slot)) for commit, slot in zip(commits, line.slots, strict=True)]
    return [commit.hash for commit in commits], times, [commit.author for commit in commits]


def _line_batches(store: Store, line: Line, traces: list[Trace]) -> Iterator[Batch]:
    commits = _commits(store, line)
    at_once = max(1, _MEMORY // max(1, 8 * len(line.slots)))
    for begin in range(0, len(traces), at_once):
        some = traces[begin : begin + at_once]
        values = store.frames.values(line, [trace.id for trace in some])
        lost = [place for place, commit in enumerate(commits[0]) if not commit]
        values[:, lost] = np.nan
        trace, position = np.nonzero(~np.isnan(values))
        points = values[trace, position].astype(np.float64)
        yield Batch(line.repository.name, line.name, some, *commits, trace, position, points)


def rows(
    store: Store, repositories: Sequence[Repository] | None = None, *, line: str = "", query: Query | None = None
) -> Iterator[ExportRow]:
    """Stream the points one by one, in the order of :func:`batches`."""
    for row in table_rows(batches(store, repositories, line=line, query=query), POINTS):
        yield ExportRow(*row)  # type: ignore[arg-type]  # the columns have the types of the fields


@dataclass(frozen=True, slots=True)
class _Texts:
    """A column of texts that repeat: the entry of ``texts`` for each point, by its number."""

    numbers: NDArray[np.integer[Any]]
    texts: Sequence[str]

    def cells(self) -> list[str]:
        return [self.texts[number] for number in self.numbers.tolist()]


_Column = _Texts | NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of an export in their order, and their content for the points of a batch."""

    names: Sequence[str]
    columns: Callable[[Batch], Sequence[_Column]]


def _point_columns(batch: Batch) -> Sequence[_Column]:
    everywhere = np.zeros(len(batch.value), dtype=np.int32)
    return (
        _Texts(everywhere, [batch.repository]),
        _Texts(everywhere, [batch.line]),
        _Texts(batch.trace, [trace.key for trace in batch.traces]),
        _Texts(batch.trace, [trace.unit for trace in batch.traces]),
        batch.position,
        _Texts(batch.position, batch.commits),
        batch.value,
        _Texts(batch.trace, [_better(trace) for trace in batch.traces]),
        _Texts(batch.position, batch.times),
    )


POINTS: Final = Layout(COLUMNS, _point_columns)
"""The layout that an import reads back."""

AUTHORED: Final = Layout(
    (*COLUMNS, "author"), lambda batch: (*_point_columns(batch), _Texts(batch.position, batch.authors))
)
"""The same, with the author of each commit."""

_BESIDE_PARAMS: Final = ("repository", "line", "unit", "better", "pos", "commit", "commit_time", "author", "value")


def param_layout(params: Iterable[str]) -> Layout:
    """Return the layout with a column for each of ``params``, for data frames and spreadsheets.

    A trace without a param has "" there. A param with the name of another column is called ``param_NAME``.
    """
    chosen = sorted(set(params))

    def columns(batch: Batch) -> Sequence[_Column]:
        everywhere = np.zeros(len(batch.value), dtype=np.int32)
        decoded = [decode_key(trace.key) for trace in batch.traces]
        return (
            _Texts(everywhere, [batch.repository]),
            _Texts(everywhere, [batch.line]),
            *(_Texts(batch.trace, [each.get(name, "") for each in decoded]) for name in chosen),
            _Texts(batch.trace, [trace.unit for trace in batch.traces]),
            _Texts(batch.trace, [_better(trace) for trace in batch.traces]),
            batch.position,
            _Texts(batch.position, batch.commits),
            _Texts(batch.position, batch.times),
            _Texts(batch.position, batch.authors),
            batch.value,
        )

    titles = [f"param_{name}" if name in _BESIDE_PARAMS else name for name in chosen]
    return Layout((*_BESIDE_PARAMS[:2], *titles, *_BESIDE_PARAMS[2:]), columns)


def table_rows(points: Iterable[Batch], layout: Layout) -> Iterator[tuple[str | int | float, ...]]:
    """Stream the points one by one, with the columns of ``layout``."""
    for batch in points:
        columns = [each.cells() if isinstance(each, _Texts) else each.tolist() for each in layout.columns(batch)]
        yield from zip(*columns, strict=True)


def write_csv(points: Iterable[Sequence[str | int | float]], output: TextIO, names: Sequence[str] = COLUMNS) -> int:
    """Write points as CSV with a header, and return how many; a value is the shortest text that reads back equal.

    A text that a spreadsheet would take for a formula has an apostrophe in front, which an import removes.
    """
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(map(guarded, names))
    count = 0
    for point in points:
        writer.writerow(
            repr(cell) if isinstance(cell, float) else guarded(cell) if isinstance(cell, str) else cell
            for cell in point
        )
        count += 1
    return count


def write_json(points: Iterable[Sequence[str | int | float]], output: TextIO, names: Sequence[str] = COLUMNS) -> int:
    """Write points as one JSON list with an object on each line, and return how many."""
    count = 0
    for point in points:
        output.write("[\n" if count == 0 else ",\n")
        json.dump(dict(zip(names, point, strict=True)), output, ensure_ascii=False)
        count += 1
    output.write("\n]\n" if count else "[]\n")
    return count


def write_parquet(points: Iterable[Batch], path: Path, layout: Layout = POINTS) -> int:
    """Write points as a Parquet file, and return how many.

    Raises:
        StoreError: pyarrow is not installed.
    """
    try:
        pa = import_module("pyarrow")
        pq = import_module("pyarrow.parquet")
    except ImportError as error:
        raise StoreError(
            "Parquet needs pyarrow", where=str(path), remedy='Install it with: pip install "knickpoint[parquet]".'
        ) from error
    numbers = {"pos": pa.int64(), "value": pa.float64()}
    texts = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([(name, numbers.get(name, texts)) for name in layout.names])
    count = 0
    with pq.ParquetWriter(path, schema) as writer:
        for batch in points:
            columns = [
                _dictionary(pa, column) if isinstance(column, _Texts) else pa.array(column, numbers[name])
                for name, column in zip(layout.names, layout.columns(batch), strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            count += len(batch.value)
    return count


def _better(trace: Trace) -> str:
    return "" if trace.better is Better.UNKNOWN else trace.better.value


def _time(commit: Commit, ran: datetime | None) -> str:
    """Return the time of ``commit``, that of its first run where only a run names it, "" where none is known."""
    time = commit.time if commit.has_time else ran
    return time.isoformat().replace("+00:00", "Z") if time is not None and time.timestamp() else ""


def _dictionary(pa: Any, column: _Texts) -> Any:
    """Return a dictionary column: number → text."""
    return pa.DictionaryArray.from_arrays(
        pa.array(column.numbers.astype(np.int32)), pa.array(list(column.texts), pa.string())
    )
