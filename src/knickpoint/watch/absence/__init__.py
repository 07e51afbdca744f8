"""Find benchmarks without results: missing ones, stopped jobs, and those that vanished from new results."""
