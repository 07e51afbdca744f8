"""Decide what is announced of findings that are not settled, for those who ask.

Each change is announced provisionally once, at first sight, by the member that got worse most. When it settles, the
announcement that says so belongs to the same chain; when it vanishes before, a withdrawal ends the chain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import ChangePoint, Condition, Status
from knickpoint.model.settlement import DEFAULT_RULE, Certainty
from knickpoint.watch.announcements.decisions import Side, side_of

__all__ = ["PATIENCE", "first_sights", "may_be_sighted"]

PATIENCE: Final = DEFAULT_RULE.least
"""Values for which a finding that never settled is missing before its provisional announcement is withdrawn."""


def may_be_sighted(point: ChangePoint) -> bool:
    """Return whether ``point`` is live work that is neither settled, held, hidden nor announced."""
    return (
        point.condition is not Condition.GONE
        and point.certainty is Certainty.PROVISIONAL
        and point.alert_kind is AlertKind.WORK
        and point.effective_status is not Status.HIDDEN
        and not point.held
        and not point.history
        and not point.announced
    )


def first_sights(members: Iterable[ChangePoint], fresh: Collection[int]) -> Mapping[int, tuple[ChangePoint, ...]]:
    """Return by change the points that are to be announced provisionally, the worse ones where there are any.

    ``members`` are the live change points of changes of which none was announced in any way, not even provisionally;
    ``fresh`` are the ids of those that the run wrote. A change with a member about which nothing can be announced
    provisionally is left out.
    """
    by_change: dict[int, list[ChangePoint]] = defaultdict(list)
    for point in members:
        by_change[point.change_id].append(point)
    found = {}
    for key, points in sorted(by_change.items()):
        sights = [point for point in points if may_be_sighted(point)]
        if len(sights) < len(points) or not any(point.id in fresh for point in sights):
            continue
        worse = tuple(point for point in sights if side_of(point) is Side.WORSE)
        found[key] = worse or tuple(sights)
    return found
