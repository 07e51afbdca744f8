"""Write a report as JUnit XML: a test for each benchmark that decides, which fails where the check does."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from knickpoint.gate.report import GateReport, Standing
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.plain_text import plain_line
from knickpoint.model.step import Verdict
from knickpoint.reports.answer import change, found_from, headline, levels, reason

__all__ = ["junit"]

_LONGEST = 1_000


def junit(report: GateReport) -> str:
    """Return the XML: what fails the check is a failure, no data is skipped, everything else passes.

    It has the elements and attributes of the schema of Jenkins (xUnit plugin, ``junit-10.xsd``), which refuses others.
    """
    rows = report.deciding
    counts = {"tests": str(len(rows)), "failures": str(len(report.failures)), "errors": "0"}
    root = Element("testsuites", {"name": "knick check", **counts})
    name = plain_line(f"{report.repository} {report.name}".strip(), _LONGEST) or "benchmarks"
    skipped = str(sum(_is_skipped(row) for row in rows))
    suite = SubElement(root, "testsuite", {"name": name, **counts, "skipped": skipped, "time": "0"})
    for row in rows:
        case = SubElement(
            suite,
            "testcase",
            {
                "name": plain_line(f"{row.benchmark} {row.label}".strip(), _LONGEST),
                "classname": "benchmarks",
                "time": "0",
            },
        )
        numbers = "; ".join(text for text in (levels(row), change(row), reason(row)) if text)
        if report.standing(row) is Standing.FAILS:
            SubElement(case, "failure", {"type": row.kind.value, "message": numbers}).text = _detail(row)
        elif _is_skipped(row):
            SubElement(case, "skipped", {"message": reason(row)})
        else:
            SubElement(case, "system-out").text = f"{row.kind.value}: {numbers}"
    SubElement(suite, "system-out").text = headline(report)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _is_skipped(row: JudgedBenchmark) -> bool:
    return row.verdict is Verdict.NO_DATA


def _detail(row: JudgedBenchmark) -> str:
    found = f"\nChanges are found from {found_from(row)} on." if found_from(row) else ""
    return f"{plain_line(row.trace, _LONGEST)}{found}"
