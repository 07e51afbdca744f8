"""What a bisection found counts for the suspect range of a change, as long as it is about the change of its traces."""

from __future__ import annotations

from collections.abc import Collection

from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Line
from knickpoint.store.bisections import StoredBisection
from knickpoint.watch.changes.groups import Member

__all__ = ["bisected_range"]


def bisected_range(
    suspect_range: SuspectRange, bisection: StoredBisection | None, line: Line, members: Collection[Member]
) -> SuspectRange:
    """Return the range that ``bisection`` found in place of ``suspect_range``, which the traces of ``members`` share.

    It counts while the two are on one line, the trace that was searched is one of them, and most of them may have changed in
    what was found.
    """
    found = bisection.answer.suspect_range if bisection is not None else None
    if bisection is None or found is None or found.line != suspect_range.line:
        return suspect_range
    interval, searched = found.on(line), bisection.request.trace_id
    if (
        interval is None
        or line.positions.get(found.previous) != interval.previous
        or (searched and searched not in {member.trace for member in members})
    ):
        return suspect_range
    possible = sum(interval.overlaps(member.reach) for member in members)
    return found if 2 * possible > len(members) else suspect_range
