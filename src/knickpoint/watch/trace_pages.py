"""The addresses of pages of the dashboard, relative to the server."""

from __future__ import annotations

from urllib.parse import urlencode

from knickpoint.model.change_point import ChangePoint
from knickpoint.watch.lines import Lines

__all__ = ["change_page"]


def change_page(lines: Lines, point: ChangePoint) -> str:
    """Return the path of the page that shows a change in its trace: ``/trace/12?commit=40``."""
    line = lines.line(point.suspect_range.line)
    position = line.positions.get(point.suspect_range.slot)
    query = {"line": line.name} if line.name != lines.default.name else {}
    query |= {"commit": str(position)} if position is not None else {}
    return f"/trace/{point.trace_id}" + (f"?{urlencode(query)}" if query else "")
