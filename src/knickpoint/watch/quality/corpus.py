"""The corpus: decisions as labelled examples, without anything that only this instance knows.

One row a label, sorted by repository, trace, position and movement. Rows have no ids, times or names of people. A
series is given once, in the first row of its trace.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Line, Repository
from knickpoint.model.frame import Trace
from knickpoint.model.quality import FindingRecord, Label
from knickpoint.store import Store
from knickpoint.watch.lines import Lines
from knickpoint.watch.missed_changes import list_missed

COLUMNS: Final = (
    "repository",
    "line",
    "trace",
    "unit",
    "better",
    "label",
    "status",
    "kind",
    "direction",
    "movement",
    "previous",
    "position",
    "interval",
    "previous_commit",
    "commit",
    "before_level",
    "after_level",
    "deviation",
    "relative_size",
    "methods",
)
"""The columns; with series, ``values`` follows."""

Row = Mapping[str, Any]


def corpus_rows(store: Store, repository: Repository, *, values: bool = False) -> Iterator[Row]:
    """Yield decided findings and missed changes of ``repository``, each with its series where ``values`` is true.

    ``previous`` and ``position`` are the places in the series: the change lies in (previous, position]. ``interval`` is
    the half width of the interval of location, in measured commits. Missing values and
    numbers are None.
    """
    lines = Lines(store, repository)
    rows = [row for row in (*_decided(store, repository, lines), *_missed(store, repository, lines)) if row]
    traces = {trace.id: trace for trace in store.traces.get(sorted({row["_trace"] for row in rows}))}
    hashes = _hashes(store, repository, lines, rows)
    rows.sort(key=lambda row: (row["line"], traces[row["_trace"]].key, row["position"], row["movement"], row["label"]))
    seen: set[tuple[str, int]] = set()
    for row in rows:
        line = lines.line(row["line"])
        first = (line.name, row["_trace"]) not in seen
        seen.add((line.name, row["_trace"]))
        complete = _complete(repository, line, row, traces[row["_trace"]], hashes)
        if values and first:
            series = np.asarray(store.frames.values(line, [row["_trace"]])[0], dtype=np.float64)
            complete["values"] = [_finite(float(value)) for value in series]
        yield complete


def _complete(repository: Repository, line: Line, row: Row, trace: Trace, hashes: Mapping[int, str]) -> dict[str, Any]:
    known = {
        "repository": repository.name,
        "trace": trace.key,
        "unit": trace.unit,
        "better": trace.better.value,
        "previous_commit": hashes[line.slots[row["previous"]]],
        "commit": hashes[line.slots[row["position"]]],
    }
    return {name: row.get(name, known.get(name)) for name in COLUMNS}


def _hashes(store: Store, repository: Repository, lines: Lines, rows: list[dict[str, Any]]) -> dict[int, str]:
    slots = {lines.line(row["line"]).slots[row[name]] for row in rows for name in ("previous", "position")}
    return {each.slot: each.commit.hash for each in store.commits.get(repository, sorted(slots))}


def _decided(store: Store, repository: Repository, lines: Lines) -> Iterator[dict[str, Any]]:
    for record in store.findings.records.all(repository):
        if record.label is not Label.UNDECIDED:
            located = _on_line(lines, record.suspect_range)
            if located:
                yield located | _of_record(record)


def _of_record(record: FindingRecord) -> dict[str, Any]:
    return {
        "_trace": record.trace_id,
        "label": record.label.value,
        "status": record.status.value,
        "kind": record.kind.value,
        "direction": record.direction.value,
        "movement": record.movement,
        "interval": record.interval,
        "before_level": _finite(record.before_level),
        "after_level": _finite(record.after_level),
        "deviation": _finite(record.deviation),
        "relative_size": _finite(record.relative_size),
        "methods": " ".join(sorted(set(record.methods.values()))),
    }


def _missed(store: Store, repository: Repository, lines: Lines) -> Iterator[dict[str, Any]]:
    for listed in list_missed(store, repository):
        change = listed.change
        located = _on_line(lines, change.suspect_range)
        if located and listed.point is None:
            yield located | {
                "_trace": change.trace_id,
                "label": Label.REAL.value,
                "status": "missed",
                "kind": "step",
                "direction": listed.direction.value,
                "movement": change.movement,
                "interval": 0,
                "methods": "",
            }


def _on_line(lines: Lines, suspect_range: SuspectRange) -> dict[str, Any] | None:
    """Return the line and the positions of a suspect range, None where its commits have left the line."""
    interval = lines.interval(suspect_range)
    if interval is None or interval.previous < 0:
        return None
    return {"line": lines.line(suspect_range.line).name, **asdict(interval)}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
