"""Read what fio writes with ``--output-format=json``, plain or after its messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Report, RunReport, Severity
from knickpoint.model.unit_names import Better

_NAME: Final = "fio"
_OPERATIONS: Final = ("read", "write", "trim", "mixed")
"""Sides of a job; ``mixed`` is what all of them did, with ``unified_rw_reporting``."""
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
_ENDED_BY_SIGNAL: Final = re.compile(r"^fio: terminating on signal (\d+)", re.MULTILINE)


def fits(file: FileContent) -> bool:
    """Return True for an object that names fio's version and has jobs, a list of such, or text followed by one."""
    document = file.document
    if document is None and not file.several:
        begin = _AFTER_MESSAGES.search(file.readable, 0, _LONGEST_PREFACE)
        return begin is not None and _MARK in file.readable[begin.start() : begin.start() + 200]
    documents = document if isinstance(document, list) else [document]
    return bool(documents) and all(
        isinstance(each, dict) and "fio version" in each and isinstance(each.get("jobs"), list) for each in documents
    )


def read(file: FileContent) -> Parsed:
    """Read a run of each document: operations and bytes per second and latencies, by job, its options, and what it did.

    Of completion latencies (``clat``) the median is the value. A job with an error failed.
    """
    nodes = [Node(document, step=where) for document, where in _documents(file)]
    roots = [root for node in nodes for root in (node.elements() if isinstance(file.document, list) else [node])]
    ends = [root for root, later in zip_longest(roots, roots[1:]) if later is None or not _goes_on(root, later)]
    return Report(_NAME, tuple(map(_run, ends))), _interruption(file)


def _goes_on(earlier: Node, later: Node) -> bool:
    """Return True if ``later`` is a newer state of the run of ``earlier``, as ``--status-interval`` prints them.

    All numbers are those since the start of the run, so the last state is its result. A run that began before the
    earlier state was printed is the same one.
    """
    states = [[(job["jobname"].text(), _runtime(job)) for job in root["jobs"].elements()] for root in (earlier, later)]
    if [name for name, _ in states[0]] != [name for name, _ in states[1]]:
        return False
    begun, ended = (root.finite({"timestamp_ms": "ms"}).get("ms", 0) for root in (earlier, later))
    grown = all(before <= after for (_, before), (_, after) in zip(*states, strict=True))
    return grown and 0 < ended - begun < max((runtime for _, runtime in states[1]), default=0)


def _runtime(job: Node) -> float:
    """Return for how long a job has run, in milliseconds."""
    return job.finite({"job_runtime": "ms"}).get("ms", 0)


def _interruption(file: FileContent) -> tuple[Problem, ...]:
    """Return a warning where fio says among its messages that a signal ended it."""
    found = _ENDED_BY_SIGNAL.search(file.text) if file.document is None else None
    if found is None:
        return ()
    return (
        Problem(
            f"a signal ({found[1]}) ended fio: the values cover the run until then",
            where=f"line {file.text.count(chr(10), 0, found.start()) + 1}",
            remedy="Measure again if the run was to be longer.",
            severity=Severity.WARNING,
        ),
    )


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
    return operation in mode or operation == "mixed" or (mode in mixed and operation != "trim")


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
