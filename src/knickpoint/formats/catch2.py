"""Read what Catch2 writes with its XML reporter, and what it prints for people, versions 2 and 3."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.catch2_console import add_printed, is_console
from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.xml import Element, read_markup, root_name
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit import Better

__all__ = ["fits", "read"]

_NAME: Final = "catch2"
_ROOTS: Final = ("Catch", "Catch2TestRun")


def fits(file: FileContent) -> bool:
    """Tell whether the root element is Catch2's, or a line is the header above printed benchmarks."""
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
            raise NoNumberError(f"{text!r} stands where the mean is needed", where=f"line {mean.line}")
        rows.add(params, (value,), "ns", Better.LOWER, summary=summary)


def _number(element: Element, name: str) -> float | None:
    return numeral(element.attributes.get(name, ""))
