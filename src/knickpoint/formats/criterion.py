"""Read what Criterion.rs and cargo-criterion write, but for the lines that look like libtest's.

Three surfaces are read here: the text for people, the messages of ``cargo criterion --message-format=json``, and
the files that a run leaves in ``target/criterion``. All name a benchmark by its full id, so they make one series.
"""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, measures
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, missing_end, plain, unread_result
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.table_cells import read_cells
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "criterion"
RAW_HEADER: Final = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count"
_TIME: Final = re.compile(
    r"^(?P<name>.*?)\s+time:\s+\[(?P<low>\S+) (?P<low_unit>[^\s%\]]+) (?P<value>\S+) (?P<unit>[^\s%\]]+) "
    r"(?P<high>\S+) (?P<high_unit>[^\s%\]]+)\]\s*$"
)
_MARK: Final = re.compile(r"(?P<name>.*?)\s+time:\s+\[[^%\]]*\]")
_CUT_TIME: Final = re.compile(r"\s+time:\s+\[[^\]%]*$")
_BEGUN: Final = re.compile(r"Benchmarking (?P<name>.+?)(?:: (?:Warming up|Collecting|Analyzing)\b.*)?")
_MESSAGE: Final = re.compile(r'^\{[^\n]*"reason":\s*"(?:benchmark|group)-complete"', re.MULTILINE)
_ESTIMATES: Final = {"mean", "median", "std_dev"}
_DIRECTORIES: Final = re.compile(r"(?:^|/)criterion/(?P<id>.+)/(?:new|base)/(?:sample|estimates)\.json$")


def fits(file: FileContent) -> bool:
    """Return True if this is one of the surfaces."""
    document = file.document
    if isinstance(document, dict):
        return (
            document.get("reason") in ("benchmark-complete", "group-complete")
            or {"iters", "times"} <= document.keys()
            or (
                document.keys() >= _ESTIMATES
                and "median_abs_dev" in document
                and measures([document["median"], document["mean"]], ("point_estimate",))
            )
        )
    text = file.prose
    return (
        text.startswith(RAW_HEADER)
        or _MESSAGE.match(text.lstrip()) is not None
        or any(_TIME.match(line) for line in text.splitlines() if " time: " in line and len(line) <= LONGEST_LINE)
    )


def read(file: FileContent) -> Parsed:
    """Read one run: samples where the surface has them, else the median, else Criterion's typical time."""
    rows = Rows()
    warnings: tuple[Problem, ...] = ()
    document = file.document
    if isinstance(document, dict) and "reason" not in document:
        name = _name_of(file)
        if "iters" in document:
            _add_samples(rows, name, Node(document)["iters"], Node(document)["times"], "ns")
        else:
            _add_estimates(rows, name, Node(document))
    elif file.text.startswith(RAW_HEADER):
        _add_raw(rows, file)
    elif file.text.lstrip().startswith("{"):
        _add_messages(rows, file)
    else:
        warnings = _add_text(rows, file)
    return Report(_NAME, (RunReport(rows.table()),)), warnings


def _name_of(file: FileContent) -> str:
    """Return the benchmark's id from ``benchmark.json`` beside the file, else from its path."""
    beside = file.companions.get("benchmark.json")
    if beside is not None:
        return Node(FileContent(beside, "benchmark.json", limits=file.limits).json)["full_id"].text()
    found = _DIRECTORIES.search(file.name.replace("\\", "/"))
    if found is None:
        raise FormatError(
            "this file of Criterion does not say which benchmark it belongs to",
            where=file.name,
            remedy="Import it under its path, as in target/criterion/GROUP/NAME/new/sample.json.",
        )
    return found["id"]


def _add_samples(rows: Rows, name: str, counts: Node, times: Node, unit: str) -> None:
    params = {"benchmark": name}
    with rows.failing(params):
        measured, iterations = times.numbers(name), counts.numbers(name)
        if len(measured) != len(iterations) or not all(count > 0 for count in iterations):
            raise counts.refuse(f"{len(iterations)} iteration counts for {len(measured)} times", of=name)
        samples = [time / count for time, count in zip(measured, iterations, strict=True)]
        rows.add(params, samples, unit, Better.LOWER)


def _add_estimates(rows: Rows, name: str, root: Node) -> None:
    summary = root["std_dev"].finite({"point_estimate": "stddev"})
    interval = root["median"].maybe("confidence_interval")
    if interval is not None:
        summary |= interval.finite({"lower_bound": "confidence_low", "upper_bound": "confidence_high"})
    for params, statistic in (({"benchmark": name}, "median"), ({"benchmark": name, "stat": "mean"}, "mean")):
        with rows.failing(params):
            number = root[statistic]["point_estimate"].number(name)
            rows.add(params, (number,), "ns", Better.LOWER, summary=summary if statistic == "median" else None)


def _add_raw(rows: Rows, file: FileContent) -> None:
    if file.open_line:  # Criterion ends every line, and a count of iterations that lost digits makes times too long
        raise file.cut_short()
    for number, cells in read_cells(file.lines, RAW_HEADER.count(",") + 1, first=1):
        name = "/".join(filter(None, cells[:3]))
        time, count = numeral(cells[5]), numeral(cells[7])
        params = {"benchmark": name}
        with rows.failing(params):
            if time is None or not count:
                raise NoNumberError(f"{cells[5]!r} over {cells[7]!r} is not a time", where=f"line {number}")
            rows.add(params, (time / count,), cells[6], Better.LOWER)


def _add_messages(rows: Rows, file: FileContent) -> None:
    for number, line in enumerate(file.lines, 1):
        if not line.strip().startswith("{"):
            continue
        message = Node(file.parse_json(line, first_line=number), step=f"line {number}: ")
        if message.words("reason") == "benchmark-complete":
            name = message["id"].text()
            _add_samples(
                rows, name, message["iteration_count"], message["measured_values"], message.words("unit") or "ns"
            )


def _add_text(rows: Rows, file: FileContent) -> tuple[Problem, ...]:
    """Add the middle of each interval; a benchmark that was begun, and has no result, failed.

    The returned warnings say where cargo states that a program of benchmarks failed, and which results have no name.
    """
    before = ""
    warnings: list[Problem] = []
    begun: dict[str, int] = {}
    for number, raw in enumerate(file.lines, 1):
        line = plain(raw)
        if len(line) > LONGEST_LINE:
            continue
        if mark := _MARK.match(line):
            name = mark["name"].strip() or before
            begun.pop(name, None)
            warnings += _add_interval(rows, {"benchmark": name}, line, number)
        elif line.startswith("error: bench failed"):
            warnings.append(missing_end("cargo says that the benchmarks failed; some may be missing", number))
        elif start := _BEGUN.fullmatch(line.rstrip()):
            begun.setdefault(start["name"], number)
        elif _CUT_TIME.search(line):
            raise FormatError(
                f"incomplete result {line.strip()!r}", where=f"line {number}", remedy="Run the benchmark again."
            )
        elif line.strip():
            before = line.strip()
    for name, number in begun.items():
        rows.fail(
            {"benchmark": name},
            f"it started at line {number} and has no result: it was aborted, or the file is truncated",
        )
    return tuple(warnings)


def _add_interval(rows: Rows, params: dict[str, str], line: str, number: int) -> tuple[Problem, ...]:
    """Add the middle of the interval that line ``number`` has, and its ends as the summary where units agree."""
    found = _TIME.match(line)
    value = numeral(found["value"]) if found else None
    if found is None or value is None or not params["benchmark"]:
        return unread_result(rows, params, line, number)
    same = found["unit"] == found["low_unit"] == found["high_unit"]
    ends = {"confidence_low": numeral(found["low"]), "confidence_high": numeral(found["high"])} if same else {}
    summary = {name: end for name, end in ends.items() if end is not None}
    rows.add(params, (value,), found["unit"], Better.LOWER, summary=summary)
    return ()
