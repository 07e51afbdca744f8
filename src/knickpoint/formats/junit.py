"""Read the durations of tests from JUnit XML, as pytest, Maven, Gradle, Jest and many others write it."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral, read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.xml import Element, read_markup, root_name
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "junit"
_THOUSANDS: Final = re.compile(r"\d{1,3}(,\d{3})+\.\d+")
_DECIMAL_COMMA: Final = re.compile(r"\d+,(\d{1,2}|\d{4,})")


def fits(file: FileContent) -> bool:
    """Return True if the root element is JUnit's."""
    return root_name(file) in ("testsuites", "testsuite")


def read(file: FileContent) -> Parsed:
    """Read one run: how long each passed test took, in seconds; failed and skipped tests as such."""
    root = read_markup(file)
    rows = Rows()
    environment: dict[str, str] = {}
    times: list[str] = []
    _walk(rows, root, "", environment, times)
    moments = [moment for text in times if (moment := read_moment(text)) is not None]
    return Report(_NAME, (RunReport(rows.table(), time=min(moments, default=None), environment=environment),)), ()


def _walk(rows: Rows, element: Element, suite: str, environment: dict[str, str], times: list[str]) -> None:
    if element.name == "testsuite":
        suite = element.attributes.get("name", "") or suite
        if "timestamp" in element.attributes:
            times.append(element.attributes["timestamp"])
        if element.attributes.get("hostname"):
            environment["hostname"] = element.attributes["hostname"]
    for child in element.children:
        if child.name == "testcase":
            _add(rows, child, suite)
        elif child.name == "properties":
            environment.update(
                {fact.attributes.get("name", ""): fact.attributes.get("value", "") for fact in child.each("property")}
            )
        else:
            _walk(rows, child, suite, environment, times)


def _add(rows: Rows, case: Element, suite: str) -> None:
    name, owner = case.attributes.get("name", ""), case.attributes.get("classname", "")
    params = {"benchmark": f"{owner}.{name}" if owner else name, "suite": suite}
    if not name:
        raise FormatError("a test case has no name", where=f"line {case.line}", remedy="Write the file again.")
    for kind in ("failure", "error"):
        found = case.find(kind)
        if found is not None:
            rows.fail(params, found.attributes.get("message", "") or found.text)
            return
    skipped = case.find("skipped")
    if skipped is not None or case.attributes.get("status") in {"notrun", "skipped", "disabled"}:
        rows.skip(params, skipped.attributes.get("message", "") if skipped is not None else "")
        return
    if "time" in case.attributes:
        with rows.failing(params):
            rows.add(params, (_seconds(case.attributes["time"].strip(), case),), "s", Better.LOWER)


def _seconds(text: str, case: Element) -> float:
    plain = text
    if _THOUSANDS.fullmatch(text):
        plain = text.replace(",", "")
    elif _DECIMAL_COMMA.fullmatch(text):
        plain = text.replace(",", ".")
    value = numeral(plain)
    if value is None:
        raise NoNumberError(
            f"expected seconds, got {text!r}",
            where=f"line {case.line}",
            remedy="Write plain seconds; 1,234 could be meant either way.",
            of=case.attributes.get("name", ""),
        )
    return value
