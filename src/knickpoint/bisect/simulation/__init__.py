"""The simulation: the planner of the search in virtual time."""

from __future__ import annotations

from knickpoint.bisect.simulation.forecast import Forecast, forecast, smallest_pool
from knickpoint.bisect.simulation.scenario import Scenario

__all__ = ["Forecast", "Scenario", "forecast", "smallest_pool"]
