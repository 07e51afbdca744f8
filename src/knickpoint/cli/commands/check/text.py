"""Print a report on a terminal: the answer, then a table of what is not unchanged, the worst first."""

from __future__ import annotations

from collections.abc import Sequence

from knickpoint.cli.output import Column, OutputFormat, Row, render
from knickpoint.cli.terminal import without_control
from knickpoint.reports.answer import answer, change, found_from, levels, reason
from knickpoint.reports.gate_report import GateReport, GateRow, RowKind

__all__ = ["text_report"]

_COLUMNS = (
    Column("verdict"),
    Column("trace"),
    Column("levels", "before → after", right=True),
    Column("change", "change (95 %)", right=True),
    Column("detectable", "found from", right=True),
    Column("reason"),
)


def text_report(report: GateReport, *, everything: bool) -> str:
    """Return the text; ``everything`` lists what is unchanged, too."""
    parts = ["\n".join(without_control(line) for line in answer(report)) + "\n"]
    canaries = [row for row in report.worst_first if row.canary]
    parts += _table("", report.deciding if everything else report.listed)
    parts += _table("Other statistics, which decide nothing:", report.beside if everything else _changed(report.beside))
    parts += _table("Canaries:", canaries if everything else _changed(canaries))
    return "\n".join(parts)


def _changed(rows: Sequence[GateRow]) -> list[GateRow]:
    return [row for row in rows if row.kind is not RowKind.UNCHANGED]


def _table(heading: str, rows: Sequence[GateRow]) -> list[str]:
    if not rows:
        return []
    table = render(_COLUMNS, [_cells(row) for row in rows], OutputFormat.TEXT, coloured=True)
    return [f"{heading}\n{table}" if heading else table]


def _cells(row: GateRow) -> Row:
    return {
        "verdict": "accepted" if row.accepted else row.kind.value,
        "trace": row.key,
        "levels": levels(row),
        "change": change(row),
        "detectable": found_from(row),
        "reason": reason(row),
    }
