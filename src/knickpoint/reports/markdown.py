"""Write a report as the comment of a pull request, in the Markdown of GitHub and GitLab.

The first line is a marker that is not shown: it finds the comment again, so that one comment is updated and not added
to. Whatever comes from outside stands in code, with every character that means something to Markdown or HTML as an
entity: nothing in it is a link, a mention, a table or a tag.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

from knickpoint.gate.report import GateReport, Standing
from knickpoint.model.judged_benchmark import JudgedBenchmark, ResultKind
from knickpoint.model.plain_text import counted, plain_line
from knickpoint.reports.answer import answer, change, found_from, levels, next_steps, reason, title

# Draw the history of a benchmark as a chart of Mermaid, which GitHub and GitLab draw without a picture from elsewhere.


MOST_VALUES: Final = 40
"""Values of the history in a chart. GitLab asks before it draws more than 2,000 characters."""

_MARGIN: Final = 0.08
_LEAST_SPAN: Final = 0.1
"""Percent: the noise of an exact value is not drawn as mountains."""
_LARGEST: Final = 1e6
"""Percent: a larger change is drawn as this one."""
_HISTORY, _LEVELS = "#3b82c4", "#d1495b"
"""Colours that people tell apart on white and on black, and without red or green."""


def mermaid_chart(row: JudgedBenchmark, history: Sequence[float]) -> list[str]:
    """Return the lines of a fenced chart of ``history`` (oldest first) and the new value of ``row``.

    [] without numbers.

    The axis is the change in percent from the level before. One line is the values, the other one the levels before and
    after. The axis ends where the levels and nine of ten values do, and what lies beyond stands at its end: a chart of
    Mermaid draws outside of its frame otherwise. No text from outside is in it.
    """
    past = [value for value in history if math.isfinite(value)][-MOST_VALUES:]
    if not past or not row.before or not math.isfinite(row.before) or not math.isfinite(row.after):
        return []
    values = [_percent(value, row.before) for value in (*past, row.after)]
    levels = [0.0] * len(past) + [values[-1]]
    low, high = _span(values, levels)
    places = max(0, 2 - math.floor(math.log10(high - low)))
    drawn = [", ".join(f"{min(max(value, low), high):.{places}f}" for value in line) for line in (values, levels)]
    return [
        "```mermaid",
        "---",
        "config:",
        "  xyChart: {width: 640, height: 260, yAxis: {labelFontSize: 11, labelPadding: 3}}",
        f'  themeVariables: {{xyChart: {{plotColorPalette: "{_HISTORY}, {_LEVELS}"}}}}',
        "---",
        "xychart-beta",
        f'  x-axis "measured commits before the new results" {-len(past)} --> 0',
        f'  y-axis "%" {low:.{places}f} --> {high:.{places}f}',
        *(f"  line [{texts}]" for texts in drawn),
        "```",
    ]


def _percent(value: float, before: float) -> float:
    change = (value / before - 1) * math.copysign(100.0, before)
    return min(max(change, -_LARGEST), _LARGEST)


def _span(values: Sequence[float], levels: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the axis: around the levels and nine of ten values."""
    ordered = sorted(values)
    cut = len(ordered) // 20
    shown = (*ordered[cut : len(ordered) - cut], *levels)
    low, high = min(shown), max(shown)
    margin = max(_MARGIN * (high - low), _LEAST_SPAN)
    return low - margin, high + margin


MOST_ROWS: Final = (50, 20, 8, 3, 0)
"""Rows of a table; with so many fewer, until the comment is short enough."""

LONGEST: Final = 65_000
"""Characters of a comment; GitHub refuses one of more than 65,536."""

MOST_PICTURES: Final = 5

_SPECIAL: Final = re.compile(r"[^\w ,'=+%/;-]|_")
"""Characters that could mean something to Markdown or HTML; a dot could make a link of ``www.``."""
_SIGNS: Final = {
    ResultKind.FAILED: "🔴", ResultKind.VANISHED: "🔴", ResultKind.REGRESSED: "🔴", ResultKind.UNSTABLE: "🟡", ResultKind.NO_DATA: "⚪",
    ResultKind.IMPROVED: "🟢", ResultKind.UNCHANGED: "⚪",
}  # fmt: skip


def marker(repository: str, name: str = "") -> str:
    """Return the hidden first line by which the comment of ``repository`` is found again.

    Jobs of other names have their own.
    """
    job = f" {quote(name, safe='')}" if name else ""
    return f"<!-- knickpoint check {re.sub('[^A-Za-z0-9._/]', '_', repository)}{job} -->"


def markdown_comment(report: GateReport, histories: Mapping[str, Sequence[float]] | None = None) -> str:
    """Return the comment: the answer, the rows that are worse or fail, then everything else in collapsed parts.

    ``histories`` are the values before the new ones by trace key, oldest first; they are drawn where a row has no
    picture. The comment is short enough for GitHub: where names and reasons are long, fewer rows are shown, and the
    rest is counted.
    """
    past = histories or {}
    comments = (_comment(report, past, most) for most in MOST_ROWS)
    return next((text for text in comments if len(text) <= LONGEST), _comment(report, {}, 0))


def _comment(report: GateReport, histories: Mapping[str, Sequence[float]], most: int) -> str:
    first, *rest = answer(report, _code)
    lines = [
        marker(report.repository, report.name),
        f"### {_sign(report)} {first}",
        "",
        *(f"{line}  " for line in rest),
        "",
    ]
    worse = (*report.failures, *report.tolerated)
    if worse:
        lines += [*_table(worse, most), ""]
    lines += _plots(worse, histories)
    others = [row for row in report.listed if report.standing(row) in {Standing.ACCEPTED, Standing.PASSES}]
    if others:
        lines += _details("Accepted, improved, unstable, without data", others, most)
    if report.beside:
        moved = [row for row in report.beside if row.kind is not ResultKind.UNCHANGED]
        lines += _details(
            f"Other statistics, without effect on the verdict: {counted(len(report.beside), 'row')}", moved, most
        )
    unchanged = report.counts[ResultKind.UNCHANGED]
    if unchanged:
        lines += [f"{counted(unchanged, 'benchmark')} unchanged.", ""]
    if steps := next_steps(report, _code):
        lines += ["**What to do next**", "", *(f"- {step}" for step in steps), ""]
    return "\n".join([*lines, f"<!-- knickpoint result: {report.happened.value} -->", ""])


def _sign(report: GateReport) -> str:
    if report.failures:
        return "❌"
    return "⚪" if not report.judged else "🟡" if report.tolerated or report.condition else "✅"


def _table(rows: Sequence[JudgedBenchmark], most: int) -> list[str]:
    lines = ["| | benchmark | before → after | change (95 % interval) | found from | why |", "|-|-|-|-|-|-|"]
    for row in rows[:most]:
        name = _code(title(row))
        linked = f"[{name}]({row.page})" if row.page else name
        found = found_from(row)
        cells = (
            f"{_SIGNS[row.kind]} {row.kind.value}",
            linked,
            _text(levels(row)),
            change(row),
            found,
            _code(reason(row)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    if len(rows) > most:
        lines += ["", f"… and {counted(len(rows) - most, 'more row')}."]
    return lines


def _plots(rows: Sequence[JudgedBenchmark], histories: Mapping[str, Sequence[float]]) -> list[str]:
    """Return the plots of the worst rows: pictures by their address, else charts of their histories."""
    drawn = [lines for row in rows if (lines := _plot(row, histories.get(row.trace, ())))][:MOST_PICTURES]
    if not drawn:
        return []
    return [
        "<details><summary>Plots</summary>",
        "",
        *(line for lines in drawn for line in (*lines, "")),
        "</details>",
        "",
    ]


def _plot(row: JudgedBenchmark, history: Sequence[float]) -> list[str]:
    if row.picture:
        return [f"![history of {_text(title(row))}]({row.picture})"]
    chart = mermaid_chart(row, history)
    return [f"{_code(title(row))}, change from the level before:", "", *chart] if chart else []


def _details(summary: str, rows: Sequence[JudgedBenchmark], most: int) -> list[str]:
    if not rows:
        return [f"{summary}.", ""]
    return [f"<details><summary>{summary} ({len(rows):,})</summary>", "", *_table(rows, most), "", "</details>", ""]


def _text(text: str) -> str:
    """Return text with each character that could mean something as an entity."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", plain_line(text, 1_000))


def _code(text: str) -> str:
    """Return text from outside as code, in which there are no mentions."""
    return f"<code>{_text(text)}</code>" if text else ""
