"""Judge candidates by boosted decision trees."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.forest import reference
from knickpoint.native.forest.forest import Forest

__all__ = ["Forest", "take_parts"]

take_parts = choose(reference.take_parts)
