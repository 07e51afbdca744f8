"""Write a report as one page of HTML without scripts, to keep as an artefact of a CI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from knickpoint.gate.report import GateReport
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.reports.answer import answer, change, found_from, headline, levels, reason, title

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1c1f23; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem; vertical-align: top;
border-bottom: 1px solid #dde1e6; } td:nth-child(2), td:nth-child(6) { min-width: 9rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } h1 { font-size: 1.5rem; } figure { margin: 1rem 0; } td:nth-child(n+3):nth-child(-n+5) { white-space: nowrap; }
.failed, .vanished, .regressed { color: #b3261e; } .improved { color: #1b7f3b; } .unstable { color: #8a6100; }
svg { max-width: 100%; height: auto; } summary { cursor: pointer; margin: 1rem 0; }
@media (prefers-color-scheme: dark) { body { background: #16181b; color: #e4e6e9; } th, td { border-color: #33383f; } }
"""


def html_page(report: GateReport, pictures: Mapping[str, str] | None = None) -> str:
    """Return the page; ``pictures`` has the plots of traces as SVG elements, by trace key."""
    first, *rest = (escape(line) for line in answer(report))
    unchanged = [row for row in report.deciding if row not in report.listed]
    drawn = [pictures[row.trace] for row in report.worst_first if pictures and row.trace in pictures]
    parts = [
        f"<h1>{first}</h1>",
        f"<p>{'<br>'.join(rest)}</p>",
        _table(report.listed),
        *(f"<figure>{picture}</figure>" for picture in drawn),
        _details("Unchanged", unchanged),
        _details("Other statistics, which decide nothing", report.beside),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(headline(report))}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(part for part in parts if part) + "\n</body></html>\n"
    )


def _details(summary: str, rows: Sequence[JudgedBenchmark]) -> str:
    return f"<details><summary>{summary} ({len(rows):,})</summary>{_table(rows)}</details>" if rows else ""


def _table(rows: Sequence[JudgedBenchmark]) -> str:
    if not rows:
        return ""
    heads = ("verdict", "benchmark", "before → after", "change (95 % interval)", "found from", "why")
    head = "".join(f"<th>{text}</th>" for text in heads)
    body = "".join(_row(row) for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _row(row: JudgedBenchmark) -> str:
    name = escape(title(row))
    linked = f'<a href="{escape(row.page)}">{name}</a>' if row.page else name
    found = found_from(row)
    kind = row.kind.value
    cells = (levels(row), change(row), found, reason(row))
    others = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return f'<tr><td class="{kind.replace(" ", "-")}">{kind}</td><td>{linked}</td>{others}</tr>'
