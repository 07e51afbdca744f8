"""Export points: a row for each, in an order and with columns that do not depend on the instance.

Ids and slots differ between two instances with the same data. So an export has names instead: keys of traces, hashes of
commits and positions on a line; and it is sorted by them. Equal data give equal bytes.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Commit, Line, Repository
from knickpoint.model.errors import StoreError
from knickpoint.model.frame import Trace
from knickpoint.model.query import Query
from knickpoint.model.spreadsheet import guarded
from knickpoint.model.unit import Better

if TYPE_CHECKING:
    from knickpoint.store.store import Store

__all__ = ["COLUMNS", "Batch", "ExportRow", "batches", "rows", "write_csv", "write_json", "write_parquet"]

_MEMORY: Final = 64 * 2**20


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

    ``trace``, ``position`` and ``value`` have an entry for each point; ``trace`` counts in ``traces``. ``commits`` and
    ``times`` are hashes and times of commits by position.
    """

    repository: str
    line: str
    traces: Sequence[Trace]
    commits: Sequence[str]
    times: Sequence[str]
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
        order = store.commits.line(repository, line)
        known = {each.slot: each.commit for each in store.commits.get(repository, order.slots)}
        ran = store.runs.first_times(repository)
        commits = [(known[slot].hash, _time(known[slot], ran.get(slot))) for slot in order.slots]
        traces = store.traces.get(store.traces.select(repository, query or Query()))
        yield from _line_batches(store, order, commits, sorted(traces, key=lambda trace: (trace.key, trace.unit)))


def _line_batches(store: Store, line: Line, commits: list[tuple[str, str]], traces: list[Trace]) -> Iterator[Batch]:
    hashes, times = [name for name, _ in commits], [time for _, time in commits]
    at_once = max(1, _MEMORY // max(1, 8 * len(commits)))
    for begin in range(0, len(traces), at_once):
        some = traces[begin : begin + at_once]
        values = store.frames.values(line, [trace.id for trace in some])
        trace, position = np.nonzero(~np.isnan(values))
        points = values[trace, position].astype(np.float64)
        yield Batch(line.repository.name, line.name, some, hashes, times, trace, position, points)


def rows(
    store: Store, repositories: Sequence[Repository] | None = None, *, line: str = "", query: Query | None = None
) -> Iterator[ExportRow]:
    """Stream the points one by one, in the order of :func:`batches`."""
    for batch in batches(store, repositories, line=line, query=query):
        points = zip(batch.trace.tolist(), batch.position.tolist(), batch.value.tolist(), strict=True)
        for trace, position, value in points:
            measured = batch.traces[trace]
            yield ExportRow(
                batch.repository,
                batch.line,
                measured.key,
                measured.unit,
                position,
                batch.commits[position],
                value,
                _better(measured),
                batch.times[position],
            )


def write_csv(points: Iterator[ExportRow], output: TextIO) -> int:
    """Write points as CSV with a header, and return how many; a value is the shortest text that reads back equal.

    A text that a spreadsheet would take for a formula has an apostrophe in front, which an import removes.
    """
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for point in points:
        writer.writerow(
            repr(cell) if isinstance(cell, float) else guarded(cell) if isinstance(cell, str) else cell
            for cell in point
        )
        count += 1
    return count


def write_json(points: Iterator[ExportRow], output: TextIO) -> int:
    """Write points as one JSON list with an object on each line, and return how many."""
    count = 0
    for point in points:
        output.write("[\n" if count == 0 else ",\n")
        json.dump(dict(zip(COLUMNS, point, strict=True)), output, ensure_ascii=False)
        count += 1
    output.write("\n]\n" if count else "[]\n")
    return count


def write_parquet(points: Iterator[Batch], path: Path) -> int:
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
    texts = pa.dictionary(pa.int32(), pa.string())
    kinds = (texts, texts, texts, texts, pa.int64(), texts, pa.float64(), texts, texts)
    schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))
    count = 0
    with pq.ParquetWriter(path, schema) as writer:
        for batch in points:
            size = len(batch.value)
            nothing = np.zeros(size, dtype=np.int32)
            columns = [
                _texts(pa, nothing, [batch.repository]),
                _texts(pa, nothing, [batch.line]),
                _texts(pa, batch.trace, [trace.key for trace in batch.traces]),
                _texts(pa, batch.trace, [trace.unit for trace in batch.traces]),
                pa.array(batch.position, pa.int64()),
                _texts(pa, batch.position, batch.commits),
                pa.array(batch.value, pa.float64()),
                _texts(pa, batch.trace, [_better(trace) for trace in batch.traces]),
                _texts(pa, batch.position, batch.times),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            count += size
    return count


def _better(trace: Trace) -> str:
    return "" if trace.better is Better.UNKNOWN else trace.better.value


def _time(commit: Commit, ran: datetime | None) -> str:
    """Return the time of ``commit``, that of its first run where only a run names it, "" where none is known."""
    time = ran if commit.is_bare else commit.time
    return time.isoformat().replace("+00:00", "Z") if time is not None and time.timestamp() else ""


def _texts(pa: Any, codes: NDArray[np.integer], texts: Sequence[str]) -> Any:
    """Return a dictionary column: code → text."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(list(texts), pa.string()))
