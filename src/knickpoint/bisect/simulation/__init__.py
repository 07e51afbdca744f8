"""The simulation: the planner of the search in virtual time."""
