"""Draw the history of a benchmark as a chart of Mermaid, which GitHub and GitLab draw without a picture from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from knickpoint.model.judged_benchmark import JudgedBenchmark

__all__ = ["MOST_VALUES", "mermaid_chart"]

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
    """Return the lines of a fenced chart of ``history`` (oldest first) and the new value of ``row``; [] without numbers.

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
