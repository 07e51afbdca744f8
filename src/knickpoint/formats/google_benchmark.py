"""Read what Google Benchmark writes with ``--benchmark_format=json``."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Problem, Report, RunReport, Severity
from knickpoint.model.unit_names import Better

_NAME: Final = "google-benchmark"
_TIMES: Final = ("real_time", "cpu_time")
_ROW: Final = {*_TIMES, "cpu_coefficient", "rms", "error_occurred", "skipped"}
"""Each row has one of these."""
_UNITS: Final = {
    "bytes_per_second": "B/s",
    "items_per_second": "items/s",
    "max_bytes_used": "B",
    "total_allocated_bytes": "B",
}
_LOWER: Final = ("allocs_per_iter", "max_bytes_used", "total_allocated_bytes", "net_heap_growth")
_NO_COUNTERS: Final = {
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "cpu_coefficient",
    "real_coefficient",
    "rms",
    *_TIMES,
}
_FACTS: Final = {
    "name",
    "run_name",
    "run_type",
    "time_unit",
    "label",
    "error_occurred",
    "error_message",
    "skipped",
    "skip_message",
    "aggregate_name",
    "aggregate_unit",
    "big_o",
}
"""Members of rows that say what was measured, and how it went."""
_NO_NUMBER: Final = re.compile(
    r"(?:n/?a|none|null|unknown|[+-]?(?:nan|inf(?:inity)?)|[+\-<>~]?\s*\.?\d.*|[-?]*)", re.IGNORECASE
)
"""What stands in place of a number.

Other text in place of a counter describes the benchmark, unless other rows count there.
"""
_AGGREGATE_ENDING: Final = re.compile(r"_(mean|median|stddev|cv|BigO|RMS)$")
_ARGUMENT: Final = re.compile(r"(?P<name>[A-Za-z_][\w.-]*):(?P<value>[^:/]+)")
_RUN_OPTIONS: Final = ("iterations", "repeats", "min_time", "min_warmup_time")
_TIMERS: Final = ("real_time", "process_time", "manual_time")
_SPREADS: Final = ("stddev", "cv")
_IDENTITY: Final = ("family_index", "per_family_instance_index", "label")
"""Members in which repetitions of one benchmark agree."""
_RESERVED: Final = ("benchmark", "metric", "stat")


def fits(file: FileContent) -> bool:
    """Return True if this has a context, and rows with the times or the failures that Google Benchmark writes."""
    document = file.document
    if not isinstance(document, dict) or not isinstance(document.get("context"), dict):
        return False
    rows = document.get("benchmarks")
    if not rows:
        return isinstance(rows, list) and "num_cpus" in document["context"]
    return isinstance(rows, list) and all(isinstance(row, dict) and "name" in row and row.keys() & _ROW for row in rows)


def read(file: FileContent) -> Parsed:
    """Read one run: real and CPU time, throughputs and counters; repetitions are samples.

    Aggregates of repetitions that are in the file make no series. Where the file has aggregates only, the median
    is the value, mean and others are series with ``stat``, and the spreads go into the median's summary.
    """
    root = Node(file.json)
    context = root["context"]
    entries = list(root["benchmarks"].elements())
    _check_told_apart(entries)
    measured = {_run_name(entry) for entry in entries if not _aggregate(entry)}
    rows = Rows()
    counters = {name for entry in entries for name, node in entry.members() if _is_counted(node)}
    spreads = _spreads(entries, counters)
    for entry in entries:
        aggregate = _aggregate(entry)
        if not aggregate:
            _add(rows, entry, counters)
        elif _run_name(entry) not in measured:
            _add_aggregate(rows, entry, aggregate, spreads, counters)
    run = RunReport(
        rows.table(),
        time=read_moment(context.words("date")),
        environment=context.facts(),
    )
    return Report(_NAME, (run,)), _warnings(context)


def _check_told_apart(entries: list[Node]) -> None:
    """Refuse two benchmarks of one name: iterations that are not repetitions of each other."""
    known: dict[tuple[str, str], tuple[str, ...]] = {}
    for entry in entries:
        if _aggregate(entry):
            continue
        facts = tuple([entry.words(fact) for fact in _IDENTITY])
        name = _run_name(entry)
        earlier = known.setdefault((name, entry.words("repetition_index")), facts)
        different = [
            fact for fact, one, other in zip(_IDENTITY, earlier, facts, strict=True) if one and other and one != other
        ]
        if different:
            raise entry.refuse(
                f"two benchmarks are called {name!r}, and differ in {' and '.join(different)}",
                remedy="Give each a name of its own, or put what the label says into an argument.",
            )


def split_name(name: str) -> dict[str, str]:
    """Return the params that ``name`` holds: ``BM_Sort/64/order:up`` has an argument and a named one.

    Options of the run (``repeats:3``) are left out; what says which clock is meant becomes ``clock``.
    """
    kept: list[str] = []
    params: dict[str, str] = {}
    unnamed = 0
    for part in name.split("/"):
        argument = _ARGUMENT.fullmatch(part)
        if argument and argument["name"] in _RUN_OPTIONS:
            continue
        if kept and part in _TIMERS:
            params["clock"] = "-".join(filter(None, (params.get("clock"), part.removesuffix("_time"))))
        elif kept and argument and argument["name"] not in _RESERVED and argument["name"] not in params:
            params[argument["name"]] = argument["value"]
        elif kept and re.fullmatch(r"-?\d+", part):
            unnamed += 1
            params[f"arg{unnamed}"] = part
        else:
            kept.append(part)
    return {"benchmark": "/".join(kept), **params}


def _run_name(entry: Node) -> str:
    return entry.words("run_name") or _AGGREGATE_ENDING.sub("", entry["name"].text())


def _aggregate(entry: Node) -> str:
    """Return the name of the aggregate that ``entry`` is, "" where it is an iteration."""
    if "run_type" in entry:
        return entry.words("aggregate_name") or "aggregate" if entry.words("run_type") == "aggregate" else ""
    found = _AGGREGATE_ENDING.search(entry["name"].text())
    return found[1] if found else ""


def _is_counted(node: Node) -> bool:
    """Return True if a number stands here, or something in its place."""
    if isinstance(node.value, str):
        return _NO_NUMBER.fullmatch(node.value.strip()) is not None
    return node.value is None or (isinstance(node.value, int | float) and not isinstance(node.value, bool))


def _metrics(entry: Node, counters: Collection[str]) -> list[tuple[str, Node, str, Better]]:
    """Return metric, place of the value, unit and direction of everything that ``entry`` measured, or failed to."""
    unit = entry.words("time_unit") or "ns"
    found: list[tuple[str, Node, str, Better]] = []
    for counter, node in entry.members():
        if counter in _TIMES:
            found.append((counter, node, unit, Better.LOWER))
        elif counter in counters and counter not in _NO_COUNTERS and counter not in _FACTS:
            better = Better.LOWER if counter in _LOWER else Better.UNKNOWN
            found.append((counter, node, _UNITS.get(counter, ""), better))
    return found


def _add(rows: Rows, entry: Node, counters: Collection[str]) -> None:
    params = split_name(_run_name(entry))
    main = {**params, "metric": "real_time"}
    if entry.words("error_occurred") == "true":
        rows.fail(main, entry.words("error_message"))
        return
    if entry.words("skipped") == "true":
        rows.skip(main, entry.words("skip_message"))
        return
    for metric, node, unit, better in _metrics(entry, counters):
        named = {**params, "metric": metric}
        with rows.failing(named):
            rows.add(named, (node.number(named["benchmark"]),), unit, better, message=entry.words("label"))


def _spreads(entries: list[Node], counters: Collection[str]) -> dict[tuple[str, str], dict[str, float]]:
    found: dict[tuple[str, str], dict[str, float]] = {}
    for entry in entries:
        aggregate = _aggregate(entry)
        if aggregate in _SPREADS:
            for metric, node, _, _ in _metrics(entry, counters):
                if node.is_number():
                    found.setdefault((_run_name(entry), metric), {})[aggregate] = node.number()
    return found


def _add_aggregate(
    rows: Rows,
    entry: Node,
    aggregate: str,
    spreads: dict[tuple[str, str], dict[str, float]],
    counters: Collection[str],
) -> None:
    if aggregate in (*_SPREADS, "BigO", "RMS") or entry.words("aggregate_unit") == "percentage":
        return
    params = split_name(_run_name(entry))
    if entry.words("error_occurred") == "true":
        rows.fail({**params, "metric": "real_time"}, entry.words("error_message"))
        return
    for metric, node, unit, better in _metrics(entry, counters):
        named, summary = {**params, "metric": metric}, {}
        if aggregate == "median":
            summary = {**entry.finite({"repetitions": "repetitions"}), **spreads.get((_run_name(entry), metric), {})}
        else:
            named["stat"] = aggregate
        with rows.failing(named):
            rows.add(named, (node.number(params["benchmark"]),), unit, better, summary=summary)


def _warnings(context: Node) -> tuple[Problem, ...]:
    found = []
    if context.words("library_build_type") == "debug":
        found.append(
            ("the benchmark library is a debug build", "library_build_type in context", "Build it for release.")
        )
    if context.words("cpu_scaling_enabled") == "true":
        found.append(
            ("CPU frequency scaling was on, so times vary more", "cpu_scaling_enabled in context", "Fix the frequency.")
        )
    return tuple(Problem(message, where, remedy, Severity.WARNING) for message, where, remedy in found)
