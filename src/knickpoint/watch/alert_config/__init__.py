"""Apply the configured alerts, and report which findings a change costs and how each alert does."""
