"""Say which changes are held back, because a machine moved and perhaps not the code. All functions are pure."""

from __future__ import annotations

from collections.abc import Sequence

from knickpoint.model.announcement import Announcement
from knickpoint.model.change import ChangePoint, Condition, Direction

__all__ = ["concerned", "is_held"]


def concerned(announced: Announcement, members: Sequence[ChangePoint]) -> list[ChangePoint]:
    """Return those ``members`` of a chain that an announcement is about: live ones where there are any, on its side."""
    live = [each for each in members if each.condition is not Condition.GONE] or list(members)
    improves = announced.direction is Direction.IMPROVEMENT
    return [each for each in live if (each.direction is Direction.IMPROVEMENT) == improves] or live


def is_held(announced: Announcement, members: Sequence[ChangePoint]) -> bool:
    """Return whether all findings that an announcement is about are held back."""
    findings = concerned(announced, members)
    return bool(findings) and all(each.held for each in findings)
