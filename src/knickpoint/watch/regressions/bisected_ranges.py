"""What bisections found counts for the suspect range of a regression, as long as the data place the change there."""

from __future__ import annotations

from knickpoint.model.commit import Line
from knickpoint.model.regression import SuspectRange
from knickpoint.store.bisections import StoredBisection

__all__ = ["bisected_range"]


def bisected_range(suspect_range: SuspectRange, bisection: StoredBisection | None, line: Line) -> SuspectRange:
    """Return the range that ``bisection`` found in place of ``suspect_range``, which the traces share.

    It counts while the two are on one line and the range of the traces shares a commit with those that were searched.
    """
    found = bisection.answer.suspect_range if bisection is not None else None
    if bisection is None or found is None or found.line != suspect_range.line:
        return suspect_range
    begin, end = _positions(line, bisection.request.suspect_range)
    own_begin, own_end = _positions(line, suspect_range)
    on_line = found.previous in line.positions and found.slot in line.positions
    return found if on_line and max(begin, own_begin) < min(end, own_end) else suspect_range


def _positions(line: Line, suspect_range: SuspectRange) -> tuple[int, int]:
    end = line.positions.get(suspect_range.slot, -1)
    return min(line.positions.get(suspect_range.previous, end - 1), end - 1), end
