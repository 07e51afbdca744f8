"""Missed changes: what a person saw in a trace, and no alert found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from knickpoint.model.change_point import ChangePoint, Direction, SuspectRange

__all__ = ["ListedMissedChange", "MissedChange"]


@dataclass(frozen=True, slots=True)
class MissedChange:
    """A change that a person marked in a trace.

    ``movement`` is +1 where the values went up, -1 where they went down. ``who`` marked it at ``time``. ``note`` is one line
    of text, which may be empty.
    """

    id: int
    repository_id: int
    trace_id: int
    trace_key: str
    suspect_range: SuspectRange
    movement: int
    note: str
    who: str
    time: datetime


@dataclass(frozen=True, slots=True)
class ListedMissedChange:
    """A missed change, its direction, and the live finding that it is by now, None while no alert finds it.

    The direction follows from the movement and from the better direction of the trace. The finding is computed from the
    data each time, by the rule of identity of change points.
    """

    change: MissedChange
    direction: Direction
    point: ChangePoint | None
