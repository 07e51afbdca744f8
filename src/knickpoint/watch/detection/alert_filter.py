"""Name the filters of an alert, each of which leaves steps out that its method found."""

from __future__ import annotations

from enum import Enum

__all__ = ["Filter"]


class Filter(Enum):
    """What keeps a step from being reported: a setting of the alert, by its name, or that the level stayed as it was."""

    LEVEL = "level"
    DIRECTION = "direction"
    MINIMUM_EFFECT = "minimum_effect"
    MINIMUM_CHANGE = "minimum_change"
    MINIMUM_TRACES = "minimum_traces"
