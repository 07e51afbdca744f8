"""Read what Vitest writes: ``vitest bench --outputJson`` up to version 4, ``--reporter=json`` from version 5 on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, inner, measures, members
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "vitest"
_PERCENTILES: Final = {"p75": "p75", "p99": "p99", "p995": "p99.5", "p999": "p99.9"}
_STATISTICS: Final = {"min": "min", "max": "max", **_PERCENTILES}
_SUMMARY: Final = {"sd": "stddev", "rme": "relative_margin", "sampleCount": "samples", "samplesCount": "samples"}
_MEASURED: Final = ("mean", "p50", "hz", "rank")
_BENCH_FILE: Final = re.compile(r"\.bench(?:mark)?\.[cm]?[jt]sx?$")
_SKIPPED: Final = ("skipped", "pending", "todo", "disabled")


def fits(file: FileContent) -> bool:
    """Return True if this is an object of files with groups of benchmarks, or of tests that ran benchmarks."""
    document = file.document
    if not isinstance(document, dict):
        return False
    files, reported = document.get("files"), document.get("testResults")
    if isinstance(reported, list):
        return any(isinstance(file, dict) and _has_benchmarks(file) for file in reported)
    return (
        isinstance(files, list)
        and bool(files)
        and all(isinstance(file, dict) and isinstance(file.get("groups"), list) for file in files)
        and measures(inner(inner(files, "groups"), "benchmarks"), _MEASURED)
    )


def _has_benchmarks(file: dict[str, object]) -> bool:
    tests = file.get("assertionResults")
    if not isinstance(tests, list):
        return False
    listed = [
        test["benchmarks"] for test in tests if isinstance(test, dict) and isinstance(test.get("benchmarks"), list)
    ]
    return any(map(_ran, listed)) or (bool(listed) and _BENCH_FILE.search(str(file.get("name"))) is not None)


def _ran(benchmarks: object) -> bool:
    return measures(members(inner(benchmarks, "tasks"), "latency"), _MEASURED)


def read(file: FileContent) -> Parsed:
    """Read one run, times in milliseconds: the samples where they were kept, else the median and other statistics."""
    root = Node(file.json)
    rows = Rows()
    if "testResults" in root:
        _read_reported(rows, list(root["testResults"].elements()))
    else:
        for test_file in root["files"].elements():
            for group in test_file["groups"].elements():
                for benchmark in group["benchmarks"].elements():
                    params = {"benchmark": benchmark["name"].text(), "suite": group.words("fullName")}
                    if not benchmark.has("mean") and not _has_samples(benchmark):
                        rows.fail(params, "Vitest has no result: the benchmark failed or was skipped")
                    else:
                        _add(rows, params, benchmark, "median")
    return Report(_NAME, (RunReport(rows.table()),)), ()


def _read_reported(rows: Rows, files: Sequence[Node]) -> None:
    """Add the benchmarks of tests; those that read their numbers from a file of a former run were not measured."""
    names = _short_names([file.words("name").replace("\\", "/") for file in files])
    for name, file in zip(names, files, strict=True):
        for test in file["assertionResults"].elements():
            status = test.words("status")
            titles = test.maybe("ancestorTitles")
            suite = [name, *(title.text() for title in (titles.elements() if titles is not None else ()))]
            benchmarks = test.maybe("benchmarks")
            for benchmark in benchmarks.elements() if benchmarks is not None else ():
                params = {"suite": " > ".join([*suite, test.words("title")])}
                for task in benchmark["tasks"].elements():
                    if task.words("fromStore") != "true":
                        _add(rows, {**params, "benchmark": task["name"].text()}, task["latency"], "p50")
            params = {"benchmark": test.words("title"), "suite": " > ".join(suite)}
            if status == "failed":
                failures = test.maybe("failureMessages")
                rows.fail(
                    params, "".join(message.word() for message in failures.elements()) if failures is not None else ""
                )
            elif status in _SKIPPED:
                rows.skip(params)


def _short_names(paths: Sequence[str]) -> list[str]:
    """Return the last parts of ``paths``, as many as distinguish them: where a file lies differs between machines."""
    parts = [path.split("/") for path in paths]
    for length in range(1, max(map(len, parts), default=0) + 1):
        short = ["/".join(path[-length:]) for path in parts]
        if max(Counter(short).values()) == 1:
            return short
    return list(paths)


def _has_samples(benchmark: Node) -> bool:
    samples = benchmark.maybe("samples")
    return samples is not None and bool(samples.value)


def _add(rows: Rows, params: dict[str, str], statistics: Node, median: str) -> None:
    name = params["benchmark"]
    if _has_samples(statistics):
        with rows.failing(params):
            rows.add(params, statistics["samples"].numbers(name), "ms", Better.LOWER)
        return
    summary = statistics.finite(_SUMMARY)
    main = median if statistics.has(median) else "mean"
    with rows.failing(params):
        rows.add(params, (statistics[main].number(name),), "ms", Better.LOWER, summary=summary)
    others = _STATISTICS if main == "mean" else {"mean": "mean", **_STATISTICS}
    for member, stat in others.items():
        if statistics.has(member):
            named = {**params, "stat": stat}
            with rows.failing(named):
                rows.add(named, (statistics[member].number(name),), "ms", Better.LOWER)
