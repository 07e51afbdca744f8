"""Write a report as workflow commands of GitHub Actions: an annotation for each row that is worse, and one for the answer."""

from __future__ import annotations

from typing import Final

from knickpoint.gate.report import GateReport, Standing
from knickpoint.model.judged_benchmark import JudgedBenchmark, ResultKind
from knickpoint.model.plain_text import counted
from knickpoint.reports.answer import change, headline, levels, reason, title

__all__ = ["workflow_commands"]

MOST: Final = 9
"""GitHub shows ten annotations of a kind and step; one is the answer."""


def workflow_commands(report: GateReport) -> str:
    """Return one workflow command a line."""
    passes = report.judged and not report.tolerated
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
