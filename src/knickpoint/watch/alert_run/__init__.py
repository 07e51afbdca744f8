"""Run alerts: detect, compare with what is known, write the changes and update the regressions."""
