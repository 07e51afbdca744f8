"""Write a report for CI services: annotations of GitHub Actions, JUnit XML, and SARIF 2.1.0."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from knickpoint.gate.report import GateReport, Standing
from knickpoint.model.judged_benchmark import JudgedBenchmark, ResultKind
from knickpoint.model.plain_text import counted, plain_line
from knickpoint.model.pull_request_check import Attribution
from knickpoint.model.step import Verdict
from knickpoint.reports.answer import change, found_from, headline, levels, reason, title

# Write a report as workflow commands of GitHub Actions: an annotation for each row that is worse, and one for the
# answer.


MOST: Final = 9
"""GitHub shows ten annotations of a kind and step; one is the answer."""


def workflow_commands(report: GateReport) -> str:
    """Return one workflow command a line."""
    passes = report.judged and not report.tolerated and not report.again
    level = "error" if report.failures else "notice" if passes else "warning"
    lines = [_command(level, "knick check", headline(report))]
    lines += [_about("error", row) for row in report.failures[:MOST]]
    if len(report.failures) > MOST:
        lines.append(
            _command("notice", "knick check", f"{counted(len(report.failures) - MOST, 'more row')} in the report")
        )
    unstable = (
        row for row in report.deciding if report.standing(row) is Standing.PASSES and row.kind is ResultKind.UNSTABLE
    )
    lines += [_about("warning", row) for row in (*report.tolerated, *unstable)][:MOST]
    return "\n".join(lines) + "\n"


def _about(level: str, row: JudgedBenchmark) -> str:
    text = "; ".join(part for part in (levels(row), change(row), reason(row)) if part)
    return _command(level, f"{title(row)} {row.kind.value}", text)


def _command(level: str, heading: str, text: str) -> str:
    """Return a workflow command, with what would end it or its properties escaped."""
    value = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    name = heading.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={name}::{value}"


# Write a report as JUnit XML: a test for each benchmark that decides, which fails where the check does.


_LONGEST = 1_000


def junit(report: GateReport) -> str:
    """Return the XML: what fails the check is a failure, everything else passes.

    Skipped is what has no data, or only moved together with most benchmarks or with the environment.

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
    return row.verdict is Verdict.NO_DATA or row.undecided or row.attribution is Attribution.ENVIRONMENT


def _detail(row: JudgedBenchmark) -> str:
    found = f"\nChanges from {found_from(row)} are found." if found_from(row) else ""
    return f"{plain_line(row.trace, _LONGEST)}{found}"


# Write a report as SARIF 2.1.0, for the code scanning of GitHub and other services.


_HOME: Final = "https://github.com/knickpoint/knickpoint"
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES: Final = {
    ResultKind.FAILED: "A benchmark failed that did not fail at the base.",
    ResultKind.VANISHED: "The base has a benchmark that the new results lack.",
    ResultKind.REGRESSED: "A benchmark is worse than its history, by more than unchanged commits vary.",
    ResultKind.UNSTABLE: "The noise of a benchmark hides changes.",
    ResultKind.NO_DATA: "A benchmark has too few data to be judged.",
    ResultKind.IMPROVED: "A benchmark is better than its history, by more than unchanged commits vary.",
    ResultKind.UNCHANGED: "A benchmark is within the variation of unchanged commits.",
}
_LEVELS: Final = {
    Standing.FAILS: "error",
    Standing.TOLERATED: "warning",
    Standing.ACCEPTED: "note",
    Standing.PASSES: "note",
}


_HELP: Final = (
    "Measure again to confirm it, or accept it by a line in a commit message: Knickpoint-Accept: BENCHMARK, REASON"
)
_TEST_FILE: Final = re.compile(r"(?P<file>(?!\.{0,2}/)[^\s:\\]+\.\w+)::")
"""The file that the id of a test begins with, as in ``tests/test_speed.py::test_sort``; a path below the repository."""


def sarif(report: GateReport, *, file: str = "knickpoint.toml", version: str = "0") -> str:
    """Return the log: an error per row that fails the check, a warning for other regressions, a note for other changes.

    What the verdict depends on, such as another machine, is a notification.

    Code scanning refuses a log in which a result has no file of the repository. That is the one which the id of a test
    begins with, else ``file``, the configuration.
    """
    rules = list(_RULES)
    shown = [
        (row, _LEVELS[standing])
        for row in report.deciding
        if (standing := report.standing(row)) is not Standing.PASSES or row.kind is ResultKind.IMPROVED
    ]
    driver = {
        "name": "Knickpoint",
        "version": version,
        "informationUri": _HOME,
        "rules": [
            {
                "id": _id(kind),
                "shortDescription": {"text": text},
                "fullDescription": {"text": text},
                "help": {"text": _HELP},
            }
            for kind, text in _RULES.items()
        ],
    }
    results = [_result(row, rules.index(row.kind), file, level) for row, level in shown]
    run: dict[str, Any] = {"tool": {"driver": driver}, "results": results}
    if report.name:
        # The category: code scanning replaces the results of an earlier log with the same one.
        run["automationDetails"] = {"id": f"knickpoint/{plain_line(report.name, 1_000)}/"}
    if report.condition:
        level = "warning" if report.again else "note"
        notification = {"level": level, "message": {"text": headline(report)}}
        run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": [notification]}]
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _id(kind: ResultKind) -> str:
    return f"benchmark-{kind.value.replace(' ', '-')}"


def _result(row: JudgedBenchmark, rule: int, file: str, level: str) -> dict[str, Any]:
    text = "; ".join(part for part in (levels(row), change(row), reason(row)) if part)
    place = {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(_test_file(row) or PurePath(file).as_posix())},
            "region": {"startLine": 1},
        },
        "logicalLocations": [
            {"name": plain_line(row.benchmark, 1_000), "fullyQualifiedName": plain_line(row.trace, 5_000)}
        ],
    }
    result: dict[str, Any] = {
        "ruleId": _id(row.kind),
        "ruleIndex": rule,
        "level": level,
        "message": {"text": f"{title(row)}: {text}"},
        "locations": [place],
        "partialFingerprints": {"trace/v1": hashlib.sha256(row.trace.encode()).hexdigest()[:32]},
    }
    if row.accepted is not None:
        result["suppressions"] = [{"kind": "external", "justification": reason(row)}]
    return result


def _test_file(row: JudgedBenchmark) -> str:
    """Return the file that the name of the benchmark begins with, "" for none."""
    found = _TEST_FILE.match(row.benchmark)
    return found["file"] if found and ".." not in PurePath(found["file"]).parts else ""
