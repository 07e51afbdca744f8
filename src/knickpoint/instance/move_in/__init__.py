"""Move in from another tool: find the history that it kept, create an instance, and take all of it."""

from knickpoint.instance.move_in.move import MoveInSummary, move_in

__all__ = ["MoveInSummary", "move_in"]
