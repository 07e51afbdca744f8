"""The search: which commits to measure next, and what the measurements say; pure functions without I/O."""

from __future__ import annotations

from knickpoint.bisect.search.belief import posterior
from knickpoint.bisect.search.conclusion import conclude, explain
from knickpoint.bisect.search.planning import moot, plan

__all__ = ["conclude", "explain", "moot", "plan", "posterior"]
