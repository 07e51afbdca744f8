"""Read what hyperfine writes with ``--export-json``."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "hyperfine"
_STATISTICS: Final = ("mean", "min", "max")


def fits(file: FileContent) -> bool:
    """Return True if this is an object of results, each with a command."""
    document = file.document
    results = document.get("results") if isinstance(document, dict) else None
    return (
        isinstance(results, list)
        and bool(results)
        and all(isinstance(result, dict) and "command" in result and "mean" in result for result in results)
    )


def read(file: FileContent) -> Parsed:
    """Read one run: time, user and system time in seconds, and memory in bytes.

    A command of which any execution ended with another exit code than 0 failed.
    """
    rows = Rows()
    for result in Node(file.json)["results"].elements():
        parameters = result.maybe("parameters")
        params = parameters.facts() if parameters is not None else {}
        _add(rows, {**params, "benchmark": result["command"].text()}, result)
    return Report(_NAME, (RunReport(rows.table()),)), ()


def _add(rows: Rows, params: dict[str, str], result: Node) -> None:
    command = params["benchmark"]
    timed = {**params, "metric": "time"}
    codes = result.maybe("exit_codes")
    wrong = [code.value for code in codes.elements() if code.value != 0] if codes is not None else []
    if wrong:
        ending = "a signal" if wrong[0] is None else f"exit code {wrong[0]}"
        rows.fail(
            timed, f"{len(wrong)} of {len(list(codes.elements())) if codes else 0} executions ended with {ending}"
        )
        return
    times = result.maybe("times")
    if times is not None and times.value:
        with rows.failing(timed):
            rows.add(timed, times.numbers(command), "s", Better.LOWER)
    else:
        with rows.failing(timed):
            summary = result.finite({"stddev": "stddev"})
            rows.add(timed, (result["median"].number(command),), "s", Better.LOWER, summary=summary)
        for statistic in _STATISTICS:
            _add_single(rows, {**timed, "stat": statistic}, result, statistic)
    for metric in ("user", "system"):
        _add_single(rows, {**params, "metric": metric}, result, metric)
    memory = result.maybe("memory_usage_byte")
    if memory is not None:
        named = {**params, "metric": "memory"}
        with rows.failing(named):
            rows.add(named, memory.numbers(command), "B", Better.LOWER)


def _add_single(rows: Rows, params: dict[str, str], result: Node, member: str) -> None:
    """Add the seconds that ``member`` of ``result`` has, where it has any."""
    if result.has(member):
        with rows.failing(params):
            rows.add(params, (result[member].number(params["benchmark"]),), "s", Better.LOWER)
