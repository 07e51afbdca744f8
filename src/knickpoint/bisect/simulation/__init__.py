"""The simulation: the planner of the search in virtual time."""

from __future__ import annotations

from knickpoint.bisect.simulation.scenario import Scenario
from knickpoint.bisect.simulation.virtual_pool import Forecast, forecast, smallest_pool

__all__ = ["Forecast", "Scenario", "forecast", "smallest_pool"]
