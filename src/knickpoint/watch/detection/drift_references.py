"""Find what an alert compares drifts with: nothing but their start, the best level before them, a date, or a release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.local_levels import NEAR, LocalChange
from knickpoint.model.alert import SINCE_BEST, SINCE_START, Alert, is_day
from knickpoint.model.commit import Line
from knickpoint.model.errors import ConfigError
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Step
from knickpoint.watch.lines import Lines

__all__ = ["BEFORE_DRIFT", "DriftReference", "find_reference", "over_reference"]

BEFORE_DRIFT: Final = -1
"""The position of a reference that is no commit of its own: the best level before each drift."""

_MOST_NAMED: Final = 8
"""Releases that a message about an unknown one lists."""


@dataclass(frozen=True, slots=True)
class DriftReference:
    """What an alert compares drifts with on a line.

    ``text`` is the setting ``since``; ``position`` that of the last commit of the line before a date or in a release, and
    :data:`BEFORE_DRIFT` for the best level.
    """

    text: str
    position: int


def find_reference(alert: Alert, line: Line, lines: Lines) -> DriftReference | None:
    """Return what ``alert`` compares drifts on ``line`` with, None for their start.

    Raises:
        ConfigError: there is no such release, or the line has no commit so old.
    """
    if alert.since == SINCE_START:
        return None
    if alert.since == SINCE_BEST:
        return DriftReference(alert.since, BEFORE_DRIFT)
    position = _of_date(alert, line, lines) if is_day(alert.since) else _of_release(alert, line, lines)
    return DriftReference(alert.since, position)


def _of_date(alert: Alert, line: Line, lines: Lines) -> int:
    position = lines.last_before(line, datetime.fromisoformat(alert.since).replace(tzinfo=UTC))
    if position is None:
        raise ConfigError(
            f"since is {alert.since}, and no commit of the line {line.name} is that old",
            where=f"alert {alert.name!r}",
            remedy="Give a later date, or best to compare drifts with the best level before them.",
        )
    return position


def _of_release(alert: Alert, line: Line, lines: Lines) -> int:
    where, name = f"alert {alert.name!r}", lines.repository.name
    slot = lines.release(alert.since)
    if slot is None:
        known = lines.releases()
        listed = f"one of {', '.join(known[-_MOST_NAMED:])}" if known else "a date, as the repository has no tags"
        raise ConfigError(
            f"since is {alert.since!r}, and the repository {name} has no tag of that name",
            where=where,
            remedy=f"Create the tag, or give {listed}.",
        )
    position = line.positions.get(slot)
    if position is None:
        raise ConfigError(
            f"since is {alert.since!r}, and the line {line.name} of {name} has no commit of this release",
            where=where,
            remedy="Give the tag of a release that was made from this line, or a date.",
        )
    return position


def over_reference(
    values: NDArray[np.floating[Any]], steps: Sequence[Step], changes: Sequence[LocalChange], drift: int, column: int
) -> float:
    """Return how far the end of a drift lies from the level at ``column``, as a share of that level, with its sign.

    ``drift`` is the index of one of ``steps``, which are those of the trace in ``values`` (nan for missing ones), and
    ``changes`` have their levels. It is nan where the drift ended by then, or nothing was measured.
    """
    if column < 0 or steps[drift].after.last <= column:
        return math.nan
    level = _level_at(values, steps, changes, column)
    if math.isnan(level):
        return math.nan
    moved = changes[drift].after.median - level
    return moved / abs(level) if level else math.copysign(math.inf, moved)


def _level_at(
    values: NDArray[np.floating[Any]], steps: Sequence[Step], changes: Sequence[LocalChange], column: int
) -> float:
    """Return the level at ``column``: on the slope of a drift that holds it, else the median of the values up to there."""
    begin = 0
    for step, change in zip(steps, changes, strict=True):
        if step.index > column:
            break
        begin = step.index
        if step.kind is not FindingKind.DRIFT:
            continue
        if column < step.after.last:
            measured = ~np.isnan(values[step.previous : step.after.last + 1])
            passed = int(measured[: column - step.previous + 1].sum()) - 1
            return change.before.median + change.size * passed / max(int(measured.sum()) - 1, 1)
        begin = step.after.last
    near = values[begin : column + 1]
    near = near[~np.isnan(near)][-NEAR:]
    return float(np.median(near)) if near.size else math.nan
