"""Read what Catch2 writes with its XML reporter, and what it prints for people, versions 2 and 3."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, has_line, missing_end, plain
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.xml import Element, read_markup, root_name
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Report, RunReport
from knickpoint.model.unit_names import Better

# Read the benchmarks that Catch2 prints for people, versions 2 and 3.


_HEADER: Final = re.compile(r"benchmark name\s+samples\s+iterations\s+(?:estimated|est run time)")
_RULE: Final = re.compile(r"-{60,}")
_END: Final = re.compile(r"={60,}")
_TIME: Final = r"(?P<{0}>\S+) (?P<{0}_unit>ns|us|ms|s|m)"
_SAMPLES: Final = re.compile(
    r"(?P<name>.*?)\s+(?P<samples>\d+)\s+\d+\s+(?:[\d.]+(?:e[+-]?\d+)?|nan|inf) (?:ns|us|ms|s|m)"
)
_ROW: Final = re.compile(r"\s+" + r"\s+".join(map(_TIME.format, ("value", "low", "high"))))
_FAILED: Final = re.compile(r"(?P<name>.*?)\s+(?:Benchmark failed \((?P<why>.*)\)|benchmark failed)")
_UNITS: Final = {"m": "min"}


def is_console(file: FileContent) -> bool:
    """Return True if a line is the header that Catch2 prints above benchmarks."""
    return has_line(file, "benchmark name", _HEADER)


@dataclass
class _Reader:
    """Where in the output a line stands: in the name of a test case, or among the results of one."""

    rows: Rows
    title: list[str] | None = None
    case: dict[str, str] = field(default_factory=dict)
    heading: bool = False
    results: bool = False
    ended: bool = False
    name: list[str] = field(default_factory=list)
    measured: list[re.Match[str]] = field(default_factory=list)
    samples: float = 0.0

    def rule(self) -> None:
        """Take a line of dashes: around the name of a test case, or below the header of the results."""
        if self.heading:
            self.heading, self.results = False, True
        elif self.title is None:
            self.title, self.results = [], False
        else:
            first, *sections = self.title or [""]
            self.case = {"case": first.strip(), "section": "/".join(section.strip() for section in sections)}
            self.title = None

    def text(self, line: str, number: int) -> bool:
        """Take any other line; return whether it is as it should be."""
        if self.title is not None and line:
            self.title.append(line)
        elif self.results and line:
            return self._result(line, number)
        elif not self.samples:
            self.name = []
        return True

    def _result(self, line: str, number: int) -> bool:
        """Take a line among the results; return whether it is as it should be."""
        failed = _FAILED.fullmatch(line)
        begun = _SAMPLES.fullmatch(line)
        if failed is not None:
            self.rows.fail(self._params(failed["name"]), failed["why"] or "")
        elif begun is not None:
            self.name.append(begun["name"].strip())
            self.samples = float(begun["samples"])
        elif self.samples and (row := _ROW.fullmatch(line)) is not None:
            self.measured.append(row)
            if len(self.measured) == 2:
                self._add(number)
        elif self.samples or line.startswith(" "):
            return False
        else:
            self.name.append(line.strip())
        return True

    def _params(self, last: str) -> dict[str, str]:
        name = " ".join(part for part in (*self.name, last.strip()) if part)
        self.name = []
        return {**self.case, "benchmark": name}

    def _add(self, number: int) -> None:
        mean, deviation = self.measured
        params, unit = self._params(""), mean["value_unit"]
        fields = {"samples": self.samples}
        ends = {"confidence_low": (mean, "low"), "confidence_high": (mean, "high"), "stddev": (deviation, "value")}
        for name, (row, group) in ends.items():
            end = numeral(row[group])
            if end is not None and row[f"{group}_unit"] == unit:
                fields[name] = end
        self.measured, self.samples = [], 0.0
        with self.rows.failing(params):
            value = numeral(mean["value"])
            if value is None:
                raise NoNumberError(f"expected the mean, got {mean['value']!r}", where=f"line {number - 1}")
            self.rows.add(params, (value,), _UNITS.get(unit, unit), Better.LOWER, summary=fields)


def add_printed(rows: Rows, file: FileContent) -> tuple[Problem, ...]:
    """Add the mean of each benchmark with its interval and deviation, by test case and section.

    A name that Catch2 broke over several lines is put together with spaces. Where the line is missing below which
    Catch2 writes its totals, the returned warning says so.

    Raises:
        FormatError: the output was cut short, or something else stands among the results.
    """
    reader = _Reader(rows)
    for number, raw in enumerate(file.lines, 1):
        line = plain(raw).rstrip()
        if len(line) > LONGEST_LINE:
            continue
        if _RULE.fullmatch(line):
            reader.rule()
        elif _HEADER.fullmatch(line):
            reader.heading, reader.ended = True, False
        elif _END.fullmatch(line):
            reader.results, reader.ended = False, True
        elif not reader.text(line, number):
            if number == file.open_line:
                raise file.cut_short()
            raise FormatError(
                f"{line.strip()[:60]!r} is not a benchmark result",
                where=f"line {number}",
                remedy="Let benchmarks print nothing, or use the XML reporter (-r xml).",
            )
    if reader.samples:
        raise FormatError(
            "incomplete result of the last benchmark",
            where=f"line {len(file.lines)}",
            remedy="The file is truncated; run the benchmark again.",
        )
    if len(rows) and not reader.ended:
        last = max(number for number, line in enumerate(file.lines, 1) if line.strip())
        return (
            missing_end("Catch2's totals (test cases: …) are missing at the end; benchmarks may be missing too", last),
        )
    return ()


_NAME: Final = "catch2"
_ROOTS: Final = ("Catch", "Catch2TestRun")


def fits(file: FileContent) -> bool:
    """Return True if the root element is Catch2's, or a line is the header above printed benchmarks."""
    return root_name(file) in _ROOTS or is_console(file)


def read(file: FileContent) -> Parsed:
    """Read one run: the mean of every benchmark, by test case and section; the XML has nanoseconds.

    Deviation and confidence interval go into the summary; Catch2 writes no samples and no median.
    """
    rows = Rows()
    if is_console(file):
        warnings = add_printed(rows, file)
        return Report(_NAME, (RunReport(rows.table()),)), warnings
    root = read_markup(file)
    _walk(rows, root, {})
    version = root.attributes.get("catch2-version", "")
    return Report(_NAME, (RunReport(rows.table(), environment={"tool": f"Catch2 {version}"} if version else {}),)), ()


def _walk(rows: Rows, element: Element, params: dict[str, str]) -> None:
    for child in element.children:
        if child.name == "TestCase":
            _walk(rows, child, {**params, "case": child.attributes.get("name", "")})
        elif child.name == "Section":
            outer = params.get("section", "")
            name = child.attributes.get("name", "")
            _walk(rows, child, {**params, "section": f"{outer}/{name}" if outer else name})
        elif child.name == "BenchmarkResults":
            _add(rows, child, {**params, "benchmark": child.attributes.get("name", "")})
        else:
            _walk(rows, child, params)


def _add(rows: Rows, result: Element, params: dict[str, str]) -> None:
    failed = result.find("failed")
    if failed is not None:
        rows.fail(params, failed.attributes.get("message", ""))
        return
    mean = result.find("mean")
    if mean is None:
        raise FormatError(
            f"benchmark {params['benchmark']!r} has neither a mean nor a failure",
            where=f"line {result.line}",
            remedy="Write the file again.",
        )
    deviation = result.find("standardDeviation")
    fields = {
        "confidence_low": _number(mean, "lowerBound"),
        "confidence_high": _number(mean, "upperBound"),
        "stddev": _number(deviation, "value") if deviation is not None else None,
        "samples": _number(result, "samples"),
    }
    summary = {name: number for name, number in fields.items() if number is not None}
    with rows.failing(params):
        value = _number(mean, "value")
        if value is None:
            text = mean.attributes.get("value", "")
            raise NoNumberError(f"expected the mean, got {text!r}", where=f"line {mean.line}")
        rows.add(params, (value,), "ns", Better.LOWER, summary=summary)


def _number(element: Element, name: str) -> float | None:
    return numeral(element.attributes.get(name, ""))
