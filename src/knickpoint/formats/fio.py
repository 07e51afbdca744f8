"""Read what fio writes with ``--output-format=json``, plain or after its messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.timestamps import read_moment
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit import Better

__all__ = ["fits", "read"]

_NAME: Final = "fio"
_OPERATIONS: Final = ("read", "write", "trim")
_PARAMS: Final = {
    "rw": "rw",
    "readwrite": "rw",
    "bs": "bs",
    "blocksize": "bs",
    "iodepth": "iodepth",
    "numjobs": "numjobs",
    "ioengine": "ioengine",
    "direct": "direct",
}
"""Options of a job that say what is measured, under one name each."""
_PERCENTILES: Final = {"90.000000": "p90", "95.000000": "p95", "99.000000": "p99", "99.900000": "p99.9"}
_MEDIAN: Final = "50.000000"
_AFTER_MESSAGES: Final = re.compile(r"^\{$", re.MULTILINE)
_LONGEST_PREFACE: Final = 65536
_MARK: Final = '"fio version"'


def fits(file: FileContent) -> bool:
    """Tell whether this is an object that names fio's version and has jobs, or text that one follows."""
    document = file.document
    if document is None and not file.several:
        begin = _AFTER_MESSAGES.search(file.readable, 0, _LONGEST_PREFACE)
        return begin is not None and _MARK in file.readable[begin.start() : begin.start() + 200]
    return isinstance(document, dict) and "fio version" in document and isinstance(document.get("jobs"), list)


def read(file: FileContent) -> Parsed:
    """Read one run: operations and bytes per second and latencies, by job, its options, and what it did.

    Of completion latencies (``clat``) the median is the value. A job with an error failed.
    """
    return Report(_NAME, tuple(_run(Node(document, step=where)) for document, where in _documents(file))), ()


def _run(root: Node) -> RunReport:
    given = root.maybe("global options")
    common = given.facts() if given is not None else {}
    rows = Rows()
    for job in root["jobs"].elements():
        own = job.maybe("job options")
        options = {**common, **(own.facts() if own is not None else {})}
        params = {_PARAMS[name]: value for name, value in options.items() if name in _PARAMS}
        _add(rows, {**params, "benchmark": job["jobname"].text()}, job)
    time = read_moment(root.finite({"timestamp_ms": "ms"}).get("ms"))
    return RunReport(rows.table(), time=time, environment={"tool": root["fio version"].text()})


def _documents(file: FileContent) -> Iterator[tuple[object, str]]:
    """Yield each document and what to put before its paths; fio may write messages before and after it."""
    text = file.text
    begin = None if file.document is not None else _AFTER_MESSAGES.search(text, 0, _LONGEST_PREFACE)
    if begin is None:
        yield file.json, ""
    while begin is not None:
        line = text.count("\n", 0, begin.start()) + 1
        try:
            document, end = json.JSONDecoder().raw_decode(text, begin.start())
        except RecursionError as error:
            raise FormatError("the JSON is nested too deeply", where=f"line {line}") from error
        except ValueError:
            # The same text again, for an error that names the place.
            document, end = file.parse_json(text[begin.start() :], first_line=line), len(text)
        yield document, f"line {line}: "
        begin = _AFTER_MESSAGES.search(text, end)


def _add(rows: Rows, params: dict[str, str], job: Node) -> None:
    error = job.finite({"error": "error"}).get("error", 0)
    for operation in _OPERATIONS:
        side = job.maybe(operation)
        if side is None:
            continue
        named = {**params, "operation": operation}
        if error and _was_meant(operation, params.get("rw", "read")):
            rows.fail({**named, "metric": "iops"}, f"fio ended with error {error:.0f}")
        elif not error and side.finite({"io_bytes": "bytes"}).get("bytes", 0) > 0:
            _add_side(rows, named, side)


def _was_meant(operation: str, mode: str) -> bool:
    mixed = {"rw", "randrw", "readwrite"}
    return operation in mode or (mode in mixed and operation != "trim")


def _add_side(rows: Rows, params: dict[str, str], side: Node) -> None:
    name = params["benchmark"]
    spread = side.finite({"iops_stddev": "stddev", "iops_samples": "samples", "total_ios": "operations"})
    named = {**params, "metric": "iops"}
    with rows.failing(named):
        rows.add(named, (side["iops"].number(name),), "IOPS", Better.HIGHER, summary=spread)
    named = {**params, "metric": "bandwidth"}
    member, unit = ("bw_bytes", "B/s") if side.has("bw_bytes") else ("bw", "KiB/s")
    with rows.failing(named):
        rows.add(named, (side[member].number(name),), unit, Better.HIGHER)
    for metric in ("clat", "lat"):
        for member, unit in ((f"{metric}_ns", "ns"), (metric, "us")):
            latency = side.maybe(member)
            if latency is not None:
                _add_latency(rows, {**params, "metric": metric}, latency, unit)
                break


def _add_latency(rows: Rows, params: dict[str, str], latency: Node, unit: str) -> None:
    percentiles = latency.maybe("percentile")
    if latency.finite({"max": "max"}).get("max", 0) <= 0:  # fio was not to measure it
        return
    measured = {stat: (latency, stat) for stat in ("mean", "max") if latency.has(stat)}
    if percentiles is not None and percentiles.has(_MEDIAN):
        measured[""] = (percentiles, _MEDIAN)
        measured |= {stat: (percentiles, name) for name, stat in _PERCENTILES.items() if percentiles.has(name)}
    elif "mean" in measured:
        measured[""] = measured.pop("mean")
    spread = latency.finite({"stddev": "stddev"})
    for stat, (node, member) in measured.items():
        named = {**params, "stat": stat} if stat else params
        with rows.failing(named):
            summary = None if stat else spread
            rows.add(named, (node[member].number(params["benchmark"]),), unit, Better.LOWER, summary=summary)
