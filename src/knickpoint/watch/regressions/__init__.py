"""Group the change points of many traces into regressions."""
