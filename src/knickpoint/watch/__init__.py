"""Watch the store: alerts and their runs, what became of change points, triage, checks, canaries."""
